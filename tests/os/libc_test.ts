import assert from "node:assert/strict";
import {
  allocate,
  compileLibc,
  lastErrno,
  libc,
  libcFunctions,
  loadFromLibc,
  postponeCompiling,
} from "../../src/os/libc.ts";

/** One that returns a number, one with more arguments than registers, one on another thread, one that is nowhere. */
const SYMBOLS = {
  getpid: { parameters: [], result: "i32" },
  labs: { parameters: ["isize"], result: "isize" },
  snprintf: {
    parameters: ["buffer", "usize", "buffer", "i32", "i32", "i32", "i32", "i32"],
    result: "i32",
  },
  poll: { parameters: ["usize", "usize", "i32"], result: "i32", nonblocking: true },
  noSuchFunction: { parameters: [], result: "i32", optional: true },
} as const satisfies Deno.ForeignLibraryInterface;

const text = (value: string) => new TextEncoder().encode(`${value}\0`);

type Functions = Deno.DynamicLibrary<typeof SYMBOLS>["symbols"];

async function assertAllWork(c: Functions): Promise<void> {
  assert.equal(c.getpid(), Deno.pid);
  assert.equal(BigInt(c.labs(-5_000_000_000n)), 5_000_000_000n);
  const line = allocate(32);
  assert.equal(c.snprintf(line, 32n, text("%d %d %d %d %d"), 1, -2, 3, -4, 5), 11);
  assert.equal(new TextDecoder().decode(line.subarray(0, 11)), "1 -2 3 -4 5");
  assert.equal(await c.poll(0n, 0n, 0), 0);
  assert.equal(c.noSuchFunction, null);
}

Deno.test("libcFunctions() gives functions that work before they are compiled and after", async () => {
  postponeCompiling();
  const functions = libcFunctions(SYMBOLS);
  await assertAllWork(functions());
  compileLibc();
  await assertAllWork(functions());
  await assertAllWork(loadFromLibc(SYMBOLS));
});

Deno.test("functions are the same objects before they are compiled and after, so that calls of them stay fast", () => {
  postponeCompiling();
  const functions = libcFunctions(SYMBOLS);
  const before = Object.entries(functions());
  compileLibc();
  const after: Record<string, unknown> = functions();
  for (const [name, call] of before) assert.equal(after[name], call, name);
});

Deno.test("libcFunctions() compiles nothing between postponeCompiling() and compileLibc()", () => {
  const names = ["abs", "isalnum", "isdigit", "islower", "ispunct", "isspace", "isupper", "tolower", "toupper"];
  const symbols = Object.fromEntries(names.map((name) => [name, { parameters: ["i32"], result: "i32" }] as const));
  // The runtime keeps each piece of machine code in memory of its own.
  const codePieces = () => Deno.readTextFileSync("/proc/self/maps").split("\n").filter((line) => / r-xp /.test(line));
  libc();
  const addressesBefore = new Set(codePieces().map(addressOfLine));
  const added = () => codePieces().filter((line) => !addressesBefore.has(addressOfLine(line))).length;
  postponeCompiling();
  const functions = libcFunctions(symbols);
  assert.equal(functions().toupper!(97), 65);
  assert.equal(added(), 0);
  compileLibc();
  assert.ok(added() > 0, "otherwise this test sees nothing");
  assert.equal(functions().toupper!(97), 65);
});

const addressOfLine = (line: string) => line.split(" ")[0];

Deno.test("compileLibc() leaves functions and error numbers as they are", () => {
  const tell =
    () => [libc().close(-1), lastErrno(), libc().read(-1, allocate(1), 1n), lastErrno(), libc().sched_yield()];
  const EBADF = 9;
  const plain = tell();
  assert.deepEqual(plain, [-1, EBADF, -1, EBADF, 0]);
  compileLibc();
  compileLibc();
  assert.deepEqual(tell(), plain);
});

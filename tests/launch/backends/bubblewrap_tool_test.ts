import assert from "node:assert/strict";
import {
  findBubblewrap,
  parseVersion,
  type ToolFile,
  type ToolHost,
  type ToolSearch,
} from "../../../src/launch/backends/bubblewrap_tool.ts";
import { RealToolHost } from "../../../src/launch/backends/real_tool_host.ts";
import { PosixBackend } from "../../../src/process/posix/posix_backend.ts";
import { runProgram } from "../../../src/process/posix/run_plan.ts";
import { TOOL } from "../sandboxed.ts";

const ROOTS_PROGRAM = { isFile: true, isDirectory: false, uid: 0, mode: 0o100755 };
const ROOTS_DIRECTORY = { isFile: false, isDirectory: true, uid: 0, mode: 0o040755 };

/** By the path that is asked for; `path` where a link leads somewhere else. */
type FakeFiles = Readonly<Record<string, Omit<ToolFile, "path"> & { readonly path?: string }>>;

class FakeHost implements ToolHost {
  readonly #files: FakeFiles;
  readonly #answers: Record<string, string>;
  readonly ran: string[] = [];

  constructor(files: FakeFiles, answers: Record<string, string> = {}) {
    this.#files = files;
    this.#answers = { "--version": "bubblewrap 0.8.0\n", "--help": "--ro-bind-fd FD DEST", ...answers };
  }

  inspect(path: string): ToolFile | null {
    const facts = this.#files[path];
    return facts === undefined ? null : { path, ...facts };
  }

  run(program: string, args: readonly string[]): Promise<{ code: number; stdout: string; stderr: string }> {
    this.ran.push(program);
    const stdout = this.#answers[args[0]!];
    if (stdout === "fails") return Promise.reject(new Error("Exec format error"));
    return Promise.resolve({ code: 0, stdout: stdout ?? "", stderr: "" });
  }
}

const standard = { "/usr/bin/bwrap": ROOTS_PROGRAM, "/usr/bin": ROOTS_DIRECTORY };

async function find(host: ToolHost, search: ToolSearch = {}) {
  const found = await findBubblewrap(host, search);
  return found.isAvailable ? found.value : found.reason;
}

Deno.test("findBubblewrap() finds it in its usual place, and learns what it can do", async () => {
  assert.deepEqual(await find(new FakeHost(standard)), {
    path: "/usr/bin/bwrap",
    version: "0.8.0",
    bindsDescriptors: true,
  });
  assert.deepEqual(await find(new FakeHost(standard, { "--help": "--bind SRC DEST" })), {
    path: "/usr/bin/bwrap",
    version: "0.8.0",
    bindsDescriptors: false,
  });
});

Deno.test("findBubblewrap() uses only what root alone can replace", async () => {
  const elsewhere = (program: object, directory: object) =>
    new FakeHost({
      "/opt/bin/bwrap": { ...ROOTS_PROGRAM, ...program },
      "/opt/bin": { ...ROOTS_DIRECTORY, ...directory },
    });
  const search = { searchPath: "relative:/opt/bin::/usr/bin" };
  assert.equal(typeof await find(elsewhere({}, {}), search), "object");
  for (
    const [program, directory] of [
      [{ uid: 1000 }, {}],
      [{ mode: 0o100775 }, {}],
      [{ mode: 0o100757 }, {}],
      [{}, { uid: 1000 }],
      [{}, { mode: 0o041777 }],
      // A link is judged by where it leads.
      [{ path: "/home/u/bwrap" }, {}],
    ]
  ) {
    const host = elsewhere(program!, directory!);
    assert.match(String(await find(host, search)), /can be replaced by users other than root/);
    assert.deepEqual(host.ran, []);
  }
  assert.equal(await find(elsewhere({ mode: 0o100644 }, {}), search), "bubblewrap is not installed");
  assert.equal(await find(elsewhere({}, {})), "bubblewrap is not installed");
});

Deno.test("findBubblewrap() takes the operator's choice as it is", async () => {
  const host = new FakeHost({ "/home/op/bwrap": { ...ROOTS_PROGRAM, uid: 1000 } });
  assert.equal(typeof await find(host, { chosenPath: "/home/op/bwrap" }), "object");
  assert.equal(await find(host, { chosenPath: "/home/op/none" }), "/home/op/none is not a program");
});

Deno.test("findBubblewrap() says what is wrong with the one it found", async () => {
  const reasons: [Record<string, string>, RegExp][] = [
    [{ "--version": "bubblewrap 0.4.1" }, /version 0\.4\.1; 0\.5\.0 or newer/],
    [{ "--version": "something else" }, /does not report its version/],
    [{ "--version": "fails" }, /cannot be run: Exec format error/],
  ];
  for (const [answers, reason] of reasons) assert.match(String(await find(new FakeHost(standard, answers))), reason);
});

Deno.test("parseVersion() reads bubblewrap's own line", () => {
  assert.deepEqual(parseVersion("bubblewrap 0.8.0\n"), [0, 8, 0]);
  assert.deepEqual(parseVersion("bubblewrap 0.11\n"), [0, 11, 0]);
  assert.equal(parseVersion("version 1"), null);
});

Deno.test({
  name: `findBubblewrap() finds the one of this host${TOOL === null ? " (SKIPPED: not installed)" : ""}`,
  ignore: TOOL === null,
  async fn() {
    const backend = new PosixBackend();
    const host = new RealToolHost((program, args) => runProgram(backend, program, args));
    const found = await findBubblewrap(host, { searchPath: Deno.env.get("PATH") ?? "" });
    await backend.close({ graceMs: 0 });
    assert.ok(found.isAvailable, JSON.stringify(found));
    assert.equal(found.value.path, Deno.realPathSync(TOOL!.path));
    assert.equal(found.value.bindsDescriptors, TOOL!.bindsDescriptors);
    assert.match(found.value.version, /^\d+\.\d+\.\d+$/);
  },
});

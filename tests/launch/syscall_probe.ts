/**
 * A program for tests: makes the system calls it is told and prints what each returned, minus the error number when it
 * failed. `["int80"]` instead of calls: one call by way of the 32-bit interface.
 */

const { symbols: c } = Deno.dlopen("libc.so.6", {
  syscall: { parameters: ["i64", "i64", "i64", "i64", "i64", "i64"], result: "i64" },
  mmap: { parameters: ["usize", "usize", "i32", "i32", "i32", "i64"], result: "pointer" },
  __errno_location: { parameters: [], result: "pointer" },
});

function call(number: number, args: readonly number[]): number {
  const [a = 0, b = 0, d = 0, e = 0, f = 0] = args;
  const result = Number(c.syscall(BigInt(number), BigInt(a), BigInt(b), BigInt(d), BigInt(e), BigInt(f)));
  return result === -1 ? -new Deno.UnsafePointerView(c.__errno_location()!).getInt32() : result;
}

/** `socketcall(SYS_SOCKET, …)` of i386 needs memory below 4 GiB; `getpid` (20) does not, and is as foreign. */
function int80(): number {
  const READ_WRITE_EXECUTE = 7;
  const PRIVATE_ANONYMOUS = 0x22;
  const memory = c.mmap(0n, 4096n, READ_WRITE_EXECUTE, PRIVATE_ANONYMOUS, -1, 0n)!;
  const code = [0xb8, 20, 0, 0, 0, 0xcd, 0x80, 0xc3]; // mov eax, 20; int 0x80; ret
  const view = new Uint8Array(Deno.UnsafePointerView.getArrayBuffer(memory, code.length));
  view.set(code);
  const definition = { parameters: [], result: "i32" } as const;
  return new Deno.UnsafeFnPointer(memory as Deno.PointerObject<typeof definition>, definition).call();
}

const request = JSON.parse(Deno.args[0]!) as [number, number[]][] | ["int80"];
const results = request[0] === "int80"
  ? [int80()]
  : (request as [number, number[]][]).map(([number, args]) => call(number, args));
console.log(JSON.stringify(results));

/**
 * Whether this program may call the C library, told without loading it. What is built on the library has a counterpart
 * that does less (`process/command_backend.ts`, `fs/portable/`), and clients are told which of the two they have.
 */

/** The loader finds it by itself. Needs a permission for all libraries: one that names files compares whole paths. */
const BARE_NAME = "libc.so.6";

/** Where distributions put it, for a permission that names one of these files. */
const USUAL_PLACES: readonly string[] = [
  Deno.build.arch === "aarch64" ? "/lib/aarch64-linux-gnu/libc.so.6" : "/lib/x86_64-linux-gnu/libc.so.6",
  "/lib64/libc.so.6",
  "/usr/lib/libc.so.6",
];

/** Where the library is looked for, in order. */
export const LIBC_PATHS: readonly string[] = [BARE_NAME, ...USUAL_PLACES];

/** Why the C library cannot be called, for people; null when it can. The same for as long as the program runs. */
export function whyNoLibc(): string | null {
  if (Deno.build.os !== "linux") return "this server cannot call the C library: it does not run on Linux";
  const mayLoad = isGranted({ name: "ffi" }) || USUAL_PLACES.some((path) => isGranted({ name: "ffi", path }));
  return mayLoad ? null : "this server cannot call the C library: it runs without --allow-ffi";
}

function isGranted(permission: Deno.FfiPermissionDescriptor): boolean {
  return Deno.permissions.querySync(permission).state === "granted";
}

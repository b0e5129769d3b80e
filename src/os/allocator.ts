/** The C library's allocator, which keeps freed memory instead of returning it to the system. */

import { loadFromLibc } from "./libc.ts";

/** On another thread: it may take tens of milliseconds. Only the GNU library has it. */
const SYMBOLS = {
  malloc_trim: { parameters: ["usize"], result: "i32", nonblocking: true, optional: true },
} as const satisfies Deno.ForeignLibraryInterface;

let loaded: Deno.DynamicLibrary<typeof SYMBOLS>["symbols"] | undefined;

/** Returns free memory to the system. Does nothing where that is not possible. */
export async function giveFreeMemoryBack(): Promise<void> {
  try {
    loaded ??= loadFromLibc(SYMBOLS);
  } catch {
    return; // FFI is not permitted here.
  }
  await loaded.malloc_trim?.(0n);
}

/**
 * The hidden mode `fs-helper`: requests on standard input, replies on standard output, until the input ends.
 *
 * It is started inside a sandbox and has no rules of its own; the kernel refuses what the policy forbids, and the refusal
 * is the answer. It ends when the server closes its input or dies, and at once when it is sent anything but frames.
 */

import { createDirectFileSystem } from "../src/fs/direct.ts";
import type { FileSystem } from "../src/fs/file_system.ts";
import { FrameError, FrameReader, REQUEST_LIMITS } from "../src/fs/confined/helper_frames.ts";
import { HelperService } from "../src/fs/confined/helper_service.ts";
import type { HelperWatch } from "../src/fs/confined/helper_watch.ts";

/** What a pipe holds. */
const READ_BYTES = 64 * 1024;

/** Told by nobody who uses the mode as it is meant. */
const EXIT_GARBAGE = 65;

/** Resolves with the exit code. */
export async function fsHelper(): Promise<number> {
  let watch: Promise<HelperWatch> | null = null;
  return await serveFiles(createDirectFileSystem(), async (params, tell, signal) => {
    watch ??= import("../src/fs/confined/helper_watch.ts").then(({ createHelperWatch }) => createHelperWatch());
    await (await watch)(params, tell, signal);
  });
}

/** Does on a filesystem what standard input asks for. Resolves with the exit code. */
export async function serveFiles(files: FileSystem, watch: HelperWatch): Promise<number> {
  const service = new HelperService({
    files,
    watch,
    send: (parts) => parts.forEach(writeAll),
    onFault: (error) => console.error(error),
  });
  service.begin();
  const reader = new FrameReader(REQUEST_LIMITS);
  const buffer = new Uint8Array(READ_BYTES);
  try {
    for (let count = await Deno.stdin.read(buffer); count !== null; count = await Deno.stdin.read(buffer)) {
      reader.push(buffer.subarray(0, count), (frame) => service.handle(frame));
    }
  } catch (error) {
    if (!(error instanceof FrameError)) throw error;
    console.error(`exec-server fs-helper: ${error.message}`);
    return EXIT_GARBAGE;
  }
  await service.finish();
  return 0;
}

/** Waits while the pipe is full: nothing else is to be done before the server has read. */
function writeAll(bytes: Uint8Array): void {
  for (let written = 0; written < bytes.length;) written += Deno.stdout.writeSync(bytes.subarray(written));
}

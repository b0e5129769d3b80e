/** What the parts of the filesystem contract share: how a test gets its filesystem, and short forms of its methods. */

import type { FileSystem, WriteFileRequest } from "../../../src/fs/file_system.ts";
import type { NativePath } from "../../../src/path_uri.ts";
import type { FsGetMetadataResult, FsWalkParams, FsWalkResult } from "../../../src/protocol/fs.ts";
import { assertFails, inScratchDirectory, makeFifo } from "../../support/scratch_directory.ts";

export interface FileSystemUnderTest {
  readonly files: FileSystem;
  close(): Promise<void>;
}

/** Opened once for all tests of a file, for filesystems that take a process: starting it for every test takes longer. */
export function sharedByAll(open: () => Promise<FileSystemUnderTest>): () => Promise<FileSystemUnderTest> {
  let opened: FileSystemUnderTest | undefined;
  Deno.test.beforeAll(async () => {
    opened = await open();
    // Whatever is started with the first call is not one test's own.
    await opened.files.canonicalize("/");
  });
  Deno.test.afterAll(() => opened?.close());
  return () => Promise.resolve({ files: opened!.files, close: () => Promise.resolve() });
}

/**
 * A directory with many empty files, for tests that only look at it. It is made once for all implementations, when the
 * first test asks for it: thousands of files cost the system seconds.
 */
export function crowdedDirectory(names: readonly string[]): () => string {
  let directory: string | undefined;
  Deno.test.afterAll(async () => {
    if (directory !== undefined) await Deno.remove(directory, { recursive: true });
  });
  return () => {
    if (directory !== undefined) return directory;
    directory = Deno.realPathSync(Deno.makeTempDirSync({ prefix: "exec-server-test-" }));
    for (const name of names) Deno.openSync(`${directory}/${name}`, { write: true, create: true }).close();
    return directory;
  };
}

/** Registers a test of one implementation. */
export type ContractTest = (
  claim: string,
  body: (files: FileSystem, directory: string) => Promise<void>,
) => void;

/**
 * Claims that an implementation does not make, and what it says to whoever relies on one. It must say so: a claim that is
 * listed and holds after all is a failure, and so is one that fails in any other way.
 */
export type Refusals = Readonly<Record<string, RegExp>>;

export function contractTest(
  name: string,
  open: () => Promise<FileSystemUnderTest>,
  refusals: Refusals = {},
): ContractTest {
  const register = (title: string, body: (files: FileSystem, directory: string) => Promise<void>) =>
    Deno.test(title, () =>
      inScratchDirectory(async (directory) => {
        const { files, close } = await open();
        try {
          await body(files, directory);
        } finally {
          await close();
        }
      }));
  return (claim, body) => {
    const refusal = refusals[claim];
    if (refusal === undefined) return register(`${name}: ${claim}`, body);
    register(`${name} refuses by name: ${claim}`, async (files, directory) => {
      await assertFails(body(files, directory), "invalidRequest", refusal);
    });
  };
}

export const NOT_FOUND = "No such file or directory (os error 2)";
/** Of "hello". */
export const HELLO_DIGEST = "sha256:2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824";

export const encode = (text: string): Uint8Array<ArrayBuffer> => new TextEncoder().encode(text);
export const decode = (bytes: Uint8Array): string => new TextDecoder().decode(bytes);

/** Bytes in which every place is recognisable. */
export function pattern(length: number): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(length);
  for (let at = 0; at < length; at++) bytes[at] = (at * 131 + (at >> 9)) & 0xff;
  return bytes;
}

export async function read(files: FileSystem, path: NativePath, followSymlinks = true): Promise<string> {
  let text = "";
  await files.readFile({ path, followSymlinks, offset: 0, length: null }, (piece) => text += decode(piece));
  return text;
}

export function write(
  files: FileSystem,
  path: NativePath,
  data: string | Uint8Array<ArrayBuffer>,
  options: Partial<WriteFileRequest> = {},
): Promise<void> {
  return files.writeFile({
    path,
    data: typeof data === "string" ? encode(data) : data,
    followSymlinks: true,
    atomic: false,
    breakHardLinks: false,
    ifMatch: null,
    mode: null,
    ...options,
  });
}

export function metadata(files: FileSystem, path: NativePath, followSymlinks = true): Promise<FsGetMetadataResult> {
  return files.getMetadata({ path, followSymlinks, fields: [] });
}

export function remove(files: FileSystem, path: NativePath, options: object = {}): Promise<void> {
  return files.remove({ path, recursive: true, force: true, followSymlinks: true, ...options });
}

export function copy(files: FileSystem, sourcePath: string, destinationPath: string, recursive = true): Promise<void> {
  return files.copy({ sourcePath, destinationPath, recursive });
}

export type WalkOptions = Partial<FsWalkParams["options"]>;

export function walk(files: FileSystem, path: string, options: WalkOptions = {}): Promise<FsWalkResult> {
  return files.walk({
    path,
    options: {
      maxDepth: 10,
      maxDirectories: 100,
      maxEntries: 1000,
      followDirectorySymlinks: false,
      pruneHiddenDirectories: false,
      ...options,
    },
  });
}

export function names(directory: string): string[] {
  return [...Deno.readDirSync(directory)].map((entry) => entry.name).sort();
}

/** Files, directories, links of every kind, and a fifo. */
export async function plantTree(directory: string): Promise<void> {
  await Deno.mkdir(`${directory}/sub/deep/er`, { recursive: true });
  await Deno.mkdir(`${directory}/.hid`);
  for (const file of ["f.txt", ".hid/x", "sub/g.txt", "sub/deep/h.txt"]) {
    await Deno.writeTextFile(`${directory}/${file}`, "");
  }
  await Deno.symlink("f.txt", `${directory}/ln`);
  await Deno.symlink("sub", `${directory}/lnd`);
  await Deno.symlink("nowhere", `${directory}/broken`);
  await Deno.symlink("..", `${directory}/sub/up`);
  await makeFifo(`${directory}/sub/pipe`);
}

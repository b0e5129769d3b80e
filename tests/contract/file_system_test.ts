/**
 * The filesystem contract, run on every implementation.
 *
 * An implementation under test may do all that its user may do below the scratch directory, and read /proc and /dev, but
 * for what it refuses by name.
 */

import { createDirectFileSystem } from "../../src/fs/direct.ts";
import { createPortableFileSystem } from "../../src/fs/portable/portable.ts";
import { PortableFiles } from "../support/portable_files.ts";
import { RemoteFiles } from "../support/remote_files.ts";
import { NO_SANDBOX } from "../support/sandbox_host.ts";
import { SandboxedFiles } from "../support/sandboxed_files.ts";
import { testFileSystem } from "./file_system/contract.ts";
import { type FileSystemUnderTest, type Refusals, sharedByAll } from "./file_system/harness.ts";

const nothingToClose = () => Promise.resolve();

testFileSystem("direct", () => Promise.resolve({ files: createDirectFileSystem(), close: nothingToClose }));

/** Everything may be read and everything temporary written: what the tests do to their scratch directories is allowed. */
async function openSandboxed(): Promise<FileSystemUnderTest> {
  const sandboxed = await SandboxedFiles.open();
  const temporary = await Deno.realPath(Deno.env.get("TMPDIR") ?? "/tmp");
  return {
    files: await sandboxed.under(`read /, write ${temporary}`),
    close: () => sandboxed[Symbol.asyncDispose](),
  };
}

/** Only the network is confined: everything that can be done to files is still done, by a helper. */
async function openOffline(): Promise<FileSystemUnderTest> {
  const sandboxed = await SandboxedFiles.open();
  return { files: await sandboxed.under("write /"), close: () => sandboxed[Symbol.asyncDispose]() };
}

if (NO_SANDBOX === null) {
  testFileSystem("sandboxed", sharedByAll(openSandboxed));
  testFileSystem("sandboxed without file rules", sharedByAll(openOffline));
} else Deno.test.ignore(`sandboxed: the filesystem contract (SKIPPED: ${NO_SANDBOX})`, () => {});

const FREE_OF_LINKS = /^Cannot honour followSymlinks: false, which only the kernel can check: this server cannot call/;
const FLUSH = /^Cannot promise that the new name is on the device: this server cannot call/;
const ATOMIC = /^Cannot write atomically: access control lists .* could not be kept: this server cannot call/;

/** All that is lost without the C library. */
const WITHOUT_LIBC: Refusals = {
  "names that are not UTF-8 can be made, found, read and removed": /^Cannot reach `.*`, whose name is not UTF-8: this /,
  "without following links, none may be in the path of any method": FREE_OF_LINKS,
  "without following links, anything but a regular file is refused at once, too": FREE_OF_LINKS,
  "without following links, a link counts as an existing file where the file has to be absent": FREE_OF_LINKS,
  "without following links, ordinary paths work as ever": FREE_OF_LINKS,
  "without following links, a path may be longer than the system takes at once": FREE_OF_LINKS,
  "writeFile with atomic follows links, also one to a file that does not exist yet": ATOMIC,
  "writeFile with atomic fails in the words of the system and changes nothing": ATOMIC,
  "writeFile with atomic never waits for a fifo, with a reader or without": ATOMIC,
  "writeFile with atomic gives the file the time that is asked for, flushed or not": ATOMIC,
  "a rename that is flushed renames, files and directories": FLUSH,
  "writeFile with atomic and ifMatch writes what the caller has read and refuses anything else": ATOMIC,
  "writeFile with atomic and ifMatch lets exactly one of several writers succeed that have read the same": ATOMIC,
  "writeFile with atomic and ifMatch absent makes a file that was not there, and touches none": ATOMIC,
  "writeFile with atomic and ifMatch absent means the target of a link, not the link": ATOMIC,
  "an atomic write replaces the file, keeps its mode and leaves nothing beside it": ATOMIC,
  "an atomic write does not separate hard links unless told to": ATOMIC,
  "an atomic write keeps the access control list and users' attributes": ATOMIC,
};

const reason = "this server cannot call the C library: it is being tested";
testFileSystem(
  "portable",
  () => Promise.resolve({ files: createPortableFileSystem({ reason }), close: nothingToClose }),
  WITHOUT_LIBC,
);

const RUNTIME = /^Permission denied by the runtime: Requires all access to "\/(proc|dev)\//;

/** What the runtime opens only to programs that may do everything, besides. */
const WITH_FEW_PERMISSIONS: Refusals = {
  ...WITHOUT_LIBC,
  "readFile reads files of the kernel that claim to be empty": RUNTIME,
  "readFile asks for room for a content that is longer than its file says": RUNTIME,
  "copy copies files of the kernel that claim to be empty": RUNTIME,
  "writeFile reports a device's error": RUNTIME,
  "copy of a file onto a device reports the device's error": RUNTIME,
};

async function openPortable(): Promise<FileSystemUnderTest> {
  const portable = await PortableFiles.open();
  return { files: portable.files, close: () => portable[Symbol.asyncDispose]() };
}

testFileSystem("portable with few permissions", sharedByAll(openPortable), WITH_FEW_PERMISSIONS);

const WHOLE = /^cannot stream content from a remote filesystem: read the file whole, or use open\(\)/;

/** What only a server needs: a client asks for parts, or streams. */
const REMOTELY: Refusals = {
  "readFile asks for room before it reads, and hands large content over to be fetched": WHOLE,
  "readFile asks for room for a content that is longer than its file says": WHOLE,
};

async function openRemote(): Promise<FileSystemUnderTest> {
  const remote = await RemoteFiles.open();
  return { files: remote.files, close: () => remote[Symbol.asyncDispose]() };
}

testFileSystem("remote", sharedByAll(openRemote), REMOTELY);

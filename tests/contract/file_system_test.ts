/**
 * The filesystem contract, run on every implementation.
 *
 * An implementation under test may do all that its user may do below the scratch directory, and read /proc and /dev.
 */

import { createDirectFileSystem } from "../../src/fs/direct.ts";
import { NO_SANDBOX } from "../support/sandbox_host.ts";
import { SandboxedFiles } from "../support/sandboxed_files.ts";
import { contractTest, type FileSystemUnderTest } from "./file_system/harness.ts";
import { testLinkFreePaths } from "./file_system/link_free_paths.ts";
import { testLooking } from "./file_system/looking.ts";
import { testNamesAndModes } from "./file_system/names_and_modes.ts";
import { testOpenFiles } from "./file_system/open_files.ts";
import { testReading } from "./file_system/reading.ts";
import { testTrees } from "./file_system/trees.ts";
import { testWalking } from "./file_system/walking.ts";
import { testWriting } from "./file_system/writing.ts";

function testFileSystem(name: string, open: () => Promise<FileSystemUnderTest>): void {
  const test = contractTest(name, open);
  testReading(test);
  testLinkFreePaths(test);
  testWriting(test);
  testLooking(test);
  testWalking(test);
  testTrees(test);
  testNamesAndModes(test);
  testOpenFiles(test);
}

testFileSystem("direct", () => Promise.resolve({ files: createDirectFileSystem(), close: () => Promise.resolve() }));

/** Everything may be read and everything temporary written: what the tests do to their scratch directories is allowed. */
async function openSandboxed(): Promise<FileSystemUnderTest> {
  const sandboxed = await SandboxedFiles.open();
  const temporary = await Deno.realPath(Deno.env.get("TMPDIR") ?? "/tmp");
  return {
    files: await sandboxed.under(`read /, write ${temporary}`),
    close: () => sandboxed[Symbol.asyncDispose](),
  };
}

if (NO_SANDBOX === null) testFileSystem("sandboxed", openSandboxed);
else Deno.test.ignore(`sandboxed: the filesystem contract (SKIPPED: ${NO_SANDBOX})`, () => {});

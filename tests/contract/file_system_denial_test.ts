/**
 * The filesystem contract under a policy that denies one directory.
 *
 * Where everything may be read, as in `file_system_test.ts`, the server reads paths without links by itself, and a helper
 * sees few of the reads. Here it must see them all. In a file of its own, to run beside the others.
 */

import { NO_SANDBOX } from "../support/sandbox_host.ts";
import { SandboxedFiles } from "../support/sandboxed_files.ts";
import { testFileSystem } from "./file_system/contract.ts";
import { type FileSystemUnderTest, sharedByAll } from "./file_system/harness.ts";

async function openSandboxedWithDenial(): Promise<FileSystemUnderTest> {
  const sandboxed = await SandboxedFiles.open();
  const temporary = await Deno.realPath(Deno.env.get("TMPDIR") ?? "/tmp");
  return {
    files: await sandboxed.underHelpersOnly(`read /, write ${temporary}, deny out`),
    close: () => sandboxed[Symbol.asyncDispose](),
  };
}

const NAME = "sandboxed, with a denial";
if (NO_SANDBOX === null) testFileSystem(NAME, sharedByAll(openSandboxedWithDenial));
else Deno.test.ignore(`${NAME}: the filesystem contract (SKIPPED: ${NO_SANDBOX})`, () => {});

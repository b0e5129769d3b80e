/** The whole filesystem contract, for one implementation. */

import { contractTest, type FileSystemUnderTest, type Refusals } from "./harness.ts";
import { testLinkFreePaths } from "./link_free_paths.ts";
import { testLooking } from "./looking.ts";
import { testNamesAndModes } from "./names_and_modes.ts";
import { testOpenFiles } from "./open_files.ts";
import { testReading } from "./reading.ts";
import { testTrees } from "./trees.ts";
import { testWalking } from "./walking.ts";
import { testWriting } from "./writing.ts";

export function testFileSystem(name: string, open: () => Promise<FileSystemUnderTest>, refusals: Refusals = {}): void {
  const unused = new Set(Object.keys(refusals));
  const register = contractTest(name, open, refusals);
  const test: typeof register = (claim, body) => {
    unused.delete(claim);
    register(claim, body);
  };
  testReading(test);
  testLinkFreePaths(test);
  testWriting(test);
  testLooking(test);
  testWalking(test);
  testTrees(test);
  testNamesAndModes(test);
  testOpenFiles(test);
  if (unused.size > 0) throw new Error(`${name} refuses what nobody claims: ${[...unused].join("; ")}`);
}

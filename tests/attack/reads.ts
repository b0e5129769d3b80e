/** Every way to read, tried by the server itself and by a confined helper. Holds no tests. */

import assert from "node:assert/strict";
import type { FileSystem } from "../../src/fs/file_system.ts";
import { read } from "../contract/file_system/harness.ts";
import { type AttackScene, REFUSED } from "./scene.ts";

/** A policy under which the server may read by itself. */
export const READ_ALL = "read /";

/** Confines the network and no files: what is not a file, such as other processes, must stay out of reach all the same. */
export const WRITE_ALL = "write /";

/** Every way to learn something of a file without writing. */
export const READS: Readonly<Record<string, (files: FileSystem, path: string) => Promise<unknown>>> = {
  readFile: (files, path) => read(files, path),
  open: async (files, path) => {
    const file = await files.open({ path, mode: "read", followSymlinks: true });
    try {
      return new TextDecoder().decode(await file.readBlock(0, 1_000_000));
    } finally {
      await file.close();
    }
  },
  digest: async (files, path) => (await files.getMetadata({ path, followSymlinks: true, fields: ["digest"] })).digest,
};

/** Each read succeeds without a sandbox, and is refused with one, by the server and by a helper in the same words. */
export async function readsRefused(scene: AttackScene, path: string, reads = Object.keys(READS)): Promise<void> {
  for (const name of reads) {
    const attempt = READS[name]!;
    assert.notEqual(await attempt(scene.direct, path), "", `${name} without a sandbox`);
    for (const policy of [READ_ALL, WRITE_ALL]) {
      const refusals: string[] = [];
      for (const open of [() => scene.files(policy), () => scene.filesByHelper(policy)]) {
        const outcome = await open().then((files) => attempt(files, path))
          .then((found) => ({ found }), (error: Error) => ({ error }));
        assert.ok("error" in outcome, `${policy}: ${name} of ${path} was answered`);
        const isOutright = policy === WRITE_ALL && CANNOT_PROTECT.test(outcome.error.message);
        if (!isOutright) assert.match(outcome.error.message, REFUSED);
        refusals.push(outcome.error.message);
      }
      assert.equal(refusals[0], refusals[1], policy);
    }
  }
}

/** Landlock refuses the whole policy where another procfs could be written to. */
const CANNOT_PROTECT = /Landlock cannot express the policy: it cannot protect /;

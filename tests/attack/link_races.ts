/**
 * Links swapped in while an operation runs.
 *
 * Another thread makes one component of the path a directory and a link to a place outside by turns. Whatever the
 * operations run into, nothing outside may be touched or seen. Where it can be observed, a test also makes sure that its
 * attack hit: that some operations succeeded and some failed.
 */

import assert from "node:assert/strict";
import { createDirectFileSystem } from "../../src/fs/direct.ts";
import type { WriteFileRequest } from "../../src/fs/file_system.ts";
import { openByComponents, openPath } from "../../src/fs/open_path.ts";
import { toByteString } from "../../src/os/files/byte_string.ts";
import { closeFd, O_RDONLY } from "../../src/os/files/file_calls.ts";
import { LinkSwapper } from "../support/link_swapper.ts";
import { inScratchDirectory } from "../support/scratch_directory.ts";

/** Operations per attack at least; a busy machine may need more until the other thread has had its turns. */
const ROUNDS = 1500;
const PATIENCE_MS = 20_000;
/** For operations on whole trees, each of which begins with a new one. */
const TREE_ROUNDS = 150;

/** While the swapper runs, `tree/spot` is a directory with a file `f` in it, or a link to `outside`. */
async function underAttack(attack: (root: string, swapper: LinkSwapper) => Promise<void>): Promise<void> {
  await inScratchDirectory(async (root) => {
    await Deno.mkdir(`${root}/outside`);
    await Deno.writeTextFile(`${root}/outside/f`, "SECRET");
    await Deno.chmod(`${root}/outside/f`, 0o644);
    plant(root);
    const swapper = new LinkSwapper(`${root}/tree/spot`, `${root}/parked`);
    try {
      await swapper.pause(); // It is there now.
      await attack(root, swapper);
    } finally {
      await swapper.pause();
      swapper.end();
    }
    assert.deepEqual([...Deno.readDirSync(`${root}/outside`)].map((entry) => entry.name), ["f"]);
    assert.equal(await Deno.readTextFile(`${root}/outside/f`), "SECRET");
    assert.equal((await Deno.stat(`${root}/outside/f`)).mode! & 0o777, 0o644);
  });
}

/** Only while the swapper pauses. */
function plant(root: string): void {
  for (const path of [`${root}/tree`, `${root}/parked`]) {
    try {
      Deno.removeSync(path, { recursive: true });
    } catch {
      // It was not there.
    }
  }
  Deno.mkdirSync(`${root}/tree/spot`, { recursive: true });
  Deno.writeTextFileSync(`${root}/tree/spot/f`, "inside");
  for (let index = 0; index < 20; index++) Deno.writeTextFileSync(`${root}/tree/file${index}`, "");
  Deno.symlinkSync(`${root}/outside`, `${root}/parked`);
}

/** Runs it again and again; some have to succeed and some to fail, or there was no attack. */
async function repeat(swapper: LinkSwapper, work: (round: number) => Promise<void> | void): Promise<void> {
  let succeeded = 0;
  let failed = 0;
  swapper.resume();
  const deadline = performance.now() + PATIENCE_MS;
  const hasHit = (): boolean => succeeded > 0 && failed > 0;
  for (let round = 0; round < ROUNDS || (!hasHit() && performance.now() < deadline); round++) {
    try {
      await work(round);
      succeeded++;
    } catch (error) {
      if (error instanceof assert.AssertionError) throw error;
      failed++;
    }
  }
  assert.ok(hasHit(), `the attack missed: ${succeeded} succeeded, ${failed} failed`);
}

const WRITE: Omit<WriteFileRequest, "path"> = {
  data: new TextEncoder().encode("written"),
  followSymlinks: false,
  atomic: false,
  breakHardLinks: false,
  ifMatch: null,
  mode: null,
};

Deno.test("reading without links never reads through one that is swapped in", () =>
  underAttack((root, swapper) => {
    const files = createDirectFileSystem();
    return repeat(swapper, async () => {
      let text = "";
      await files.readFile(
        { path: `${root}/tree/spot/f`, followSymlinks: false, offset: 0, length: null },
        (piece) => text += new TextDecoder().decode(piece),
      );
      assert.equal(text, "inside");
    });
  }));

Deno.test("writing without links never writes through one that is swapped in", () =>
  underAttack(async (root, swapper) => {
    const files = createDirectFileSystem();
    await repeat(swapper, (round) => files.writeFile({ ...WRITE, path: `${root}/tree/spot/new${round % 7}` }));
  }));

Deno.test("writing atomically without links never writes through one that is swapped in", () =>
  underAttack(async (root, swapper) => {
    const files = createDirectFileSystem();
    await repeat(swapper, (round) => files.writeFile({ ...WRITE, path: `${root}/tree/spot/a${round}`, atomic: true }));
  }));

Deno.test("making, changing and removing without links leaves the place behind a swapped link alone", () =>
  underAttack(async (root, swapper) => {
    const files = createDirectFileSystem();
    await repeat(swapper, async (round) => {
      const path = `${root}/tree/spot/made${round}`;
      await files.createDirectory({ path: `${path}/below`, recursive: true, followSymlinks: false });
      await files.chmod({ path, mode: 0o700, followSymlinks: false });
      await files.remove({ path: `${path}/below`, recursive: false, force: false, followSymlinks: false });
      await files.remove({ path, recursive: false, force: false, followSymlinks: false });
    });
    await repeat(swapper, () => files.chmod({ path: `${root}/tree/spot/f`, mode: 0o600, followSymlinks: false }));
  }));

Deno.test("opening component by component, where the kernel has no better way, is as safe", () =>
  underAttack(async (root, swapper) => {
    const path = toByteString(`${root}/tree/spot/f`);
    const ways = [openByComponents, (p: typeof path, flags: number) => openPath(p, flags, { followSymlinks: false })];
    for (const open of ways) {
      await repeat(swapper, () => {
        const fd = open(path, O_RDONLY);
        if (fd < 0) throw new Error("refused");
        try {
          assert.doesNotMatch(Deno.readLinkSync(`/proc/self/fd/${fd}`), /outside/);
        } finally {
          closeFd(fd);
        }
      });
    }
  }));

Deno.test("removing a tree does not follow a link that takes the place of one of its directories", () =>
  underAttack(async (root, swapper) => {
    const files = createDirectFileSystem();
    for (let round = 0; round < TREE_ROUNDS; round++) {
      await swapper.pause();
      plant(root);
      swapper.resume();
      await files.remove({ path: `${root}/tree`, recursive: true, force: false, followSymlinks: true });
      assert.equal(await Deno.lstat(`${root}/tree`).catch(() => null), null);
    }
  }));

Deno.test("copying a tree does not follow a link that takes the place of one of its directories", () =>
  underAttack(async (root, swapper) => {
    const files = createDirectFileSystem();
    swapper.resume();
    for (let round = 0; round < TREE_ROUNDS; round++) {
      const destinationPath = `${root}/copy${round}`;
      // Fails when the directory listed is a link by the time it is entered.
      await files.copy({ sourcePath: `${root}/tree`, destinationPath, recursive: true }).catch(() => {});
      const spot = await Deno.lstat(`${destinationPath}/spot`).catch(() => null);
      if (spot?.isDirectory !== true) continue;
      const copied = [...Deno.readDirSync(`${destinationPath}/spot`)].map((entry) => entry.name);
      if (copied.length > 0) assert.equal(await Deno.readTextFile(`${destinationPath}/spot/f`), "inside");
    }
  }));

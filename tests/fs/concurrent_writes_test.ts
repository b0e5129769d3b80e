/** Many writers of one file: no update is lost and no reader sees half of one. */

import assert from "node:assert/strict";
import { createDirectFileSystem } from "../../src/fs/direct.ts";
import type { FileSystem, WriteFileRequest } from "../../src/fs/file_system.ts";
import { readWholeFile } from "../support/read_whole_file.ts";
import { ContentMismatchError } from "../../src/fs/map_error.ts";
import type { ContentDigest } from "../../src/protocol/fs.ts";
import { inScratchDirectory } from "../support/scratch_directory.ts";

const WRITERS = 50;
const ROUNDS = 8;
/** Large enough that it is neither read nor written in one step. */
const CONTENT_BYTES = 200_000;

/** Content that shows whether it is whole: the same text all over. */
function content(round: number, writer: number): Uint8Array<ArrayBuffer> {
  const text = `round ${String(round).padStart(3, "0")} writer ${String(writer).padStart(3, "0")}\n`;
  return new TextEncoder().encode(text.repeat(CONTENT_BYTES / text.length));
}

function assertWhole(bytes: Uint8Array): void {
  const lines = new Set(new TextDecoder().decode(bytes).split("\n"));
  assert.equal(lines.size, 2, `torn: ${[...lines].join(" | ")}`); // One text, and what follows the last line.
}

async function digest(files: FileSystem, path: string): Promise<ContentDigest> {
  const found = await files.getMetadata({ path, followSymlinks: true, fields: ["digest"] });
  assert.ok(found.digest);
  return found.digest;
}

function request(path: string, options: Partial<WriteFileRequest>): WriteFileRequest {
  return {
    path,
    data: new Uint8Array(),
    followSymlinks: true,
    atomic: true,
    breakHardLinks: false,
    ifMatch: null,
    mode: null,
    ...options,
  };
}

Deno.test("of 50 conditional atomic writers exactly one wins each round, and no reader sees a torn file", () =>
  inScratchDirectory(async (directory) => {
    const path = `${directory}/f`;
    const files = createDirectFileSystem();
    await Deno.writeFile(path, content(0, 0));

    let isReading = true;
    let reads = 0;
    const reader = (async () => {
      while (isReading) {
        assertWhole(await readWholeFile(files, path));
        reads++;
        await new Promise((resolve) => setTimeout(resolve)); // Reading what is in memory never leaves the event loop.
      }
    })();

    try {
      for (let round = 1; round <= ROUNDS; round++) {
        const ifMatch = await digest(files, path);
        const outcomes = await Promise.allSettled(
          Array.from(
            { length: WRITERS },
            (_, writer) => files.writeFile(request(path, { data: content(round, writer), ifMatch })),
          ),
        );
        const failures = outcomes.flatMap((outcome) => outcome.status === "rejected" ? [outcome.reason] : []);
        assert.equal(failures.length, WRITERS - 1, `round ${round}`);
        for (const failure of failures) assert.ok(failure instanceof ContentMismatchError, String(failure));
        const winner = outcomes.findIndex((outcome) => outcome.status === "fulfilled");
        assert.deepEqual(await Deno.readFile(path), content(round, winner));
      }
    } finally {
      isReading = false;
      await reader;
    }
    assert.ok(reads > ROUNDS, `only ${reads} reads`);
    assert.deepEqual([...Deno.readDirSync(directory)].map((entry) => entry.name), ["f"], "nothing is left beside it");
  }));

Deno.test("of 50 conditional writers in place exactly one wins each round", () =>
  inScratchDirectory(async (directory) => {
    const path = `${directory}/f`;
    const files = createDirectFileSystem();
    await Deno.writeFile(path, content(0, 0));
    for (let round = 1; round <= ROUNDS; round++) {
      const ifMatch = await digest(files, path);
      const outcomes = await Promise.allSettled(
        Array.from(
          { length: WRITERS },
          (_, writer) => files.writeFile(request(path, { data: content(round, writer), ifMatch, atomic: false })),
        ),
      );
      const winners = outcomes.flatMap((outcome, writer) => outcome.status === "fulfilled" ? [writer] : []);
      assert.equal(winners.length, 1, `round ${round}: ${winners}`);
      assert.deepEqual(await Deno.readFile(path), content(round, winners[0]!));
    }
  }));

Deno.test("of 50 writers that expect no file exactly one makes it", () =>
  inScratchDirectory(async (directory) => {
    const files = createDirectFileSystem();
    for (const atomic of [true, false]) {
      const path = `${directory}/${atomic}`;
      const outcomes = await Promise.allSettled(
        Array.from(
          { length: WRITERS },
          (_, writer) => files.writeFile(request(path, { data: content(0, writer), ifMatch: "absent", atomic })),
        ),
      );
      const winners = outcomes.flatMap((outcome, writer) => outcome.status === "fulfilled" ? [writer] : []);
      assert.equal(winners.length, 1);
      assert.deepEqual(await Deno.readFile(path), content(0, winners[0]!));
    }
  }));

Deno.test("unconditional atomic writers leave one of their contents, whole", () =>
  inScratchDirectory(async (directory) => {
    const path = `${directory}/f`;
    const files = createDirectFileSystem();
    await Promise.all(
      Array.from({ length: WRITERS }, (_, writer) => files.writeFile(request(path, { data: content(0, writer) }))),
    );
    assertWhole(await Deno.readFile(path));
    assert.deepEqual([...Deno.readDirSync(directory)].map((entry) => entry.name), ["f"]);
  }));

Deno.test("conditional writers in different processes lose no update", () =>
  inScratchDirectory(async (directory) => {
    const path = `${directory}/counter`;
    const program = new URL("../fixtures/conditional_increments.ts", import.meta.url).pathname;
    await Deno.writeTextFile(path, "0");
    const runs = await Promise.all([1, 2, 3].map(() =>
      new Deno.Command(Deno.execPath(), {
        args: ["run", "--quiet", "-P=serve", "--no-check", program, path, "40"],
        stderr: "inherit",
      })
        .output()
    ));
    assert.ok(runs.every(({ success }) => success));
    assert.equal(await Deno.readTextFile(path), "120");
  }));

Deno.test("a chmod between reading and writing does not make a conditional write fail", () =>
  inScratchDirectory(async (directory) => {
    const path = `${directory}/f`;
    const files = createDirectFileSystem();
    await Deno.writeFile(path, content(0, 0));
    const ifMatch = await digest(files, path);
    const writing = files.writeFile(request(path, { data: content(1, 1), ifMatch }));
    await Deno.chmod(path, 0o600);
    await writing;
    assert.deepEqual(await Deno.readFile(path), content(1, 1));
  }));

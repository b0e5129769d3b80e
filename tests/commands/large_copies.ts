/**
 * `cp` at the size people use it: a tree of thousands of files and a file of gigabytes, both ways, with connections that
 * are cut on the way. What arrives has the same digests.
 *
 * Not a part of `task test`: `deno task test --one-at-a-time tests/commands/*.ts`. `EXEC_SERVER_COPY_SCALE` is the
 * share of the full size (20000 files and 2 GiB at 1); 0.05 unless given. The messages, which are checked, take three
 * times that size of the temporary directory besides.
 */

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { CommandHome } from "../support/command_home.ts";
import { FaultyProxy } from "../support/faulty_proxy.ts";
import { Random } from "../support/random.ts";
import { TestServer } from "../support/test_server.ts";

const SCALE = Number(Deno.env.get("EXEC_SERVER_COPY_SCALE") ?? "0.05");
const FILES = Math.ceil(20_000 * SCALE);
const LARGE_BYTES = Math.ceil(2 * 1024 ** 3 * SCALE);
const FILES_OF_DIRECTORY = 100;
const PIECE_BYTES = 1024 * 1024;

/** Content in which every place is recognisable, written without holding it whole. */
async function writeLarge(path: string): Promise<void> {
  using file = await Deno.open(path, { write: true, createNew: true });
  const piece = new Uint8Array(PIECE_BYTES);
  for (let at = 0; at < LARGE_BYTES; at += PIECE_BYTES) {
    for (let i = 0; i < PIECE_BYTES; i += 8) piece[i] = (at / PIECE_BYTES + i) & 0xff;
    new DataView(piece.buffer).setFloat64(0, at);
    let part = piece.subarray(0, Math.min(PIECE_BYTES, LARGE_BYTES - at));
    while (part.length > 0) part = part.subarray(await file.write(part));
  }
}

async function digestOf(path: string): Promise<string> {
  const hash = createHash("sha256");
  using file = await Deno.open(path);
  const buffer = new Uint8Array(PIECE_BYTES);
  for (let count = await file.read(buffer); count !== null; count = await file.read(buffer)) {
    hash.update(buffer.subarray(0, count));
  }
  return hash.digest("hex");
}

async function plantTree(root: string): Promise<void> {
  for (let n = 0; n < FILES; n++) {
    const directory = `${root}/d${Math.floor(n / FILES_OF_DIRECTORY) % 10}/e${Math.floor(n / FILES_OF_DIRECTORY / 10)}`;
    if (n % FILES_OF_DIRECTORY === 0) await Deno.mkdir(directory, { recursive: true });
    Deno.writeTextFileSync(`${directory}/f${n}`, `${n} `.repeat(n % 200), { mode: n % 3 === 0 ? 0o755 : 0o644 });
  }
}

/** One digest of all names, modes, times and contents. */
async function treeDigest(root: string): Promise<string> {
  const hash = createHash("sha256");
  const walk = async (path: string): Promise<void> => {
    const names = (await Array.fromAsync(Deno.readDir(root + path))).map(({ name }) => name).sort();
    for (const name of names) {
      const place = `${path}/${name}`;
      const { isDirectory, mode, mtime } = Deno.lstatSync(root + place);
      hash.update(`${place} ${mode} ${mtime!.getTime()}\n`);
      if (isDirectory) await walk(place);
      else hash.update(Deno.readFileSync(root + place));
    }
  };
  await walk("");
  return hash.digest("hex");
}

/** Runs `cp` over a line that is cut several times. */
async function overCutLine(
  body: (cp: (...words: string[]) => Promise<void>, home: CommandHome) => Promise<void>,
): Promise<void> {
  await using home = await CommandHome.make();
  await using server = await TestServer.start({ env: { HOME: home.path } });
  await body(async (...words) => {
    await using proxy = new FaultyProxy({
      port: server.port,
      random: new Random(16),
      faults: ["reset", "cutFrame", "halfClose"],
      // A tree of small files is short at a small scale, and has to be cut all the same.
      maxBytesBetween: 400_000,
      minBytes: 50_000,
      maxFaults: 5,
    });
    proxy.arm();
    const { code, stderr } = await home.run(["cp", "--url", proxy.url, ...words]);
    assert.deepEqual([code, stderr], [0, ""]);
    assert.ok(proxy.faults > 0, "the line was cut");
  }, home);
}

Deno.test(`cp of a tree of ${FILES} files, there and back, over a line that is cut`, () =>
  overCutLine(async (cp, home) => {
    await plantTree(`${home.path}/tree`);
    const expected = await treeDigest(`${home.path}/tree`);
    await cp("tree", ":there");
    assert.equal(await treeDigest(`${home.path}/there`), expected);
    await cp(":there", "back");
    assert.equal(await treeDigest(`${home.path}/back`), expected);
  }));

Deno.test(`cp of a file of ${LARGE_BYTES} bytes, there and back, over a line that is cut`, () =>
  overCutLine(async (cp, home) => {
    await writeLarge(`${home.path}/large`);
    const expected = await digestOf(`${home.path}/large`);
    await cp("large", ":there");
    assert.equal(await digestOf(`${home.path}/there`), expected);
    await cp(":there", "back");
    assert.equal(await digestOf(`${home.path}/back`), expected);
  }));

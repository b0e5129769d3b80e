/** `box.fs.put` and `box.fs.get`: trees as they are, both ways, also over a line that breaks. */

import assert from "node:assert/strict";
import { connect, type CopyResult, type Devbox } from "../../src/client/mod.ts";
import { FaultyProxy } from "../support/faulty_proxy.ts";
import { Random } from "../support/random.ts";
import { inScratchDirectory, makeFifo } from "../support/scratch_directory.ts";
import { TestServer } from "../support/test_server.ts";

/** Above the bound of what travels in one message, and no multiple of a block. */
const LARGE_BYTES = 3_000_001;

/** Everything of a tree that a copy has to keep. */
async function describe(root: string, path = ""): Promise<string[]> {
  const lines: string[] = [];
  const entries = await Array.fromAsync(Deno.readDir(`${root}${path}`));
  for (const { name } of entries.sort((a, b) => a.name < b.name ? -1 : 1)) {
    const place = `${path}/${name}`;
    const info = await Deno.lstat(root + place);
    const mode = (info.mode! & 0o7777).toString(8);
    const time = info.mtime!.getTime();
    if (info.isSymlink) lines.push(`${place} -> ${await Deno.readLink(root + place)}`);
    else if (info.isDirectory) lines.push(`${place}/ ${mode} ${time}`, ...await describe(root, place));
    else if (info.isFile) {
      const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", await Deno.readFile(root + place)));
      lines.push(`${place} ${mode} ${time} ${info.size} ${digest.toHex()}`);
    }
  }
  return lines;
}

function pattern(length: number): Uint8Array<ArrayBuffer> {
  return new Uint8Array(length).map((_, i) => (i * 131 + (i >> 9)) & 0xff);
}

async function plant(root: string): Promise<void> {
  await Deno.mkdir(`${root}/sub/deep`, { recursive: true });
  await Deno.writeTextFile(`${root}/text`, "hello", { mode: 0o640 });
  await Deno.writeFile(`${root}/ä b\n'"`, new Uint8Array());
  await Deno.writeFile(`${root}/sub/large`, pattern(LARGE_BYTES));
  await Deno.chmod(`${root}/sub/large`, 0o755);
  await Deno.writeTextFile(`${root}/sub/deep/read-only`, "r", { mode: 0o444 });
  await Deno.symlink("text", `${root}/link`);
  await Deno.symlink("no/where", `${root}/sub/broken`);
  await Deno.symlink("sub", `${root}/to-directory`);
  await makeFifo(`${root}/fifo`);
  for (const [index, name] of ["text", "sub/large", "sub/deep/read-only", "sub/deep", "sub"].entries()) {
    await Deno.utime(`${root}/${name}`, 1, new Date(1_000_000_000_123 + index));
  }
  await Deno.chmod(`${root}/sub/deep`, 0o750);
  await Deno.utime(root, 1, 1_000_000_007);
}

async function withTree(body: (box: Devbox, directory: string) => Promise<void>): Promise<void> {
  await using server = await TestServer.start();
  await using box = await connect(server.url);
  await inScratchDirectory(async (directory) => {
    await plant(`${directory}/tree`);
    await body(box, directory);
  });
}

Deno.test("a tree arrives as it is, there and back again, and a second time over itself", () =>
  withTree(async (box, directory) => {
    const expected = await describe(`${directory}/tree`);
    for (const round of [1, 2]) {
      const there = await box.fs.put(`${directory}/tree`, `${directory}/there`);
      assert.deepEqual([there.files, there.directories, there.links, there.skipped], [4, 3, 3, ["fifo"]]);
      assert.deepEqual(there.failures, [], `round ${round}`);
      assert.equal(there.bytes, LARGE_BYTES + 6);
      assert.deepEqual(await describe(`${directory}/there`), expected);
      const back = await box.fs.get(`${directory}/there`, `${directory}/back`, { sync: round === 2 });
      assert.deepEqual([back.files, back.directories, back.links, back.skipped], [4, 3, 3, []]);
      assert.deepEqual(await describe(`${directory}/back`), expected);
      assert.equal(Deno.statSync(`${directory}/back`).mtime!.getTime(), 1_000_000_007_000);
    }
    const flushed = await box.fs.put(`${directory}/tree`, `${directory}/flushed`, { sync: true });
    assert.deepEqual(flushed.failures, []);
    assert.deepEqual(await describe(`${directory}/flushed`), expected);
  }));

Deno.test("single files, also by a link; ignored files are not copied, and other files at the destination stay", () =>
  withTree(async (box, directory) => {
    const tree = `${directory}/tree`;
    const told: string[] = [];
    await box.fs.put(`${tree}/link`, `${directory}/one`, {
      onProgress: ({ path, bytes }) => told.push(`${path}:${bytes}`),
    });
    assert.equal(await Deno.readTextFile(`${directory}/one`), "hello");
    assert.equal(told.at(-1), ":5");
    await box.fs.get(`${tree}/link`, `${directory}/two`);
    assert.equal(await Deno.readTextFile(`${directory}/two`), "hello");

    await Deno.mkdir(`${directory}/merged/sub`, { recursive: true });
    await Deno.writeTextFile(`${directory}/merged/sub/mine`, "mine");
    const ignore = ["deep/", "ä*", "*o", "/link"];
    await box.fs.put(tree, `${directory}/merged`, { ignore });
    await box.fs.get(tree, `${directory}/merged2`, { ignore });
    for (const name of ["merged", "merged2"]) {
      assert.equal(await box.fs.exists(`${directory}/${name}/sub/deep`), false);
      assert.equal(await box.fs.exists(`${directory}/${name}/sub/large`), true);
    }
    assert.equal(await Deno.readTextFile(`${directory}/merged/sub/mine`), "mine");
  }));

Deno.test("a file that cannot be copied is reported, and the others are copied", () =>
  withTree(async (box, directory) => {
    const tree = `${directory}/tree`;
    for (const target of ["put", "get"]) await Deno.mkdir(`${directory}/${target}/text`, { recursive: true });
    const there = await box.fs.put(tree, `${directory}/put`);
    const here = await box.fs.get(tree, `${directory}/get`);
    for (const { failures, files } of [there, here]) {
      assert.deepEqual(failures.map(({ path }) => path), ["text"]);
      assert.equal(files, 3);
    }
    await Deno.writeTextFile(`${directory}/file`, "");
    const blocked = await box.fs.put(tree, `${directory}/file`);
    assert.deepEqual(blocked.failures.map(({ path }) => path), [""]);
    await assert.rejects(box.fs.get(`${directory}/none`, `${directory}/x`), /No such file/);
    const leftOver = (await Array.fromAsync(Deno.readDir(`${directory}/get`))).filter(({ name }) => /part$/.test(name));
    assert.deepEqual(leftOver, []);
  }));

Deno.test("a link of the box is never followed on this machine", async () => {
  await using server = await TestServer.start();
  await using box = await connect(server.url);
  await inScratchDirectory(async (directory) => {
    await Deno.mkdir(`${directory}/box/d`, { recursive: true });
    await Deno.writeTextFile(`${directory}/box/d/f`, "from the box");
    await Deno.mkdir(`${directory}/outside`);
    await Deno.mkdir(`${directory}/here`);
    await Deno.symlink(`${directory}/outside`, `${directory}/here/d`);
    const { failures } = await box.fs.get(`${directory}/box`, `${directory}/here`);
    assert.match(failures[0]!.message, /exists and is not a directory/);
    assert.deepEqual(await Array.fromAsync(Deno.readDir(`${directory}/outside`)), []);
  });
});

Deno.test("a copy goes on over a line that breaks, both ways", async () => {
  await using server = await TestServer.start();
  await inScratchDirectory(async (directory) => {
    await plant(`${directory}/tree`);
    for (let i = 0; i < 300; i++) await Deno.writeFile(`${directory}/tree/sub/s${i}`, pattern(i * 20));
    const expected = await describe(`${directory}/tree`);
    const overBrokenLine = async (copy: (box: Devbox) => Promise<CopyResult>) => {
      await using proxy = new FaultyProxy({
        port: server.port,
        random: new Random(7),
        faults: ["reset", "cutFrame", "halfClose"],
        maxBytesBetween: 1_500_000,
        minBytes: 100_000,
        maxFaults: 8,
      });
      await using box = await connect(proxy.url, { maxBackOff: 50 });
      proxy.arm();
      assert.deepEqual((await copy(box)).failures, []);
      assert.ok(proxy.faults > 0, "the line broke");
    };
    await overBrokenLine((box) => box.fs.put(`${directory}/tree`, `${directory}/there`));
    assert.deepEqual(await describe(`${directory}/there`), expected);
    await overBrokenLine((box) => box.fs.get(`${directory}/there`, `${directory}/back`));
    assert.deepEqual(await describe(`${directory}/back`), expected);
  });
});

Deno.test("a copy that is stopped leaves no parts behind", () =>
  withTree(async (box, directory) => {
    const stop = new AbortController();
    const copying = box.fs.put(`${directory}/tree/sub/large`, `${directory}/large`, {
      signal: stop.signal,
      onProgress: () => stop.abort(),
    });
    await assert.rejects(copying, /aborted/);
    const names = (await box.fs.readDir(directory)).map(({ fileName }) => fileName);
    assert.deepEqual(names, ["tree"]);
  }));

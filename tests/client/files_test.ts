/** What users do with the files of a box, against a real server. */

import assert from "node:assert/strict";
import { AbortedError, connect, ServerError } from "../../src/client/mod.ts";
import { inScratchDirectory } from "../support/scratch_directory.ts";
import { TestServer } from "../support/test_server.ts";

Deno.test("box.fs", async (t) => {
  await using server = await TestServer.start();
  await using box = await connect(server.url);
  await inScratchDirectory(async (directory) => {
    const at = (name: string) => `${directory}/${name}`;

    await t.step("content, short and long", async () => {
      await box.fs.writeTextFile(at("ä b"), "text");
      assert.equal(await box.fs.readTextFile(at("ä b")), "text");
      assert.equal(await box.fs.readTextFile(at("ä b"), { offset: 1, length: 2 }), "ex");
      const long = new Uint8Array(9_000_000).map((_, i) => i % 251);
      for (const atomic of [false, true]) {
        await box.fs.writeFile(at("long"), long, { atomic, mode: 0o640 });
        assert.deepEqual(await box.fs.readFile(at("long")), long);
        assert.equal((await box.fs.stat(at("long"), { fields: ["mode"] })).mode! & 0o777, 0o640);
      }
      await assert.rejects(box.fs.readFile("relative"), /must be absolute/);
      await assert.rejects(box.fs.readFile(at("none")), (error) => error instanceof ServerError && error.isNotFound);
    });

    await t.step("names, links and modes", async () => {
      await box.fs.mkdir(at("d/e"));
      await box.fs.writeTextFile(at("d/e/f"), "f");
      await box.fs.symlink("e/f", at("d/link"));
      assert.equal(await box.fs.realPath(at("d/link")), at("d/e/f"));
      await box.fs.copy(at("d"), at("copy"));
      await box.fs.rename(at("copy"), at("moved"));
      assert.deepEqual([await box.fs.exists(at("copy")), await box.fs.exists(at("moved/e/f"))], [false, true]);
      const { entries } = await box.fs.walk(at("moved"));
      assert.deepEqual(entries.map(({ path }) => path.slice(directory.length + 1)).sort(), [
        "moved/e",
        "moved/e/f",
      ]);
      await box.fs.remove(at("moved"));
      assert.deepEqual((await box.fs.readDir(at("d"))).map(({ fileName }) => fileName).sort(), ["e", "link"]);
    });

    await t.step("streams, in parts and with an end in the middle", async () => {
      const writer = box.fs.writeStream(at("streamed")).getWriter();
      for (let i = 0; i < 100; i++) await writer.write(new Uint8Array(12_345).fill(i));
      assert.equal(await box.fs.exists(at("streamed")), false);
      await writer.close();
      const bytes = await box.fs.readStream(at("streamed"), { offset: 12_344, length: 12_347 }).bytes();
      assert.deepEqual([bytes.length, bytes[0], bytes[1], bytes.at(-1)], [12_347, 0, 1, 2]);
      const aborted = box.fs.writeStream(at("streamed")).getWriter();
      await aborted.write("other");
      await aborted.abort();
      assert.equal((await box.fs.stat(at("streamed"))).size, 1_234_500);
      const names = (await box.fs.readDir(directory)).map(({ fileName }) => fileName);
      assert.deepEqual(names.filter((name) => name.endsWith(".part")), []);
      const stopped = box.fs.readStream(at("streamed")).getReader();
      await stopped.read();
      await stopped.cancel();
    });

    await t.step("a watch tells of changes until the loop is left", async () => {
      await using watch = await box.fs.watch(directory, { recursive: true, debounceMs: 1 });
      await box.fs.writeTextFile(at("d/new"), "x");
      for await (const { path, kind } of watch) {
        if (path !== at("d/new")) continue;
        assert.equal(kind, "created");
        break;
      }
    });

    await t.step("directories go there and back, without what is ignored", async () => {
      const local = at("local");
      await Deno.mkdir(`${local}/src/deep`, { recursive: true });
      await Deno.mkdir(`${local}/node_modules`);
      await Deno.writeTextFile(`${local}/src/deep/a.ts`, "a");
      await Deno.writeTextFile(`${local}/src/b.log`, "b");
      await Deno.writeTextFile(`${local}/node_modules/c`, "c");
      await Deno.writeFile(`${local}/big`, new Uint8Array(3_000_000).fill(7));
      await Deno.chmod(`${local}/src/deep/a.ts`, 0o755);
      await Deno.symlink("src/deep/a.ts", `${local}/link`);
      const told: string[] = [];
      const ignore = ["node_modules/", "*.log"];
      const sent = await box.fs.upload(local, at("sent"), { ignore, onProgress: ({ path }) => told.push(path) });
      assert.deepEqual({ ...sent }, { files: 2, bytes: 3_000_001, skipped: [] });
      assert.deepEqual(told.sort(), ["big", "src/deep/a.ts"]);
      assert.equal(await Deno.readLink(at("sent/link")), "src/deep/a.ts");
      assert.equal((await Deno.stat(at("sent/src/deep/a.ts"))).mode! & 0o777, 0o755);
      assert.equal(await box.fs.exists(at("sent/node_modules")), false);
      await assert.rejects(box.fs.upload(local, at("sent")), ServerError);
      await box.fs.upload(local, at("sent"), { ignore, overwrite: true });
      const abort = new AbortController();
      const aborted = box.fs.upload(local, at("half"), { signal: abort.signal, onProgress: () => abort.abort() });
      await assert.rejects(aborted, AbortedError);
      assert.equal(await box.fs.exists(at("half")), false);
      const back = await box.fs.download(at("sent"), at("back"));
      assert.deepEqual([back.files, back.bytes], [3, 3_000_002]);
      assert.equal(await Deno.readTextFile(at("back/src/deep/a.ts")), "a");
      await assert.rejects(box.fs.download(at("sent"), at("back")), /it already exists/);
      await box.fs.download(at("sent/big"), at("back"), { overwrite: true }).catch(() => {});
      const parts = [...Deno.readDirSync(directory)].filter(({ name }) => name.endsWith(".part"));
      assert.deepEqual(parts, []);
    });
  });
});

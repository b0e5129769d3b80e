import assert from "node:assert/strict";
import { filePins } from "../../src/client/link/file_pins.ts";
import { inScratchDirectory } from "../support/scratch_directory.ts";

Deno.test("a key is found by its whole name, the first one counts, and removing the line forgets it", () =>
  inScratchDirectory(async (directory) => {
    const path = `${directory}/known`;
    const pins = filePins(path);
    assert.equal(await pins.get("host box"), null);
    await Promise.all([pins.set("host box", "SHA256:one"), pins.set("host box-2", "SHA256:two")]);
    await filePins(path).set("host box", "SHA256:late");
    assert.deepEqual(await Promise.all(["host box", "host box-2", "host bo", "host"].map(pins.get)), [
      ...["SHA256:one", "SHA256:two", null, null],
    ]);
    assert.equal((await Deno.stat(path)).mode! & 0o777, 0o600);
    await Deno.writeTextFile(path, "");
    assert.equal(await pins.get("host box"), null);
  }));

Deno.test("if the file cannot be read or written, nobody is trusted", () =>
  inScratchDirectory(async (directory) => {
    await assert.rejects(filePins(directory).get("host box"), /cannot read the keys of executors/);
    await assert.rejects(filePins(`${directory}/none/known`).set("host box", "SHA256:one"), /cannot remember/);
  }));

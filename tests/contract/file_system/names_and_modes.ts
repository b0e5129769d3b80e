/** The filesystem contract: renaming, modes and links. */

import assert from "node:assert/strict";
import { assertFails, modeOf } from "../../support/scratch_directory.ts";
import { type ContractTest, names, NOT_FOUND } from "./harness.ts";

export function testNamesAndModes(test: ContractTest): void {
  test("rename replaces only when told to", async (files, directory) => {
    await Deno.writeTextFile(`${directory}/a`, "a");
    await Deno.writeTextFile(`${directory}/b`, "b");
    const rename = (source: string, destination: string, overwrite: boolean) =>
      files.rename({
        sourcePath: `${directory}/${source}`,
        destinationPath: `${directory}/${destination}`,
        overwrite,
      });
    await assertFails(rename("a", "b", false), "internal", "File exists (os error 17)");
    await rename("a", "b", true);
    assert.equal(await Deno.readTextFile(`${directory}/b`), "a");
    await rename("b", "c", false);
    await assertFails(rename("b", "d", false), "notFound", NOT_FOUND);
    await assertFails(rename("c", "no/c", true), "notFound", NOT_FOUND);
    await Deno.mkdir(`${directory}/dir`);
    await rename("dir", "dir2", false);
    await assertFails(rename("dir2", "dir2/inside", false), "invalidRequest", "Invalid argument (os error 22)");
    assert.deepEqual(names(directory), ["c", "dir2"]);
  });

  test("rename takes the old name away also when both are names of one file", async (files, directory) => {
    await Deno.mkdir(`${directory}/real`);
    await Deno.symlink("real", `${directory}/same`);
    const [a, b] = [`${directory}/real/a`, `${directory}/real/b`];
    await Deno.writeTextFile(a, "kept");
    await Deno.link(a, b);
    const rename = (sourcePath: string, destinationPath: string) =>
      files.rename({ sourcePath, destinationPath, overwrite: true });
    await rename(a, a);
    await rename(a, `${directory}/same/a`);
    assert.deepEqual(names(`${directory}/real`), ["a", "b"], "one name by two paths stays");
    await rename(a, b);
    assert.deepEqual(names(`${directory}/real`), ["b"]);
    assert.equal(await Deno.readTextFile(b), "kept");
    await rename(b, b);
    assert.deepEqual(names(`${directory}/real`), ["b"]);
  });

  test("chmod changes what a link leads to, and symlink makes exactly the link asked for", async (files, directory) => {
    await Deno.writeTextFile(`${directory}/f`, "");
    await files.symlink({ path: `${directory}/link`, target: "f" });
    await files.symlink({ path: `${directory}/odd`, target: "../no such/place" });
    assert.equal(await Deno.readLink(`${directory}/link`), "f");
    assert.equal(await Deno.readLink(`${directory}/odd`), "../no such/place");
    await files.chmod({ path: `${directory}/link`, mode: 0o2755, followSymlinks: true });
    assert.equal(modeOf(`${directory}/f`), 0o2755);
    const taken = files.symlink({ path: `${directory}/f`, target: "x" });
    await assertFails(taken, "internal", "File exists (os error 17)");
    const missing = files.chmod({ path: `${directory}/none`, mode: 0o600, followSymlinks: true });
    await assertFails(missing, "notFound", NOT_FOUND);
  });

  test("setTimes sets the time of modification of what a link leads to", async (files, directory) => {
    await Deno.writeTextFile(`${directory}/f`, "");
    await Deno.mkdir(`${directory}/d`);
    await Deno.symlink("f", `${directory}/link`);
    const modifiedAtMs = 1_234_567_890_123;
    for (const name of ["link", "d"]) {
      await files.setTimes({ path: `${directory}/${name}`, modifiedAtMs, followSymlinks: true });
    }
    assert.equal(Deno.statSync(`${directory}/f`).mtime?.getTime(), modifiedAtMs);
    assert.equal(Deno.statSync(`${directory}/d`).mtime?.getTime(), modifiedAtMs);
    assert.notEqual(Deno.lstatSync(`${directory}/link`).mtime?.getTime(), modifiedAtMs);
    const missing = files.setTimes({ path: `${directory}/none`, modifiedAtMs, followSymlinks: true });
    await assertFails(missing, "notFound", NOT_FOUND);
  });

  test("a rename that is flushed renames, files and directories", async (files, directory) => {
    await Deno.writeTextFile(`${directory}/f`, "content");
    await Deno.mkdir(`${directory}/d`);
    await files.rename({
      sourcePath: `${directory}/f`,
      destinationPath: `${directory}/g`,
      overwrite: true,
      flush: true,
    });
    await files.rename({
      sourcePath: `${directory}/d`,
      destinationPath: `${directory}/e`,
      overwrite: false,
      flush: true,
    });
    assert.deepEqual(names(directory), ["e", "g"]);
    const missing = { sourcePath: `${directory}/f`, destinationPath: `${directory}/h`, overwrite: true, flush: true };
    await assertFails(files.rename(missing), "notFound", NOT_FOUND);
  });
}

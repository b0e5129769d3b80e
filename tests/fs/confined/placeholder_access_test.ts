import assert from "node:assert/strict";
import { createDirectFileSystem } from "../../../src/fs/direct.ts";
import type { FileSystem } from "../../../src/fs/file_system.ts";
import { RealPlaceholderFiles } from "../../../src/launch/policy/placeholder_files.ts";
import { looksLikePlaceholder } from "../../../src/launch/policy/placeholders.ts";
import { copy, metadata, NOT_FOUND, read, remove, write } from "../../contract/file_system/harness.ts";
import { namesIn, sandboxTest } from "../../support/sandbox_host.ts";
import { SandboxedFiles } from "../../support/sandboxed_files.ts";
import { assertFails, inScratchDirectory } from "../../support/scratch_directory.ts";
import { until } from "../../support/until.ts";

const READ_ONLY = "Read-only file system (os error 30)";
const BEFORE = ["esc", "escd", "in.txt", "sub"];

function makeDirectory(files: FileSystem, path: string, options: object = {}): Promise<void> {
  return files.createDirectory({ path, recursive: true, followSymlinks: true, ...options });
}

function rename(files: FileSystem, sourcePath: string, destinationPath: string, overwrite = true): Promise<void> {
  return files.rename({ sourcePath, destinationPath, overwrite });
}

/** Everything that could make something at a place, or below it. `ws` holds `in.txt`, `sub`, and `link` to the place. */
function attempts(files: FileSystem, ws: string, place: string): Record<string, () => Promise<unknown>> {
  return {
    "make a directory": () => makeDirectory(files, place, { recursive: false }),
    "make a directory with parents": () => makeDirectory(files, place),
    "make a directory without links": () => makeDirectory(files, place, { followSymlinks: false }),
    "make a directory below": () => makeDirectory(files, `${place}/hooks/deep`),
    "write": () => write(files, place, "x"),
    "write atomically": () => write(files, place, "x", { atomic: true }),
    "write below": () => write(files, `${place}/config`, "x"),
    "write atomically below": () => write(files, `${place}/config`, "x", { atomic: true }),
    "open": () => files.open({ path: place, mode: "replace", followSymlinks: true }),
    "open below": () => files.open({ path: `${place}/config`, mode: "replace", followSymlinks: true }),
    "rename a file onto it": () => rename(files, `${ws}/in.txt`, place),
    "rename a directory onto it": () => rename(files, `${ws}/sub`, place),
    "rename to it": () => rename(files, `${ws}/sub`, place, false),
    "rename into it": () => rename(files, `${ws}/in.txt`, `${place}/in.txt`),
    "make a link": () => files.symlink({ path: place, target: "sub" }),
    "make a link below": () => files.symlink({ path: `${place}/hooks`, target: "../sub" }),
    "copy a file": () => copy(files, `${ws}/in.txt`, place),
    "copy a directory": () => copy(files, `${ws}/sub`, place),
    "copy into it": () => copy(files, `${ws}/in.txt`, `${place}/in.txt`),
    "change its mode": () => files.chmod({ path: place, mode: 0o777, followSymlinks: true }),
  };
}

for (const [policy, name] of [["read /, write ws", ".git"], ["read /, write ws, deny ws/later", "later"]] as const) {
  sandboxTest(`a missing ${name} that may not be made is refused as read-only, and nothing is left`, async () => {
    await using sandboxed = await SandboxedFiles.open({ briefIdleMs: 0 });
    const ws = `${sandboxed.host.root}/ws`;
    const files = await sandboxed.under(policy);
    for (const [attempt, work] of Object.entries(attempts(files, ws, `${ws}/${name}`))) {
      await assertFails(
        work().catch((error) => Promise.reject(Object.assign(error, { attempt }))),
        "internal",
        READ_ONLY,
      );
    }
    await until(() => namesIn(ws).length === BEFORE.length, () => namesIn(ws).join(" "));
    assert.deepEqual(namesIn(ws), BEFORE);
    assert.deepEqual(namesIn(`${ws}/sub`), []);
  });
}

sandboxTest("links lead no further: nothing is made behind one", async () => {
  await using sandboxed = await SandboxedFiles.open({ briefIdleMs: 0 });
  const ws = `${sandboxed.host.root}/ws`;
  const files = await sandboxed.under("read /, write ws");
  await files.symlink({ path: `${ws}/link`, target: ".git" });
  for (
    const attempt of [
      () => makeDirectory(files, `${ws}/link`),
      () => makeDirectory(files, `${ws}/link/hooks`),
      () => write(files, `${ws}/link/config`, "x"),
      () => files.symlink({ path: `${ws}/link/hooks`, target: "../sub" }),
    ]
  ) await assertFails(attempt(), "internal", READ_ONLY);
  await assert.rejects(write(files, `${ws}/link`, "x"));
  await until(() => !namesIn(ws).includes(".git"), () => namesIn(ws).join(" "));
  assert.deepEqual(namesIn(ws), [...BEFORE.slice(0, 3), "link", "sub"]);
});

sandboxTest("inside its sandbox a missing .git is missing", async () => {
  await using sandboxed = await SandboxedFiles.open();
  const ws = `${sandboxed.host.root}/ws`;
  const files = await sandboxed.under(`write ws, read /usr`);
  await write(files, `${ws}/a`, "");
  for (
    const look of [
      () => metadata(files, `${ws}/.git`),
      () => metadata(files, `${ws}/.git`, false),
      () => files.readDirectory(`${ws}/.git`),
      () => files.canonicalize(`${ws}/.git`),
      () => remove(files, `${ws}/.git`, { force: false }),
      () => rename(files, `${ws}/.git`, `${ws}/taken`),
      () => copy(files, `${ws}/.git`, `${ws}/taken`),
    ]
  ) await assertFails(look(), "notFound", NOT_FOUND);
  await remove(files, `${ws}/.git`);
});

sandboxTest("what a denied place holds when it is read is not revealed", async () => {
  await using sandboxed = await SandboxedFiles.open();
  const ws = `${sandboxed.host.root}/ws`;
  const files = await sandboxed.under("read /, write ws, deny ws/later");
  await write(files, `${ws}/a`, "");
  await Deno.writeTextFile(`${ws}/later`, "secret");
  await assertFails(read(files, `${ws}/later`), "invalidRequest", "Permission denied (os error 13)");
});

/** A placeholder as a running sandbox has it. */
async function withPlaceholder(test: (directory: string, release: () => void) => Promise<void>): Promise<void> {
  await inScratchDirectory(async (directory) => {
    const missing = { path: `${directory}/.git`, placeholder: "directory", isHidden: false } as const;
    const claim = new RealPlaceholderFiles().claim(missing);
    if (typeof claim === "string") assert.fail(claim);
    await test(directory, () => claim.release());
  });
}

Deno.test("outside of its sandbox a placeholder counts as missing, too, and is not removed", () =>
  withPlaceholder(async (directory, release) => {
    const files = createDirectFileSystem();
    await Deno.symlink(".git", `${directory}/link`);
    for (const path of [`${directory}/.git`, `${directory}/link`]) {
      await assertFails(metadata(files, path), "notFound", NOT_FOUND);
      await assertFails(files.canonicalize(path), "notFound", NOT_FOUND);
    }
    await assertFails(files.readDirectory(`${directory}/.git`), "notFound", NOT_FOUND);
    await assertFails(rename(files, `${directory}/.git`, `${directory}/taken`), "notFound", NOT_FOUND);
    for (const options of [{}, { recursive: false }, { recursive: false, followSymlinks: false }]) {
      await remove(files, `${directory}/.git`, options);
      await assertFails(remove(files, `${directory}/.git`, { ...options, force: false }), "notFound", NOT_FOUND);
    }
    assert.ok(looksLikePlaceholder(Deno.lstatSync(`${directory}/.git`)));
    release();
    assert.deepEqual(namesIn(directory), ["link"]);
  }));

for (
  const [claim, make] of [
    ["made there", (files, path) => makeDirectory(files, path, { recursive: false })],
    ["made there with parents", (files, path) => makeDirectory(files, path)],
    ["made there without links", (files, path) => makeDirectory(files, path, { followSymlinks: false })],
    ["copied there", async (files, path) => {
      await Deno.mkdir(`${path}-source`);
      await copy(files, `${path}-source`, path);
    }],
  ] as [string, (files: FileSystem, path: string) => Promise<void>][]
) {
  Deno.test(`outside of its sandbox a directory ${claim} stays when the sandbox ends`, () =>
    withPlaceholder(async (directory, release) => {
      const files = createDirectFileSystem();
      await make(files, `${directory}/.git`);
      assert.equal((await metadata(files, `${directory}/.git`)).isDirectory, true);
      release();
      assert.ok(namesIn(directory).includes(".git"));
      assert.equal((Deno.statSync(`${directory}/.git`).mode ?? 0) & 0o1000, 0);
    }));
}

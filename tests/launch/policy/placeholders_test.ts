import assert from "node:assert/strict";
import { DomainError } from "../../../src/errors.ts";
import { RealPlaceholderFiles } from "../../../src/launch/policy/placeholder_files.ts";
import {
  holdPlaceholders,
  looksLikePlaceholder,
  PathAppearedError,
  type PlaceholderFiles,
} from "../../../src/launch/policy/placeholders.ts";
import type { MissingPath } from "../../../src/launch/policy/policy.ts";
import { sandboxTest } from "../sandboxed.ts";

const directory = (path: string): MissingPath => ({ path, placeholder: "directory", isHidden: false });
const file = (path: string): MissingPath => ({ path, placeholder: "file", isHidden: false });

type Answer = ReturnType<PlaceholderFiles["claim"]>;

/** Answers per path, in order; remembers what is held. */
class FakeFiles implements PlaceholderFiles {
  readonly held: string[] = [];
  readonly #answers: Record<string, ("claim" | Exclude<Answer, object>)[]>;

  constructor(answers: Record<string, ("claim" | Exclude<Answer, object>)[]>) {
    this.#answers = answers;
  }

  claim({ path }: MissingPath): Answer {
    const answer = this.#answers[path]?.shift() ?? "busy";
    if (answer !== "claim") return answer;
    this.held.push(path);
    return { release: () => void this.held.splice(this.held.indexOf(path), 1) };
  }
}

Deno.test("holdPlaceholders() holds all until they are released", () => {
  const files = new FakeFiles({ "/a": ["claim"], "/b": ["busy", "busy", "claim"], "/c": ["unneeded"] });
  const lease = holdPlaceholders([directory("/a"), directory("/b"), file("/c")], files);
  assert.deepEqual(files.held, ["/a", "/b"]);
  assert.deepEqual(lease.held, [directory("/a"), directory("/b")]);
  lease.release();
  lease.release();
  assert.deepEqual(files.held, []);
});

Deno.test("holdPlaceholders() holds none if one cannot be made", () => {
  const appeared = new FakeFiles({ "/a": ["claim"], "/b": ["occupied"] });
  assert.throws(() => holdPlaceholders([directory("/a"), directory("/b")], appeared), PathAppearedError);
  assert.deepEqual(appeared.held, []);
  const stuck = new FakeFiles({ "/a": ["claim"] });
  assert.throws(() => holdPlaceholders([directory("/a"), directory("/b")], stuck), DomainError);
  assert.deepEqual(stuck.held, []);
});

function onDisk(name: string, fn: (root: string, claims: RealPlaceholderFiles) => Promise<void> | void): void {
  Deno.test({
    name,
    ignore: Deno.build.os !== "linux",
    async fn() {
      const root = await Deno.realPath(await Deno.makeTempDir());
      try {
        await fn(root, new RealPlaceholderFiles());
      } finally {
        await Deno.remove(root, { recursive: true });
      }
    },
  });
}

const names = (root: string) => [...Deno.readDirSync(root)].map(({ name }) => name).sort();

function claimed(files: PlaceholderFiles, missing: MissingPath) {
  const claim = files.claim(missing);
  assert.ok(typeof claim === "object", String(claim));
  return claim;
}

onDisk("a placeholder is there while anyone holds it, and gone afterwards", (root, files) => {
  for (const missing of [directory(`${root}/.git`), file(`${root}/.env`)]) {
    const first = claimed(files, missing);
    const info = Deno.lstatSync(missing.path);
    assert.ok(looksLikePlaceholder(info));
    assert.equal(info.isDirectory, missing.placeholder === "directory");
    const second = claimed(files, missing);
    first.release();
    assert.equal(names(root).length, 1);
    second.release();
    assert.deepEqual(names(root), []);
  }
});

onDisk("what is not a placeholder is left alone", (root, files) => {
  Deno.mkdirSync(`${root}/.git`);
  Deno.writeTextFileSync(`${root}/.env`, "");
  Deno.symlinkSync("elsewhere", `${root}/link`);
  for (
    const missing of [directory(`${root}/.git`), file(`${root}/.env`), directory(`${root}/link`), file(`${root}/link`)]
  ) {
    assert.equal(files.claim(missing), "occupied");
  }
  assert.deepEqual(names(root), [".env", ".git", "link"]);
  assert.equal(files.claim(directory(`${root}/gone/.git`)), "occupied");
});

onDisk("files that others put into a placeholder, or in its place, stay", (root, files) => {
  const filled = claimed(files, directory(`${root}/.git`));
  Deno.mkdirSync(`${root}/.git/hooks`);
  filled.release();
  assert.deepEqual(names(`${root}/.git`), ["hooks"]);

  const written = claimed(files, file(`${root}/.npmrc`));
  Deno.writeTextFileSync(`${root}/.npmrc`, "token");
  written.release();
  assert.equal(Deno.readTextFileSync(`${root}/.npmrc`), "token");

  const replaced = claimed(files, file(`${root}/.env`));
  Deno.removeSync(`${root}/.env`);
  Deno.writeTextFileSync(`${root}/.env`, "SECRET=1");
  replaced.release();
  assert.equal(Deno.readTextFileSync(`${root}/.env`), "SECRET=1");
});

onDisk("nothing is made or removed through a link that was put in the parent's place", (root, files) => {
  Deno.mkdirSync(`${root}/ws`);
  Deno.mkdirSync(`${root}/victim/.git`, { recursive: true });
  Deno.chmodSync(`${root}/victim/.git`, 0o1755);
  const held = claimed(files, directory(`${root}/ws/.git`));
  Deno.renameSync(`${root}/ws`, `${root}/moved`);
  Deno.symlinkSync("victim", `${root}/ws`);
  assert.equal(files.claim(directory(`${root}/ws/.codex`)), "occupied");
  held.release();
  assert.deepEqual(names(`${root}/victim`), [".git"]);
  assert.deepEqual(names(`${root}/moved`), []);
});

onDisk("placeholders of a server that died are taken over, and then removed", (root, files) => {
  Deno.mkdirSync(`${root}/.git`);
  Deno.chmodSync(`${root}/.git`, 0o1755);
  claimed(files, directory(`${root}/.git`)).release();
  assert.deepEqual(names(root), []);
});

onDisk("another server's placeholder stays until that server ends", async (root, files) => {
  const module = new URL("../../../src/launch/policy/placeholder_files.ts", import.meta.url).href;
  const code = `const { RealPlaceholderFiles } = await import(${JSON.stringify(module)});
    new RealPlaceholderFiles().claim({ path: ${JSON.stringify(`${root}/.git`)}, placeholder: "directory" });
    console.log("held");
    await new Promise((resolve) => setTimeout(resolve, 60_000));`;
  const other = new Deno.Command(Deno.execPath(), {
    args: ["eval", "--no-lock", code],
    stdout: "piped",
    cwd: new URL("../../..", import.meta.url).pathname,
  }).spawn();
  const reader = other.stdout.getReader();
  assert.equal(new TextDecoder().decode((await reader.read()).value).trim(), "held");
  claimed(files, directory(`${root}/.git`)).release();
  assert.deepEqual(names(root), [".git"]);
  other.kill("SIGKILL");
  await other.status;
  await reader.cancel();
  assert.deepEqual(names(root), [".git"]);
  claimed(files, directory(`${root}/.git`)).release();
  assert.deepEqual(names(root), []);
});

onDisk("claims and releases that race leave nothing behind", async (root, files) => {
  const missing = directory(`${root}/.git`);
  await Promise.all(Array.from({ length: 50 }, async (_, index) => {
    for (let round = 0; round < 10; round++) {
      const lease = holdPlaceholders([missing], files);
      assert.deepEqual(names(root), [".git"]);
      await new Promise((resolve) => setTimeout(resolve, index % 3));
      lease.release();
    }
  }));
  assert.deepEqual(names(root), []);
});

sandboxTest("sandboxes with the same missing paths share their placeholders", async (box) => {
  const policy = "read /, write ws, deny ws/later";
  const names = () => [...Deno.readDirSync(`${box.root}/ws`)].map(({ name }) => name);
  const long = await box.start(policy, "echo up; read line; mkdir ws/.git; echo $?; touch ws/later/x; echo $?", {
    stdin: "open",
  });
  await long.seen("up");
  assert.ok(names().includes(".git"));
  // Others come and go meanwhile; the policy of each sees the place as missing, and holds it as well.
  await Promise.all(Array.from({ length: 6 }, async () => {
    const { code } = await box.run(policy, "mkdir ws/.git");
    assert.equal(code, 1);
  }));
  assert.ok(names().includes(".git") && names().includes("later"));
  long.write("go\n");
  const { stdout, stderr } = await long.finished();
  assert.equal(stdout, "up\n1\n1\n");
  assert.match(stderr, /\.git.*File exists/);
  assert.deepEqual(names().filter((name) => name.startsWith(".") || name === "later"), []);
});

sandboxTest("many sandboxes at once leave nothing behind", async (box) => {
  const before = box.snapshot();
  await Promise.all(Array.from({ length: 16 }, async (_, index) => {
    const { code } = await box.run("read /, write ws, write two", `test -d ws/.git && ! touch ws/.git/${index}`);
    assert.equal(code, 0);
  }));
  assert.deepEqual(box.snapshot(), before);
});

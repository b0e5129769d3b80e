/** Real helpers: what they do with input that is not a request, and how they end. */

import assert from "node:assert/strict";
import { encodeHelperFrame } from "../../../src/fs/confined/helper_frames.ts";
import { helperProgram } from "../../../src/fs/confined/helper_program.ts";
import { eventually } from "../../support/recorded_child.ts";
import { namesIn, sandboxTest } from "../../support/sandbox_host.ts";
import { SandboxedFiles } from "../../support/sandboxed_files.ts";
import { encode, read, write } from "../../contract/file_system/harness.ts";

const { program, argv, env } = helperProgram(Deno.env.toObject());

/** The mode itself, without a sandbox around it. */
function startMode(): Deno.ChildProcess {
  const options = {
    args: argv.slice(1),
    env,
    clearEnv: true,
    stdin: "piped",
    stdout: "piped",
    stderr: "piped",
  } as const;
  return new Deno.Command(program, options).spawn();
}

Deno.test("the helper mode ends cleanly when its input does", async () => {
  const helper = startMode();
  await helper.stdin.close();
  const { code, stderr } = await helper.output();
  assert.deepEqual([code, new TextDecoder().decode(stderr)], [0, ""]);
});

Deno.test("the helper mode ends at once over garbage, and over a frame of a gigabyte", async () => {
  const huge = new Uint8Array(8);
  new DataView(huge.buffer).setUint32(0, 2, true);
  new DataView(huge.buffer).setUint32(4, 2 ** 30, true);
  for (const bytes of [encode("GET / HTTP/1.1\r\n\r\n"), huge, encodeHelperFrame({ id: 1, operation: "exec" })[0]!]) {
    const helper = startMode();
    const writer = helper.stdin.getWriter();
    await writer.write(bytes);
    const { code, stderr } = await helper.output();
    assert.equal(code, 65);
    assert.match(new TextDecoder().decode(stderr), /^exec-server fs-helper: a (frame|request)/);
    await writer.close().catch(() => {}); // Broken by its end.
  }
});

/** Pids of everything below a pid, by looking at all processes. */
function descendants(pid: number): number[] {
  const children = namesIn("/proc").filter((name) => /^\d+$/.test(name)).map(Number).filter((candidate) => {
    try {
      return Deno.readTextFileSync(`/proc/${candidate}/stat`).split(") ")[1]?.split(" ")[1] === String(pid);
    } catch {
      return false; // Gone meanwhile.
    }
  });
  return children.flatMap((child) => [child, ...descendants(child)]);
}

/** The helpers of this test, inside all that is around them: other tests have theirs, with other mounts. */
function helperPids(root: string): number[] {
  return descendants(Deno.pid).filter((pid) => {
    try {
      return Deno.readTextFileSync(`/proc/${pid}/cmdline`).startsWith(program) &&
        Deno.readTextFileSync(`/proc/${pid}/cmdline`).includes("fs-helper") &&
        Deno.readTextFileSync(`/proc/${pid}/mountinfo`).includes(root);
    } catch {
      return false; // Gone meanwhile.
    }
  });
}

sandboxTest("a file is closed whose helper did not answer before its backend closed", async () => {
  await using sandboxed = await SandboxedFiles.open();
  const files = await sandboxed.byHelper("read /, write ws");
  const path = `${sandboxed.host.root}/ws/in.txt`;
  const file = await files.open({ path, mode: "read", followSymlinks: true });
  // It takes no request any more.
  for (const pid of helperPids(sandboxed.host.root)) Deno.kill(pid, "SIGSTOP");
  let isClosed = false;
  const closed = file.close().then(() => isClosed = true);
  await sandboxed.host.backend.close({ graceMs: 0 });
  await new Promise((resolve) => setImmediate(resolve));
  assert.ok(isClosed, "it waits for a helper that is no more");
  await closed;
});

sandboxTest("a helper sees PATH, the temporary directories, and nothing else of the server's environment", async () => {
  await using sandboxed = await SandboxedFiles.open();
  const files = await sandboxed.under("read /, write ws");
  const text = await read(files, "/proc/self/environ");
  const names = text.split("\0").filter((entry) => entry !== "").map((entry) => entry.split("=")[0]!);
  const allowed = ["PATH", "TMPDIR", "TMP", "TEMP", ...(Deno.build.standalone ? [] : ["DENO_DIR"]), "PWD"];
  assert.deepEqual(names.filter((name) => !allowed.includes(name)), []);
});

sandboxTest("a helper that is killed is replaced, and reading goes on", async () => {
  await using sandboxed = await SandboxedFiles.open();
  const { root } = sandboxed.host;
  const files = await sandboxed.under("read ws");
  assert.equal(await read(files, `${root}/ws/in.txt`), "in");
  const [pid] = helperPids(root);
  Deno.kill(pid!, "SIGKILL");
  await eventually("the helper is gone", () => helperPids(root).length === 0);
  assert.equal(await read(files, `${root}/ws/in.txt`), "in");
});

sandboxTest("a write under way when its helper is killed is answered, and not done again", async () => {
  await using sandboxed = await SandboxedFiles.open();
  const { root } = sandboxed.host;
  const files = await sandboxed.under("read /, write ws");
  await write(files, `${root}/ws/new`, "first");
  const [pid] = helperPids(root);
  Deno.kill(pid!, "SIGSTOP");
  const writing = write(files, `${root}/ws/new`, "second");
  Deno.kill(pid!, "SIGKILL");
  await assert.rejects(writing, { kind: "internal", message: /writeFile.*outcome is unknown/ });
  assert.equal(Deno.readTextFileSync(`${root}/ws/new`), "first");
  await write(files, `${root}/ws/new`, "third");
  assert.equal(Deno.readTextFileSync(`${root}/ws/new`), "third");
});

sandboxTest("helpers end with their pool, and leave no placeholder behind", async () => {
  const sandboxed = await SandboxedFiles.open();
  const { root } = sandboxed.host;
  await write(await sandboxed.under("read /, write ws"), `${root}/ws/new`, "x");
  assert.equal(helperPids(root).length, 1);
  sandboxed.pool.close();
  await eventually("the helper is gone", () => helperPids(root).length === 0);
  await eventually("placeholders are gone", () => !namesIn(`${root}/ws`).includes(".git"));
  await sandboxed[Symbol.asyncDispose]();
});

sandboxTest("with restricted reading a helper runs, and sees what is granted and what it needs to run", async () => {
  await using sandboxed = await SandboxedFiles.open();
  const { root } = sandboxed.host;
  const files = await sandboxed.under("read ws");
  assert.equal(await read(files, `${root}/ws/in.txt`), "in");
  for (
    const path of [`${root}/out/o.txt`, `${root}/ws/esc`, "/etc/passwd", "/etc/hostname", "/var/log", "/boot"]
  ) {
    await assert.rejects(read(files, path), { kind: "notFound" }, path);
  }
});

sandboxTest("a root that is deleted and made anew is worked on as it is now", async () => {
  await using sandboxed = await SandboxedFiles.open();
  const { root } = sandboxed.host;
  await write(await sandboxed.under("read /, write ws"), `${root}/ws/new`, "x");
  await Deno.rename(`${root}/ws`, `${root}/old`);
  await Deno.mkdir(`${root}/ws`);
  await write(await sandboxed.under("read /, write ws"), `${root}/ws/new`, "y");
  assert.equal(Deno.readTextFileSync(`${root}/ws/new`), "y");
  assert.equal(Deno.readTextFileSync(`${root}/old/new`), "x");
});

/** How each comes to be, and where it holds what is not to be seen. */
const SECRETS: Record<string, (path: string) => Promise<string>> = {
  directory: async (path) => {
    await Deno.mkdir(path);
    await Deno.writeTextFile(`${path}/inner`, "hidden");
    return `${path}/inner`;
  },
  file: async (path) => {
    await Deno.writeTextFile(path, "hidden");
    return path;
  },
};

for (const [type, make] of Object.entries(SECRETS)) {
  sandboxTest(
    `a denied ${type} that is deleted and made anew stays denied, even where it has its old inode number`,
    async () => {
      await using sandboxed = await SandboxedFiles.open();
      const secret = `${sandboxed.host.root}/secret`;
      // Several times: a filesystem may hand out the number again or not. ext4 does at once.
      for (let round = 0; round < 4; round++) {
        const hidden = await make(secret);
        const files = await sandboxed.under("read /, deny secret");
        await assert.rejects(read(files, hidden), /Permission denied/, `round ${round}`);
        await Deno.remove(secret, { recursive: true });
      }
    },
  );
}

sandboxTest("a denied file stays denied when another name of it takes the place of the first", async () => {
  await using sandboxed = await SandboxedFiles.open();
  const { root } = sandboxed.host;
  await Deno.writeTextFile(`${root}/key`, "hidden");
  const readKey = async () => await read(await sandboxed.under("read /, deny key"), `${root}/key`);
  await assert.rejects(readKey(), /Permission denied/);
  await Deno.link(`${root}/key`, `${root}/other`);
  await Deno.remove(`${root}/key`);
  await Deno.rename(`${root}/other`, `${root}/key`);
  await assert.rejects(readKey(), /Permission denied/);
});

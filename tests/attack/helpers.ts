/** Attacks on the confined file helpers themselves: with input that is not a request, by killing them, by speaking for them. */

import assert from "node:assert/strict";
import { encodeHelperFrame } from "../../src/fs/confined/helper_frames.ts";
import type { FileSystem } from "../../src/fs/file_system.ts";
import type { SpawnRequest } from "../../src/process/backend.ts";
import { HELPER_MODE, helperProgram } from "../../src/fs/confined/helper_program.ts";
import { concatBytes } from "../../src/bytes.ts";
import { encode, pattern, read, write } from "../contract/file_system/harness.ts";
import { listProcesses } from "../support/proc.ts";
import { command, eventually, PIPES_WITH_INPUT, RecordedChild } from "../support/recorded_child.ts";
import { namesIn } from "../support/sandbox_host.ts";
import { attack, type AttackScene, NO_WRITABLE_DIRECTORY } from "./scene.ts";

const PROGRAM = helperProgram(Deno.env.toObject());
const EXIT_GARBAGE = 65;

/** Starts a helper, confined or not, and sends it this and nothing more. */
async function feed(scene: AttackScene, bytes: Uint8Array<ArrayBuffer>, isConfined = true): Promise<RecordedChild> {
  const { program, argv, env, needs } = PROGRAM;
  const request: SpawnRequest = command(argv, { env, io: PIPES_WITH_INPUT });
  const { service, backend } = scene.host;
  const files = await service.filePolicy(scene.host.sandbox(scene.policy), needs);
  assert.ok(files !== "unrestricted");
  const prepare = () => service.prepareOwn({ program, argv, env, cwd: "/" }, files);
  const child = await RecordedChild.start(backend, isConfined ? { ...request, confinement: { prepare } } : request);
  await child.process.write(bytes);
  child.process.closeInput();
  await child.exit;
  await child.end;
  child.process.dispose();
  return child;
}

function writeRequest(path: string, text: string, fields: object = {}): Uint8Array<ArrayBuffer> {
  const params = { path, followSymlinks: true, atomic: false, breakHardLinks: false, ifMatch: null, mode: null };
  const head = { id: 1, operation: "writeFile", params, ...fields };
  return concatBytes(encodeHelperFrame(head, encode(text)));
}

/** The two lengths a frame begins with. */
function prefix(headBytes: number, bodyBytes: number): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(8);
  new DataView(bytes.buffer).setUint32(0, headBytes, true);
  new DataView(bytes.buffer).setUint32(4, bodyBytes, true);
  return bytes;
}

attack("a helper fed garbage, or a frame of a gigabyte, ends at once and has done nothing", async (scene) => {
  const GIGABYTE = 2 ** 30;
  const path = `${scene.ws}/in.txt`;
  const garbage: Uint8Array<ArrayBuffer>[] = [
    encode("GET / HTTP/1.1\r\n\r\n"),
    prefix(2, GIGABYTE),
    prefix(GIGABYTE, 2),
    prefix(0, 0),
    concatBytes([prefix(9, 0), encode("not JSON!")]),
    concatBytes([prefix(4, 0), encode("null")]),
    concatBytes(encodeHelperFrame({ id: 1, operation: "exec", params: { argv: ["sh"] } })),
    writeRequest(path, "x", { id: -1 }),
    writeRequest(path, "x", { id: "1" }),
    crypto.getRandomValues(new Uint8Array(4096)),
  ];
  for (const bytes of garbage) {
    const child = await feed(scene, bytes);
    assert.deepEqual(await child.exit, { type: "exited", code: EXIT_GARBAGE }, child.text("stderr"));
    assert.match(child.text("stderr"), /^exec-server fs-helper: a (frame|request)/);
  }
  assert.equal(Deno.readTextFileSync(path), "in");
  // A frame that has begun and does not end is none.
  const cut = await feed(scene, writeRequest(path, "x").subarray(0, -1));
  assert.deepEqual([await cut.exit, Deno.readTextFileSync(path)], [{ type: "exited", code: 0 }, "in"]);
  // The same way in, with a request that makes sense.
  await feed(scene, writeRequest(path, "written"));
  assert.equal(Deno.readTextFileSync(path), "written");
});

attack("a helper that is asked for more than the policy grants is refused by the kernel", async (scene) => {
  const { out } = await scene.copy();
  const paths = (out: string) => [`${out}/o.txt`, `${out}/new`, `/proc/self/root${out}/o.txt`];
  for (const path of paths(out)) {
    const free = await feed(scene, writeRequest(path, "x"), false);
    assert.match(free.text("stdout"), /"id":1,"type":"done"/, path);
  }
  for (const path of paths(scene.out)) {
    const confined = await feed(scene, writeRequest(path, "x"));
    assert.match(confined.text("stdout"), /"id":1,"type":"failed"/, path);
  }
});

/** The helper of this attack, as the host knows it. Other tests of this process may have helpers, too. */
async function helperPid(scene: AttackScene, files: FileSystem): Promise<number> {
  // Without a namespace of its own it knows its number. With one it is known by the mounts around it.
  if (scene.backend === "landlock") return Number((await read(files, "/proc/self/stat")).split(" ")[0]);
  const found = listProcesses().filter(({ commandLine }) =>
    commandLine.startsWith(PROGRAM.program) && commandLine.endsWith(HELPER_MODE)
  ).filter(({ pid }) => mountsOf(pid).includes(scene.host.root));
  assert.equal(found.length, 1);
  return found[0]!.pid;
}

function mountsOf(pid: number): string {
  try {
    return Deno.readTextFileSync(`/proc/${pid}/mountinfo`);
  } catch {
    return ""; // Gone meanwhile.
  }
}

function isAlive(pid: number): boolean {
  return listProcesses().some((process) => process.pid === pid && process.state !== "Z");
}

attack("a write whose helper is killed is answered as unknown and never repeated", async (scene) => {
  const path = `${scene.ws}/in.txt`;
  const files = await scene.files();
  await write(files, path, "first");
  const pid = await helperPid(scene, files);
  Deno.kill(pid, "SIGSTOP");
  const writing = write(files, path, "second");
  Deno.kill(pid, "SIGKILL");
  await assert.rejects(writing, { kind: "internal", message: /writeFile.*outcome is unknown/ });
  assert.equal(Deno.readTextFileSync(path), "first");
  await write(files, path, "third");
  assert.equal(Deno.readTextFileSync(path), "third");
});

attack(
  "a helper killed in the middle of a stream leaves what it had written, and the stream says so",
  async (scene) => {
    const path = `${scene.ws}/in.txt`;
    const files = await scene.files();
    const file = await files.open({ path, mode: "replace", followSymlinks: true });
    const block = pattern(512 * 1024);
    await file.writeBlock(0, block);
    Deno.kill(await helperPid(scene, files), "SIGKILL");
    await assert.rejects(file.writeBlock(block.length, block), { kind: "internal", message: /outcome is unknown/ });
    await file.close();
    assert.deepEqual(Deno.readFileSync(path), block);
  },
);

attack(
  "a helper killed in the middle of an atomic write leaves the file as it was, or as it was to be",
  async (scene) => {
    const path = `${scene.ws}/in.txt`;
    const before = namesIn(scene.ws);
    const files = await scene.files();
    const contents = new Set(["in"]);
    for (let round = 0; round < 5; round++) {
      await read(files, "/proc/self/comm");
      const pid = await helperPid(scene, files);
      const text = `${round}`.repeat(8 * 1024 * 1024);
      contents.add(text);
      const writing = write(files, path, text, { atomic: true }).then(() => "done", () => "unknown");
      // At another moment of its work each time.
      await new Promise((resolve) => setTimeout(resolve, round * 5));
      Deno.kill(pid, "SIGKILL");
      await writing;
      assert.ok(contents.has(Deno.readTextFileSync(path)), "neither old nor new");
      await eventually("the helper is gone", () => !isAlive(pid));
    }
    scene.sandboxed.pool.close();
    await eventually("placeholders are gone", () => !namesIn(scene.ws).includes(".git"));
    // Who is killed cannot clean up: a temporary file of its own may be left.
    assert.deepEqual(namesIn(scene.ws).filter((name) => !/^\.exec-server-.*\.tmp$/.test(name)), before);
  },
  { not: NO_WRITABLE_DIRECTORY },
);

attack("no program inside a sandbox can write to a helper's connection or read from it", async (scene) => {
  const path = `${scene.ws}/in.txt`;
  const files = await scene.files();
  await write(files, path, "a helper runs");
  const pid = await helperPid(scene, files);
  // Opened and left alone: a word more would end the helper.
  const scripts = [
    `: >> /proc/${pid}/fd/1`,
    `: < /proc/${pid}/fd/0`,
    `: >> /proc/${pid}/fd/0`,
    `readlink /proc/${pid}/fd/1`,
  ];
  for (const script of scripts) {
    assert.equal((await scene.run(script, { sandbox: null })).code, 0, `without a sandbox: ${script}`);
    assert.notEqual((await scene.run(script)).code, 0, script);
  }
  // With a process namespace of its own a helper cannot even be found.
  const search = await scene.run("cat /proc/[0-9]*/cmdline | tr '\\0' ' ' | grep -c 'fs-hel[p]er'");
  if (scene.backend === "bubblewrap") assert.equal(search.stdout, "0\n");
  await write(files, path, "it still does");
  assert.equal(await helperPid(scene, files), pid);
});

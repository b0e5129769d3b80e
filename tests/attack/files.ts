/** Attacks by way of the filesystem methods: through a helper that is as confined as the policy says. */

import assert from "node:assert/strict";
import { read, write } from "../contract/file_system/harness.ts";
import { LinkSwapper } from "../support/link_swapper.ts";
import { attack, type AttackScene, REFUSED } from "./scene.ts";

const workspace = (scene: AttackScene) => scene.sandboxed.under("read /, write ws");

async function refused(attempt: Promise<unknown>): Promise<void> {
  await assert.rejects(attempt, { name: /Error$/, message: REFUSED });
}

attack("forty writes at once, on whichever threads, reach nothing outside", async (scene) => {
  const files = await workspace(scene);
  await write(files, `${scene.ws}/first`, "a helper runs");
  const attempts = Array.from(
    { length: 40 },
    (_, index) => write(files, `${scene.out}/n${index}`, "x".repeat(200_000)),
  );
  const outcomes = await Promise.allSettled(attempts);
  assert.deepEqual(outcomes.map(({ status }) => status), Array.from({ length: 40 }, () => "rejected"));
});

attack("every thread of a helper has given up new privileges and has the filter", async (scene) => {
  const files = await workspace(scene);
  await write(files, `${scene.ws}/first`, "a helper runs");
  const tasks = await files.readDirectory("/proc/self/task");
  assert.ok(tasks.length > 1);
  for (const { fileName } of tasks) {
    const status = await read(files, `/proc/self/task/${fileName}/status`);
    assert.match(status, /NoNewPrivs:\t1\n/);
    assert.match(status, /Seccomp:\t2\n/);
    assert.match(status, /CapEff:\t0000000000000000\n/);
  }
});

attack("links, directory links and dots lead nowhere", async (scene) => {
  const files = await workspace(scene);
  await Deno.symlink(scene.out, `${scene.ws}/absolute`);
  for (
    const path of [
      `${scene.ws}/esc`,
      `${scene.ws}/escd/new`,
      `${scene.ws}/absolute/o.txt`,
      `${scene.ws}/../out/new`,
      `${scene.ws}/sub/../../out/o.txt`,
    ]
  ) {
    await refused(write(files, path, "x"));
    await refused(write(files, path, "x", { atomic: true }));
  }
  await refused(files.createDirectory({ path: `${scene.ws}/escd/d`, recursive: true, followSymlinks: true }));
  await refused(files.remove({ path: `${scene.ws}/escd/o.txt`, recursive: true, force: true, followSymlinks: true }));
  await refused(files.copy({ sourcePath: `${scene.ws}/in.txt`, destinationPath: `${scene.out}/c`, recursive: false }));
  const moves = [[`${scene.ws}/in.txt`, `${scene.out}/m`], [`${scene.out}/o.txt`, `${scene.ws}/m`]] as const;
  for (const [sourcePath, destinationPath] of moves) {
    await refused(files.rename({ sourcePath, destinationPath, overwrite: true }));
  }
});

attack("modes outside stay as they are", async (scene) => {
  const files = await workspace(scene);
  for (const path of [`${scene.out}/o.txt`, `${scene.ws}/esc`, scene.out]) {
    await refused(files.chmod({ path, mode: 0o777, followSymlinks: true }));
  }
});

attack("the ways through /proc lead to the sandbox's own", async (scene) => {
  const files = await workspace(scene);
  for (
    const path of [
      `/proc/${Deno.pid}/root${scene.out}/new`,
      `/proc/${Deno.pid}/cwd/new`,
      `/proc/1/root${scene.out}/o.txt`,
      `/proc/self/root${scene.out}/o.txt`,
      `/proc/self/cwd${scene.out}/o.txt`,
    ]
  ) {
    await refused(write(files, path, "x"));
  }
  // Whatever is under these numbers inside, it is no descriptor of a file outside.
  for (let fd = 0; fd < 40; fd++) await write(files, `/proc/self/fd/${fd}`, "").catch(() => {});
  await refused(read(files, `/proc/${Deno.pid}/environ`));
});

attack("a read-only policy reads no environment of the server, by whichever link", async (scene) => {
  const files = await scene.sandboxed.under("read /");
  await Deno.symlink("/proc/self/environ", `${scene.ws}/env`);
  await Deno.symlink("/proc", `${scene.ws}/procs`);
  const own = Deno.readTextFileSync("/proc/self/environ");
  for (const path of ["/proc/self/environ", `${scene.ws}/env`, `${scene.ws}/procs/self/environ`]) {
    assert.notEqual(await read(files, path), own);
  }
  await refused(read(files, `${scene.ws}/procs/${Deno.pid}/environ`));
});

attack("a directory swapped for a link while it is written to leads nowhere", async (scene) => {
  const files = await workspace(scene);
  await Deno.mkdir(`${scene.ws}/d`);
  await Deno.symlink("../out", `${scene.ws}/l`);
  const swapper = new LinkSwapper(`${scene.ws}/d`, `${scene.ws}/l`);
  swapper.resume();
  let reached = 0;
  for (let round = 0; round < 150; round++) {
    await write(files, `${scene.ws}/d/f`, `${round}`).then(() => reached++, () => {});
    await files.remove({ path: `${scene.ws}/d/o.txt`, recursive: true, force: true, followSymlinks: true }).catch(
      () => {},
    );
    await files.createDirectory({ path: `${scene.ws}/d/x`, recursive: true, followSymlinks: true }).catch(() => {});
    await files.chmod({ path: `${scene.ws}/d/o.txt`, mode: 0o777, followSymlinks: true }).catch(() => {});
  }
  await swapper.pause();
  swapper.end();
  assert.ok(reached > 0, "nothing was ever written: the race was not tried");
});

attack("a link swapped in does not show what is denied", async (scene) => {
  const files = await scene.sandboxed.under("read /, write ws, deny out/secret");
  await Deno.writeTextFile(`${scene.ws}/a`, "mine");
  await Deno.symlink("../out/secret", `${scene.ws}/b`);
  const swapper = new LinkSwapper(`${scene.ws}/a`, `${scene.ws}/b`);
  swapper.resume();
  const seen = new Set<string>();
  for (let round = 0; round < 150; round++) seen.add(await read(files, `${scene.ws}/a`).catch(() => "refused"));
  await swapper.pause();
  swapper.end();
  seen.delete("mine");
  seen.delete("refused");
  assert.deepEqual([...seen], []);
});

attack("a repository's hooks cannot be planted, be it there or not", async (scene) => {
  const hook = `${scene.ws}/.git/hooks/pre-commit`;
  const absent = await workspace(scene);
  await refused(absent.createDirectory({ path: `${scene.ws}/.git/hooks`, recursive: true, followSymlinks: true }));
  await refused(write(absent, hook, "#!/bin/sh\nevil"));
  await refused(absent.symlink({ path: `${scene.ws}/.git`, target: "sub" }));
  scene.sandboxed.pool.closeOwner(scene.sandboxed);

  await Deno.mkdir(`${scene.ws}/.git/hooks`, { recursive: true });
  const present = await workspace(scene);
  await refused(write(present, hook, "#!/bin/sh\nevil"));
  await refused(present.rename({ sourcePath: `${scene.ws}/.git`, destinationPath: `${scene.ws}/g`, overwrite: false }));
  await refused(present.remove({ path: `${scene.ws}/.git`, recursive: true, force: true, followSymlinks: true }));
  assert.deepEqual(Array.from(Deno.readDirSync(`${scene.ws}/.git/hooks`)), []);
});

attack("a stream that is opened outside is refused before it is emptied", async (scene) => {
  const files = await workspace(scene);
  await refused(files.open({ path: `${scene.out}/o.txt`, mode: "replace", followSymlinks: true }));
  await refused(files.open({ path: `${scene.ws}/esc`, mode: "replace", followSymlinks: true }));
});

attack("a read-only policy changes nothing", async (scene) => {
  const files = await scene.sandboxed.under("read /");
  await assert.rejects(write(files, `${scene.out}/new`, "x"), { message: REFUSED });
  await assert.rejects(write(files, `${scene.out}/o.txt`, "x"), { message: REFUSED });
  await assert.rejects(files.chmod({ path: `${scene.out}/o.txt`, mode: 0o777, followSymlinks: true }), {
    message: REFUSED,
  });
  await assert.rejects(files.remove({ path: scene.out, recursive: true, force: true, followSymlinks: true }), {
    message: REFUSED,
  });
}, { setting: "landlock" });

attack("a policy with a writable directory is refused by Landlock", async (scene) => {
  await assert.rejects(write(await workspace(scene), `${scene.ws}/new`, "x"), {
    kind: "invalidRequest",
    message: /Landlock cannot express/,
  });
  assert.deepEqual(Array.from(Deno.readDirSync(scene.ws), ({ name }) => name).sort(), ["esc", "escd", "in.txt", "sub"]);
}, { setting: "landlock" });

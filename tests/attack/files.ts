/** Attacks by way of the filesystem methods: through a helper that is as confined as the policy says. */

import assert from "node:assert/strict";
import type { FileSystem } from "../../src/fs/file_system.ts";
import { read, write } from "../contract/file_system/harness.ts";
import { LinkSwapper } from "../support/link_swapper.ts";
import { namesIn } from "../support/sandbox_host.ts";
import {
  attack,
  type AttackScene,
  fingerprint,
  IS_ROOT,
  NO_WRITABLE_DIRECTORY,
  NOTHING_HIDDEN,
  ONLY_ROOT,
  type Place,
  REFUSED,
} from "./scene.ts";

type Operation = (files: FileSystem, place: Place) => Promise<unknown>;

/** Each operation is done without a sandbox, on a copy of the files, and refused with one. */
async function allRefused(scene: AttackScene, operations: readonly Operation[], policy?: string): Promise<void> {
  const files = await scene.files(policy);
  for (const operation of operations) {
    await operation(scene.direct, await scene.copy());
    await refused(operation(files, scene.guarded));
  }
}

async function refused(attempt: Promise<unknown>): Promise<void> {
  await assert.rejects(attempt, { name: /Error$/, message: REFUSED });
}

attack("forty writes at once, on whichever threads, reach nothing outside", async (scene) => {
  const storm = (files: FileSystem, { out }: Place) =>
    Promise.allSettled(Array.from({ length: 40 }, (_, index) => write(files, `${out}/n${index}`, "x".repeat(200_000))));
  const files = await scene.files();
  await write(files, `${scene.ws}/in.txt`, "a helper runs");
  const outcomes = async (files: FileSystem, place: Place) =>
    new Set((await storm(files, place)).map(({ status }) => status));
  assert.deepEqual(await outcomes(scene.direct, await scene.copy()), new Set(["fulfilled"]));
  assert.deepEqual(await outcomes(files, scene.guarded), new Set(["rejected"]));
});

attack("every thread of a helper has given up new privileges and has the filter", async (scene) => {
  const files = await scene.files();
  await write(files, `${scene.ws}/in.txt`, "a helper runs");
  const confined = [/NoNewPrivs:\t1\n/, /Seccomp:\t2\n/, /CapEff:\t0000000000000000\n/];
  const tasks = await files.readDirectory("/proc/self/task");
  assert.ok(tasks.length > 1);
  for (const { fileName } of tasks) {
    const status = await read(files, `/proc/self/task/${fileName}/status`);
    for (const line of confined) assert.match(status, line);
  }
  const own = Deno.readTextFileSync("/proc/self/status");
  assert.ok(confined.some((line) => !line.test(own)), "the tests themselves are confined, which proves nothing");
});

attack("links, directory links and dots lead nowhere", async (scene) => {
  const paths: ((place: Place) => string)[] = [
    ({ ws }) => `${ws}/esc`,
    ({ ws }) => `${ws}/escd/new`,
    ({ ws }) => `${ws}/absolute/o.txt`,
    ({ ws }) => `${ws}/../out/new`,
    ({ ws }) => `${ws}/sub/../../out/o.txt`,
    ({ out }) => `/proc/self/root${out}/o.txt`,
  ];
  const withLink = async (place: Place) => {
    await Deno.symlink(place.out, `${place.ws}/absolute`).catch(() => {}); // There already.
    return place;
  };
  await allRefused(
    scene,
    paths.flatMap((path): Operation[] => [
      async (files, place) => await write(files, path(await withLink(place)), "x"),
      async (files, place) => await write(files, path(await withLink(place)), "x", { atomic: true }),
    ]),
  );
});

attack("nothing is made, removed, copied, moved or opened outside", (scene) => {
  const FOLLOW = { followSymlinks: true };
  return allRefused(scene, [
    (files, { ws }) => files.createDirectory({ path: `${ws}/escd/d`, recursive: true, ...FOLLOW }),
    (files, { out }) => files.createDirectory({ path: `${out}/d`, recursive: false, ...FOLLOW }),
    (files, { ws }) => files.remove({ path: `${ws}/escd/o.txt`, recursive: true, force: true, ...FOLLOW }),
    (files, { out }) => files.remove({ path: out, recursive: true, force: true, ...FOLLOW }),
    (files, { ws, out }) => files.copy({ sourcePath: `${ws}/in.txt`, destinationPath: `${out}/c`, recursive: false }),
    (files, { ws, out }) => files.copy({ sourcePath: `${ws}/sub`, destinationPath: `${out}/c`, recursive: true }),
    (files, { ws, out }) => files.rename({ sourcePath: `${ws}/in.txt`, destinationPath: `${out}/m`, overwrite: true }),
    (files, { ws, out }) => files.rename({ sourcePath: `${out}/o.txt`, destinationPath: `${ws}/m`, overwrite: true }),
    (files, { out }) => files.symlink({ path: `${out}/link`, target: "x" }),
    async (files, { out }) => await (await files.open({ path: `${out}/o.txt`, mode: "replace", ...FOLLOW })).close(),
    async (files, { ws }) => await (await files.open({ path: `${ws}/esc`, mode: "replace", ...FOLLOW })).close(),
    async (files, { out }) => await (await files.open({ path: `${out}/new`, mode: "replace", ...FOLLOW })).close(),
  ]);
});

attack("modes outside stay as they are", (scene) =>
  allRefused(
    scene,
    [({ out }: Place) => `${out}/o.txt`, ({ ws }: Place) => `${ws}/esc`, ({ out }: Place) => out].map(
      (path): Operation => (files, place) => files.chmod({ path: path(place), mode: 0o777, followSymlinks: true }),
    ),
  ));

attack("a read-only policy changes nothing", (scene) =>
  allRefused(scene, [
    (files, { ws }) => write(files, `${ws}/new`, "x"),
    (files, { ws }) => write(files, `${ws}/in.txt`, "x"),
    (files, { out }) => write(files, `${out}/o.txt`, "x"),
    (files, { ws }) => files.chmod({ path: `${ws}/in.txt`, mode: 0o777, followSymlinks: true }),
    (files, { ws }) => files.remove({ path: ws, recursive: true, force: true, followSymlinks: true }),
  ], "read /"));

attack("the ways through /proc lead to the sandbox's own", async (scene) => {
  const files = await scene.files();
  const root = `/proc/${Deno.pid}/root`;
  await write(scene.direct, `${root}${(await scene.copy()).out}/new`, "x");
  for (
    const path of [
      `${root}${scene.out}/new`,
      `/proc/${Deno.pid}/cwd/new`,
      `/proc/1/root${scene.out}/o.txt`,
      `/proc/self/cwd${scene.out}/o.txt`,
    ]
  ) {
    await refused(write(files, path, "x"));
  }
  // Whatever is under these numbers inside, it is not a descriptor of a file outside.
  for (let fd = 0; fd < 40; fd++) await write(files, `/proc/self/fd/${fd}`, "").catch(() => {});
});

attack("the server's environment is not read through any link", async (scene) => {
  await Deno.symlink("/proc/self/environ", `${scene.ws}/env`);
  await Deno.symlink("/proc", `${scene.ws}/procs`);
  const own = Deno.readTextFileSync("/proc/self/environ");
  assert.equal(await read(scene.direct, `/proc/${Deno.pid}/environ`), own);
  for (const policy of ["read /", scene.policy]) {
    const files = await scene.files(policy);
    for (const path of ["/proc/self/environ", `${scene.ws}/env`, `${scene.ws}/procs/self/environ`]) {
      assert.notEqual(await read(files, path), own);
    }
    for (const path of [`/proc/${Deno.pid}/environ`, `${scene.ws}/procs/${Deno.pid}/environ`]) {
      await refused(read(files, path));
    }
  }
});

/** Does something while two names keep changing places, from the first moment on. */
async function whileSwapping<Value>(one: string, other: string, work: () => Promise<Value>): Promise<Value> {
  const swapper = new LinkSwapper(one, other);
  try {
    await swapper.pause();
    swapper.resume();
    const value = await work();
    await swapper.pause();
    return value;
  } finally {
    swapper.end();
  }
}

/** A race that is lost sooner or later is lost by then. */
const CONTROL_ROUNDS = 20_000;

/** Writes by a path that is a directory and a link by turns. */
async function race(files: FileSystem, { ws }: Place, rounds: number): Promise<number> {
  let reached = 0;
  const FOLLOW = { followSymlinks: true };
  for (let round = 0; round < rounds; round++) {
    await write(files, `${ws}/d/f`, `${round}`).then(() => reached++, () => {});
    await files.remove({ path: `${ws}/d/o.txt`, recursive: true, force: true, ...FOLLOW }).catch(() => {});
    await files.createDirectory({ path: `${ws}/d/x`, recursive: true, ...FOLLOW }).catch(() => {});
    await files.chmod({ path: `${ws}/d/o.txt`, mode: 0o777, ...FOLLOW }).catch(() => {});
  }
  return reached;
}

attack("a directory swapped for a link while it is written to leads nowhere", async (scene) => {
  const swapping = async (place: Place, work: () => Promise<void>) => {
    await Deno.mkdir(`${place.ws}/d`);
    await Deno.symlink("../out", `${place.ws}/l`);
    await whileSwapping(`${place.ws}/d`, `${place.ws}/l`, work);
  };
  const copy = await scene.copy();
  const before = fingerprint(copy.out);
  const isReached = () => JSON.stringify(fingerprint(copy.out)) !== JSON.stringify(before);
  await swapping(copy, async () => {
    for (let round = 0; round < CONTROL_ROUNDS && !isReached(); round++) await race(scene.direct, copy, 1);
  });
  assert.ok(isReached(), "without a sandbox nothing was reached either");
  const files = await scene.files();
  await swapping(scene.guarded, async () => {
    const reached = await race(files, scene.guarded, 150);
    if (scene.backend === "bubblewrap") assert.ok(reached > 0, "nothing was ever written: the race was not tried");
    else assert.equal(reached, 0);
  });
});

attack("a file swapped for a link while it is written to leads nowhere", async (scene) => {
  const swapping = async ({ ws, out }: Place, files: FileSystem, rounds: number) => {
    await Deno.symlink("../out/o.txt", `${ws}/l`);
    let reached = 0;
    await whileSwapping(`${ws}/in.txt`, `${ws}/l`, async () => {
      for (let round = 0; round < rounds && Deno.readTextFileSync(`${out}/o.txt`) !== "x"; round++) {
        await write(files, `${ws}/in.txt`, "x").then(() => reached++, () => {});
      }
    });
    return reached;
  };
  const copy = await scene.copy();
  await swapping(copy, scene.direct, CONTROL_ROUNDS);
  assert.equal(Deno.readTextFileSync(`${copy.out}/o.txt`), "x", "without a sandbox nothing was reached either");
  // The policy was made before: its file is granted by what it is, wherever its name leads.
  assert.ok(
    await swapping(scene.guarded, await scene.files(), 300) > 0,
    "nothing was ever written: the race was not tried",
  );
});

attack("a link swapped in does not show what is denied", async (scene) => {
  const seen = async ({ ws }: Place, files: FileSystem, rounds: number) => {
    await Deno.writeTextFile(`${ws}/a`, "mine");
    await Deno.symlink("../out/secret", `${ws}/b`);
    const texts = new Set<string>();
    await whileSwapping(`${ws}/a`, `${ws}/b`, async () => {
      for (let round = 0; round < rounds && !texts.has("not for you"); round++) {
        texts.add(await read(files, `${ws}/a`).catch(() => "refused"));
      }
    });
    texts.delete("mine");
    texts.delete("refused");
    return [...texts];
  };
  assert.deepEqual(await seen(await scene.copy(), scene.direct, CONTROL_ROUNDS), ["not for you"]);
  assert.deepEqual(await seen(scene.guarded, await scene.files("read /, write ws, deny out/secret"), 300), []);
}, { not: NOTHING_HIDDEN });

attack("hooks cannot be planted in a repository, whether it exists or not", async (scene) => {
  const plant: Operation[] = [
    async (files, { ws }) => {
      await files.createDirectory({ path: `${ws}/.git/hooks`, recursive: true, followSymlinks: true });
      await write(files, `${ws}/.git/hooks/pre-commit`, "#!/bin/sh\nevil");
    },
    (files, { ws }) => files.symlink({ path: `${ws}/.git`, target: "sub" }),
    (files, { ws }) => files.rename({ sourcePath: `${ws}/sub`, destinationPath: `${ws}/.git`, overwrite: true }),
  ];
  await allRefused(scene, plant);
  scene.sandboxed.pool.closeOwner(scene.sandboxed);

  const withRepository = async (place: Place) => {
    await Deno.mkdir(`${place.ws}/.git/hooks`, { recursive: true });
    return place;
  };
  await withRepository(scene.guarded);
  await allRefused(scene, [
    async (files, place) => write(files, `${(await withRepository(place)).ws}/.git/hooks/pre-commit`, "evil"),
    async (files, place) => {
      const { ws } = await withRepository(place);
      await files.rename({ sourcePath: `${ws}/.git`, destinationPath: `${ws}/g`, overwrite: false });
    },
    async (files, place) => {
      const { ws } = await withRepository(place);
      await files.remove({ path: `${ws}/.git`, recursive: true, force: true, followSymlinks: true });
    },
  ]);
  assert.deepEqual(namesIn(`${scene.ws}/.git/hooks`), []);
}, { not: NO_WRITABLE_DIRECTORY });

attack("a policy with a writable directory is refused before anything is made", async (scene) => {
  const before = fingerprint(scene.ws);
  const attempt = async () => await write(await scene.files("read /, write ws"), `${scene.ws}/new`, "x");
  await assert.rejects(attempt, {
    kind: "invalidRequest",
    message: /Landlock cannot express/,
  });
  assert.deepEqual(fingerprint(scene.ws), before);
}, { not: { bubblewrap: "it can express it" } });

attack("files of another user's that only root could read are not read by root's sandbox", async (scene) => {
  // The sandbox lets everything be read; what is missing inside is root's right to pass over owners and modes.
  const path = `${scene.ws}/theirs`;
  await Deno.writeTextFile(path, "theirs");
  await Deno.chown(path, 12345, 12345);
  await Deno.chmod(path, 0o600);
  const script = "cat theirs";
  assert.equal((await scene.run(script, { sandbox: null })).stdout, "theirs");
  const { code, stderr } = await scene.run(script);
  assert.notEqual(code, 0);
  assert.match(stderr, /Permission denied/);
}, { unless: !IS_ROOT && ONLY_ROOT });

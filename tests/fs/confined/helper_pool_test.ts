import assert from "node:assert/strict";
import {
  type HelperClient,
  type HelperEvents,
  HelperLostError,
  type HelperPort,
} from "../../../src/fs/confined/helper_client.ts";
import { HelperPool, type HelperPoolOptions } from "../../../src/fs/confined/helper_pool.ts";
import { createDirectFileSystem } from "../../../src/fs/direct.ts";
import { FrameReader, REQUEST_LIMITS } from "../../../src/fs/confined/helper_frames.ts";
import { HelperService } from "../../../src/fs/confined/helper_service.ts";
import type { FilePolicy } from "../../../src/launch/policy/policy.ts";
import { ManualClock } from "../../support/manual_clock.ts";

/** A policy of its own for every name. */
function policy(name: string, missing: readonly string[] = []): FilePolicy {
  return {
    base: "read",
    rules: [{ path: `/${name}`, access: "write", type: "directory", id: name }],
    missing: missing.map((path) => ({ path, placeholder: "directory", isHidden: false })),
    pinned: [],
    links: [],
  };
}

/** Helpers in this process: the same frames, without pipes. */
class LocalHelper implements HelperPort {
  isEnded = false;
  isClosed = false;
  readonly #events: HelperEvents;
  readonly #reader = new FrameReader(REQUEST_LIMITS);
  readonly #service: HelperService;

  constructor(events: HelperEvents) {
    this.#events = events;
    this.#service = new HelperService({
      watch: () => Promise.reject(new Error("nothing is watched here")),
      files: createDirectFileSystem(),
      send: (parts) => parts.forEach((part) => events.received(part.slice())),
      onFault: (error) => {
        throw error;
      },
    });
    this.#service.begin();
  }

  write(bytes: Uint8Array<ArrayBuffer>): void {
    if (!this.isEnded) this.#reader.push(bytes, (frame) => this.#service.handle(frame));
  }

  async close(): Promise<void> {
    this.isClosed = true;
    await this.#service.finish();
    this.die();
  }

  kill(): void {
    this.die();
  }

  die(): void {
    this.isEnded = true;
    this.#events.ended("it died");
  }
}

class Scene {
  readonly clock = new ManualClock();
  readonly helpers: LocalHelper[] = [];
  readonly pool: HelperPool;
  readonly owner = {};

  constructor(options: Partial<HelperPoolOptions> = {}) {
    this.pool = new HelperPool({
      clock: this.clock,
      start: (_files, events) => {
        const helper = new LocalHelper(events);
        this.helpers.push(helper);
        return Promise.resolve(helper);
      },
      ...options,
    });
  }

  look(files: FilePolicy, owner: object = this.owner): Promise<unknown> {
    return this.pool.use(owner, files, (client) => client.call("canonicalize", "/"));
  }

  /** Keeps a helper busy until the returned function is called. */
  async occupy(files: FilePolicy): Promise<() => Promise<void>> {
    const held = Promise.withResolvers<void>();
    const started = Promise.withResolvers<void>();
    const done = this.pool.use(this.owner, files, () => {
      started.resolve();
      return held.promise;
    });
    await started.promise;
    return async () => {
      held.resolve();
      await done;
    };
  }
}

Deno.test("one helper serves all requests of a connection under one policy", async () => {
  const scene = new Scene();
  await Promise.all([scene.look(policy("a")), scene.look(policy("a"))]);
  await scene.look(policy("a"));
  assert.equal(scene.helpers.length, 1);
});

Deno.test("another policy, another file at a path, or another connection has its own helper", async () => {
  const scene = new Scene();
  await scene.look(policy("a"));
  await scene.look(policy("b"));
  const [rule] = policy("a").rules;
  await scene.look({ ...policy("a"), rules: [{ ...rule!, id: "replaced" }] });
  await scene.look(policy("a"), {});
  assert.equal(scene.helpers.length, 4);
});

Deno.test("an idle helper ends after its time, and one in use does not", async () => {
  const scene = new Scene({ idleMs: 1000 });
  await scene.look(policy("a"));
  const release = await scene.occupy(policy("b"));
  scene.clock.advance(1000);
  await Promise.resolve();
  assert.deepEqual(scene.helpers.map(({ isClosed }) => isClosed), [true, false]);
  assert.equal(scene.pool.size, 1);
  await release();
  scene.clock.advance(999);
  assert.equal(scene.pool.size, 1);
  scene.clock.advance(1);
  assert.equal(scene.pool.size, 0);
});

Deno.test("a helper that keeps placeholders on the disk ends sooner", async () => {
  const scene = new Scene({ idleMs: 1000, briefIdleMs: 10 });
  await scene.look(policy("a", ["/a/.git"]));
  scene.clock.advance(10);
  assert.equal(scene.pool.size, 0);
});

Deno.test("with too many helpers the one idle longest ends first", async () => {
  const scene = new Scene({ maxHelpers: 2 });
  await scene.look(policy("a"));
  scene.clock.advance(1);
  await scene.look(policy("b"));
  scene.clock.advance(1);
  await scene.look(policy("a"));
  await scene.look(policy("c"));
  assert.deepEqual(scene.helpers.map(({ isClosed }) => isClosed), [false, true, false]);
});

Deno.test("a connection waits for its own helpers, and never for those of another", async () => {
  const scene = new Scene({ maxHelpers: 2, maxOfOwner: 2 });
  const release = await scene.occupy(policy("a"));
  await scene.occupy(policy("b"));
  const waiting = scene.look(policy("c"));
  assert.equal(scene.helpers.length, 2);
  await scene.look(policy("a"), {});
  assert.equal(scene.helpers.length, 3, "another connection has one in any case");
  await release();
  await waiting;
  assert.equal(scene.helpers.length, 4);
});

Deno.test("helpers that hold files open or watch leave the places of requests free", async () => {
  const scene = new Scene({ maxHelpers: 1, maxOfOwner: 1, maxHolding: 2 });
  const clients: HelperClient[] = [];
  const hold = (name: string, owner: object = scene.owner) => {
    return scene.pool.hold(owner, policy(name), (client) => {
      clients.push(client);
      client.fileOpened();
      return Promise.resolve();
    });
  };
  await hold("a");
  await hold("b");
  await scene.look(policy("c"));
  await scene.look(policy("a"));
  await assert.rejects(hold("c"), { kind: "invalidRequest", message: /at most 2 sandboxes of one connection/ });
  await hold("a");
  await hold("c", {});
  clients[1]!.fileClosed();
  await hold("c");
});

Deno.test("requests under way fail when a helper dies, and the next request has a new helper", async () => {
  const scene = new Scene();
  await scene.look(policy("a"));
  const lost = scene.pool.use(scene.owner, policy("a"), (client) => {
    const call = client.call("canonicalize", "/");
    scene.helpers[0]!.die();
    return call;
  });
  await assert.rejects(lost, HelperLostError);
  await scene.look(policy("a"));
  assert.equal(scene.helpers.length, 2);
});

Deno.test("a helper that sends garbage is ended", async () => {
  let events: HelperEvents | null = null;
  const scene = new Scene();
  const pool = new HelperPool({
    clock: scene.clock,
    start: (_files, given) => {
      events = given;
      return Promise.resolve(new LocalHelper(given));
    },
  });
  await pool.use(scene.owner, policy("a"), () => Promise.resolve());
  events!.received(new Uint8Array(16).fill(0xff));
  assert.equal(pool.size, 0);
});

Deno.test("a helper that cannot be started fails the request, and is tried again by the next", async () => {
  let attempts = 0;
  const scene = new Scene();
  const pool = new HelperPool({
    clock: scene.clock,
    start: () => {
      attempts++;
      return Promise.reject(new Error("no sandbox"));
    },
  });
  for (let time = 1; time <= 2; time++) {
    await assert.rejects(pool.use(scene.owner, policy("a"), () => Promise.resolve()), { message: "no sandbox" });
    assert.equal(attempts, time);
  }
  assert.equal(pool.size, 0);
});

Deno.test("closing a connection ends its helpers and no others", async () => {
  const scene = new Scene();
  const other = {};
  await scene.look(policy("a"));
  await scene.look(policy("a"), other);
  scene.pool.closeOwner(scene.owner);
  await Promise.resolve();
  assert.deepEqual(scene.helpers.map(({ isClosed }) => isClosed), [true, false]);
});

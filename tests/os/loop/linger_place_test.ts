import assert from "node:assert/strict";
import { closeDescriptor, openPipe, writeFrom } from "../../../src/os/descriptor.ts";
import { EPOLL_CTL_ADD, EpollEvents, EPOLLIN } from "../../../src/os/loop/epoll_event.ts";
import { libc } from "../../../src/os/libc.ts";
import { type LingerOutcome, LingerPlace } from "../../../src/os/loop/linger_place.ts";

const O_CLOEXEC = 0o2000000;

/** An epoll instance with one pipe in it, and a place to wait for it. */
function setUp() {
  const epoll = libc().epoll_create1(O_CLOEXEC);
  const pipe = openPipe();
  const change = new EpollEvents(1);
  change.set(0, EPOLLIN, 1);
  assert.equal(libc().epoll_ctl(epoll, EPOLL_CTL_ADD, pipe.readEnd, change.bytes), 0);
  const place = new LingerPlace(epoll);
  return {
    /** The runtime, which runs other tests beside this one, may have something at any time; that is not looked for here. */
    wait(options: { awakeUs: number; asleepUs: number }): LingerOutcome {
      for (;;) {
        const outcome = place.wait(options);
        if (outcome.found !== "runtime") return outcome;
      }
    },
    say: () => assert.equal(writeFrom(pipe.writeEnd, new Uint8Array([1])), 1),
    [Symbol.dispose]: () => [epoll, pipe.readEnd, pipe.writeEnd].forEach(closeDescriptor),
  };
}

Deno.test("LingerPlace finds what is ours, while awake and while asleep", () => {
  using scene = setUp();
  scene.say();
  assert.deepEqual(scene.wait({ awakeUs: 1_000_000, asleepUs: 0 }), {
    found: "ours",
    wasAwake: true,
    isCrowded: false,
  });
  assert.deepEqual(scene.wait({ awakeUs: 0, asleepUs: 900_000 }), { found: "ours", wasAwake: false, isCrowded: false });
});

Deno.test("LingerPlace gives up when nothing comes", () => {
  using scene = setUp();
  const { found, wasAwake } = scene.wait({ awakeUs: 100, asleepUs: 100 });
  assert.deepEqual([found, wasAwake], ["nothing", false]);
});

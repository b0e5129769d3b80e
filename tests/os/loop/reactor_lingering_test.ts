import assert from "node:assert/strict";
import { closeDescriptor, openPipe, writeFrom } from "../../../src/os/descriptor.ts";
import { EPOLLIN } from "../../../src/os/loop/epoll_event.ts";
import { Reactor } from "../../../src/os/loop/reactor.ts";

/** Lets one thing be reported so many times. */
async function deliver(reactor: Reactor, times: number): Promise<void> {
  const { readEnd, writeEnd } = openPipe();
  const done = Promise.withResolvers<void>();
  let count = 0;
  const registration = reactor.register(readEnd, () => {
    // What is in the pipe is not read, so this comes again and again.
    if (++count < times) return;
    registration.disarm();
    done.resolve();
  });
  registration.arm(EPOLLIN);
  writeFrom(writeEnd, new Uint8Array([1]));
  await done.promise;
  await reactor.idle();
  [readEnd, writeEnd].forEach(closeDescriptor);
}

Deno.test("a reactor finds what comes soon on its own thread", async () => {
  const reactor = new Reactor();
  await deliver(reactor, 20);
  const { found, elsewhere } = reactor.lingering.counters;
  assert.ok(found > 0, `${found} found here, ${elsewhere} elsewhere`);
});

Deno.test("a reactor that does not linger delivers all the same, and never waits on its own thread", async () => {
  const reactor = new Reactor();
  reactor.lingering.isOn = false;
  await deliver(reactor, 20);
  const { elsewhere, ...lingered } = reactor.lingering.counters;
  assert.deepEqual(lingered, { found: 0, foundAwake: 0, foundRuntime: 0, inVain: 0, crowded: 0 });
  assert.ok(elsewhere >= 20, `${elsewhere} waits`);
});

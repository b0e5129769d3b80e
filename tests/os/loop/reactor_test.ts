import assert from "node:assert/strict";
import { closeDescriptor, openPipe, setNonblocking, writeFrom } from "../../../src/os/descriptor.ts";
import { FdReader } from "../../../src/os/loop/fd_reader.ts";
import { FdWriter } from "../../../src/os/loop/fd_writer.ts";
import { allocate } from "../../../src/os/libc.ts";
import { EPOLLHUP, EPOLLIN } from "../../../src/os/loop/epoll_event.ts";
import { Reactor, type Registration } from "../../../src/os/loop/reactor.ts";
import { eventually } from "../../support/recorded_child.ts";

/** One for all tests, as in the program: it has no end, only rest. */
const reactor = new Reactor();

interface TestPipe extends Disposable {
  readonly readEnd: number;
  readonly writeEnd: number;
  /** Closes the write end early. */
  endWriting(): void;
  say(text: string): void;
}

function makePipe(): TestPipe {
  const { readEnd, writeEnd } = openPipe();
  setNonblocking(readEnd);
  setNonblocking(writeEnd);
  let isWriting = true;
  const endWriting = (): void => {
    if (isWriting) closeDescriptor(writeEnd);
    isWriting = false;
  };
  return {
    readEnd,
    writeEnd,
    endWriting,
    say: (text) => assert.equal(writeFrom(writeEnd, new TextEncoder().encode(text)), text.length),
    [Symbol.dispose]() {
      endWriting();
      closeDescriptor(readEnd);
    },
  };
}

function testReactor(claim: string, test: () => Promise<void>): void {
  Deno.test(claim, async () => {
    await test();
    await reactor.idle();
  });
}

/** The events of the next report; the registration is disarmed with it. */
function nextReport(fd: number, events = EPOLLIN): Promise<number> {
  return new Promise((resolve) => {
    const registration: Registration = reactor.register(fd, (seen) => {
      registration.disarm();
      resolve(seen);
    });
    registration.arm(events);
  });
}

testReactor("Reactor reports what becomes readable while it waits", async () => {
  using pipe = makePipe();
  const report = nextReport(pipe.readEnd);
  setImmediate(() => pipe.say("x"));
  assert.equal(await report, EPOLLIN);
});

testReactor("Reactor reports the end of a pipe as a hang-up", async () => {
  using pipe = makePipe();
  const report = nextReport(pipe.readEnd);
  pipe.endWriting();
  assert.equal(await report, EPOLLHUP);
});

testReactor("Reactor reports again and again until what is there has been read", async () => {
  using pipe = makePipe();
  pipe.say("x");
  let reports = 0;
  await new Promise<void>((resolve) => {
    const registration = reactor.register(pipe.readEnd, () => {
      if (++reports < 3) return;
      registration.disarm();
      resolve();
    });
    registration.arm(EPOLLIN);
  });
});

testReactor("Reactor reports nothing to a disarmed registration, not even from the same batch", async () => {
  using one = makePipe();
  using two = makePipe();
  const heard: string[] = [];
  const done = Promise.withResolvers<void>();
  const stopBoth = (name: string) => (): void => {
    heard.push(name);
    registrations.forEach((registration) => registration.disarm());
    done.resolve();
  };
  const registrations = [
    reactor.register(one.readEnd, stopBoth("one")),
    reactor.register(two.readEnd, stopBoth("two")),
  ];
  one.say("x");
  two.say("x");
  registrations.forEach((registration) => registration.arm(EPOLLIN));
  await done.promise;
  // A full turn of the reactor, in which the other would have been heard.
  using other = makePipe();
  other.say("x");
  await nextReport(other.readEnd);
  assert.equal(heard.length, 1);
});

testReactor("Reactor reports nothing in the turn of the event loop in which it was armed", async () => {
  using busy = makePipe();
  busy.say("x");
  const background = reactor.register(busy.readEnd, () => {});
  background.arm(EPOLLIN);
  for (let round = 0; round < 200; round++) {
    using pipe = makePipe();
    pipe.say("x");
    let isReported = false;
    const report = nextReport(pipe.readEnd).then(() => isReported = true);
    // As many steps as a promise may need to get through layers of callers.
    for (let step = 0; step < 50; step++) await null;
    assert.equal(isReported, false);
    await report;
  }
  background.disarm();
});

testReactor("Reactor can be disarmed and armed again without missing anything", async () => {
  using pipe = makePipe();
  let reports = 0;
  const registration = reactor.register(pipe.readEnd, () => void reports++);
  registration.arm(EPOLLIN);
  registration.disarm();
  registration.disarm();
  await reactor.idle();
  pipe.say("x");
  assert.equal(reports, 0);
  registration.arm(EPOLLIN);
  registration.arm(EPOLLIN);
  await eventually("it is reported", () => reports > 0);
  registration.disarm();
});

testReactor("Reactor comes to rest when the last registration is disarmed during a wait", async () => {
  using pipe = makePipe();
  const registration = reactor.register(pipe.readEnd, () => assert.fail("nothing was written"));
  registration.arm(EPOLLIN);
  await new Promise((resolve) => setImmediate(resolve));
  registration.disarm();
  await reactor.idle();
});

testReactor("Reactor survives a handler that throws, and lets the error be seen", async () => {
  using pipe = makePipe();
  pipe.say("x");
  const seen = new Promise<unknown>((resolve) => {
    addEventListener("error", (event) => {
      event.preventDefault();
      resolve(event.error);
    }, { once: true });
  });
  const registration = reactor.register(pipe.readEnd, () => {
    registration.disarm();
    throw new Error("a fault of the owner");
  });
  registration.arm(EPOLLIN);
  assert.match(`${await seen}`, /a fault of the owner/);
  assert.equal(await nextReport(pipe.readEnd), EPOLLIN);
});

testReactor("FdReader gives others their turn while one stream never ends", async () => {
  using busy = makePipe();
  using quiet = makePipe();
  // Always full: it is filled again from inside the handler.
  const filler = allocate(64 * 1024);
  writeFrom(busy.writeEnd, filler);
  let busyChunks = 0;
  const flood = new FdReader(reactor, busy.readEnd, {
    maxChunkBytes: 64 * 1024,
    onBytes: () => {
      busyChunks++;
      writeFrom(busy.writeEnd, filler);
    },
    onEnd: () => assert.fail("it never ends"),
  });
  flood.resume();
  const report = nextReport(quiet.readEnd);
  quiet.say("x");
  const before = busyChunks;
  await report;
  // At most the turn under way and the one with the report.
  assert.ok(busyChunks - before <= 8, `${busyChunks - before} chunks in between`);
  flood.pause();
});

testReactor("FdReader joins short reads of one turn into one chunk", async () => {
  const { readEnd, writeEnd } = openPipe();
  setNonblocking(readEnd);
  writeFrom(writeEnd, new TextEncoder().encode("one "));
  const chunks: string[] = [];
  await new Promise<void>((resolve) => {
    new FdReader(reactor, readEnd, {
      maxChunkBytes: 6,
      onBytes: (bytes) => chunks.push(new TextDecoder().decode(bytes)),
      onEnd: () => resolve(),
    }).resume();
    writeFrom(writeEnd, new TextEncoder().encode("two three"));
    closeDescriptor(writeEnd);
  });
  assert.deepEqual(chunks, ["one tw", "o thre", "e"]);
});

testReactor("FdReader reports why it could not read to the end, and nothing at a normal end of file", async () => {
  const failureOf = (fd: number, setUp: () => void) =>
    new Promise<string | null>((resolve) => {
      new FdReader(reactor, fd, { maxChunkBytes: 10, onBytes: () => {}, onEnd: resolve }).resume();
      setUp();
    });
  const whole = openPipe();
  setNonblocking(whole.readEnd);
  assert.equal(await failureOf(whole.readEnd, () => closeDescriptor(whole.writeEnd)), null);
  // The end for writing cannot be read from; without the other end it is not waited for.
  const wrong = openPipe();
  setNonblocking(wrong.writeEnd);
  assert.equal(
    await failureOf(wrong.writeEnd, () => closeDescriptor(wrong.readEnd)),
    "Bad file descriptor (os error 9)",
  );
});

testReactor("FdReader delivers nothing more once its receiver has paused it", async () => {
  const { readEnd, writeEnd } = openPipe();
  setNonblocking(readEnd);
  writeFrom(writeEnd, new TextEncoder().encode("abcdef"));
  closeDescriptor(writeEnd);
  const chunks: string[] = [];
  const ended = Promise.withResolvers<void>();
  let wake = (): void => {};
  const reader = new FdReader(reactor, readEnd, {
    maxChunkBytes: 2,
    onBytes: (bytes) => {
      chunks.push(new TextDecoder().decode(bytes));
      reader.pause();
      wake();
    },
    onEnd: () => ended.resolve(),
  });
  for (const expected of [["ab"], ["ab", "cd"], ["ab", "cd", "ef"]]) {
    const delivered = new Promise<void>((resolve) => wake = resolve);
    reader.resume();
    await delivered;
    assert.deepEqual(chunks, expected);
  }
  reader.resume();
  await ended.promise;
});

testReactor("FdWriter writes what the pipe has no room for when it has", async () => {
  const { readEnd, writeEnd } = openPipe();
  setNonblocking(readEnd);
  setNonblocking(writeEnd);
  const writer = new FdWriter(reactor, writeEnd);
  const bytes = allocate(1_000_000).map((_, index) => index % 251);
  const outcomes = [writer.write(bytes.subarray(0, 600_000)), writer.write(bytes.subarray(600_000))];
  writer.end();
  assert.ok(writer.queuedBytes >= 900_000);
  const received = allocate(bytes.length);
  let filled = 0;
  const ended = new Promise<void>((resolve) => {
    const reader = new FdReader(reactor, readEnd, {
      maxChunkBytes: 50_000,
      onBytes: (chunk) => {
        received.set(chunk, filled);
        filled += chunk.length;
      },
      onEnd: () => resolve(),
    });
    reader.resume();
  });
  assert.deepEqual(await Promise.all(outcomes), ["written", "written"]);
  await ended;
  assert.deepEqual(received, bytes);
});

testReactor("FdWriter tells every writer when nobody will read", async () => {
  const { readEnd, writeEnd } = openPipe();
  setNonblocking(writeEnd);
  const writer = new FdWriter(reactor, writeEnd);
  const outcomes = [writer.write(allocate(1_000_000)), writer.write(allocate(1))];
  closeDescriptor(readEnd);
  assert.deepEqual(await Promise.all(outcomes), ["closed", "closed"]);
  assert.equal(await writer.write(allocate(1)), "closed");
  assert.equal(writer.queuedBytes, 0);
});

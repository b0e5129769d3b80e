import assert from "node:assert/strict";
import { TestServer } from "../support/test_server.ts";

const IS_LINUX = Deno.build.os === "linux";
/** `epoll_wait` where there is one, and `epoll_pwait`. */
const EPOLL_WAITS = Deno.build.arch === "aarch64" ? ["22"] : ["232", "281"];

/** What a descriptor leads to. Null: it was closed since it was listed, as files are that a server reads at its start. */
function heldBy(pid: number, name: string): string | null {
  try {
    return Deno.readLinkSync(`/proc/${pid}/fd/${name}`);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return null;
    throw error;
  }
}

/** The epoll instances of a process: descriptors by what they hold. */
function epollsOf(pid: number): Map<number, number[]> {
  const epolls = new Map<number, number[]>();
  for (const { name } of Deno.readDirSync(`/proc/${pid}/fd`)) {
    if (heldBy(pid, name) !== "anon_inode:[eventpoll]") continue;
    const lines = Deno.readTextFileSync(`/proc/${pid}/fdinfo/${name}`).split("\n");
    epolls.set(Number(name), lines.filter((line) => line.startsWith("tfd:")).map((line) => Number(line.slice(4, 13))));
  }
  return epolls;
}

/** The descriptor that the main thread of a process waits in, once it does. */
async function waitedIn(pid: number): Promise<number> {
  for (let tries = 0; tries < 5000; tries++) {
    const [call, fd] = Deno.readTextFileSync(`/proc/${pid}/task/${pid}/syscall`).split(" ");
    if (EPOLL_WAITS.includes(call!)) return Number(fd);
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  throw new Error("the main thread never waits in an epoll instance");
}

Deno.test({
  name: "an idle server waits in the very epoll instance that its reactor takes for the runtime's own",
  ignore: !IS_LINUX,
  async fn() {
    await using server = await TestServer.start();
    const epolls = epollsOf(server.pid);
    // The linger place is the one that holds two others.
    const place = [...epolls.values()].find((held) => held.length === 2 && held.every((fd) => epolls.has(fd)));
    assert.ok(place !== undefined, `no linger place among ${JSON.stringify([...epolls])}`);
    assert.ok(place.includes(await waitedIn(server.pid)), "the main thread waits in another one");
  },
});

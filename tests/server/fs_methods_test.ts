import assert from "node:assert/strict";
import { systemClock } from "../../src/clock.ts";
import type { FileSystem } from "../../src/fs/file_system.ts";
import { createFsMethods, type FsMethods } from "../../src/server/methods/fs.ts";
import type { Sandboxing } from "../../src/server/sandboxing.ts";

/** Keeps what it is asked, and refuses. */
function recordingFiles(asked: unknown[]): FileSystem {
  return new Proxy({} as FileSystem, {
    get: (_, name) => {
      // It is not a promise.
      if (name === "then") return undefined;
      return (request: unknown) => {
        asked.push([name, request]);
        return Promise.reject(new Error("recorded"));
      };
    },
  });
}

Deno.test("the sandbox object of a request selects its file system, and is not passed on to it", async () => {
  const asked: unknown[] = [];
  const decided: unknown[] = [];
  const sandboxing = {
    files: (sandbox: unknown) => {
      decided.push(sandbox);
      return Promise.resolve(recordingFiles(asked));
    },
    closeOwner: () => {},
  } as unknown as Sandboxing;
  const methods = await createFsMethods({ clock: systemClock, sandboxing: () => Promise.resolve(sandboxing) });
  const context = {
    owned: (_: symbol, create: () => unknown) => create(),
    outlet: { hasRoom: true, notify: () => {} },
    signal: new AbortController().signal,
    promise: () => {},
    withdraw: () => {},
  } as never;
  const requests: Partial<Record<keyof FsMethods, object>> = {
    readFile: { path: "/f", followSymlinks: true, offset: 0, length: null },
    writeFile: { path: "/f", data: new Uint8Array(1) },
    getMetadata: { path: "/f", followSymlinks: true, fields: [] },
    createDirectory: { path: "/d", recursive: true },
    walk: { path: "/d", options: {} },
    remove: { path: "/d", recursive: true, force: true },
    copy: { sourcePath: "/a", destinationPath: "/b", recursive: false },
    rename: { sourcePath: "/a", destinationPath: "/b", overwrite: false },
    chmod: { path: "/f", mode: 0o600, followSymlinks: true },
    setTimes: { path: "/f", modifiedAtMs: 1, followSymlinks: true },
    symlink: { path: "/l", target: "f" },
    open: { handleId: "h", path: "/f", mode: "read", followSymlinks: true },
  };
  const sandbox = { sandboxPolicy: { type: "read-only" } };
  for (const [name, request] of Object.entries(requests)) {
    const method = methods[name as keyof FsMethods] as (params: unknown, context: never) => Promise<unknown>;
    await assert.rejects(method({ ...request, sandbox }, context), /recorded/);
  }
  assert.deepEqual(asked, Object.entries(requests));
  assert.deepEqual(decided, Object.keys(requests).map(() => sandbox));
});

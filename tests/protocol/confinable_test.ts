import assert from "node:assert/strict";
import { DomainError } from "../../src/errors.ts";
import { METHODS } from "../../src/protocol/methods.ts";
import { specDocument } from "../../src/protocol/spec.ts";
import { decodeParams, type ParamsSchema } from "../../src/protocol/decode_params.ts";

type Members = Record<string, unknown>;

const WORDS = [
  ...["sandbox_policy", "SandboxPolicy", "sandboxpolicy", "sandbox-policy", "SANDBOX_POLICY"],
  ...["Sandbox", "SANDBOX", "sand_box", "_sandbox"],
  ...["sandboxProfile", "sandbox_profile", "SandboxProfile"],
  ...["sandboxMode", "sandbox_mode", "sandboxContext", "sandbox_context"],
  ...["permissionProfile", "permission_profile", "PermissionProfile", "permissions", "Permissions"],
];
const READ_ONLY = { type: "readOnly" };
const START = { processId: "p", argv: ["true"], cwd: "/ws", env: {}, tty: false };

/** The shortest request of every method that takes a sandbox. */
const CONFINABLE: Record<string, Members> = {
  "process/start": START,
  "fs/readFile": { path: "/f" },
  "fs/writeFile": { path: "/f", dataBase64: "" },
  "fs/getMetadata": { path: "/f" },
  "fs/canonicalize": { path: "/f" },
  "fs/createDirectory": { path: "/f" },
  "fs/readDirectory": { path: "/f" },
  "fs/walk": {
    path: "/f",
    options: { maxDepth: 1, maxDirectories: 1, maxEntries: 1, followDirectorySymlinks: false },
  },
  "fs/remove": { path: "/f" },
  "fs/copy": { sourcePath: "/f", destinationPath: "/g", recursive: false },
  "fs/rename": { sourcePath: "/f", destinationPath: "/g" },
  "fs/chmod": { path: "/f", mode: 0o600 },
  "fs/list": { path: "/f" },
  "fs/setTimes": { path: "/f", modifiedAtMs: 1 },
  "fs/symlink": { path: "/f", target: "g" },
  "fs/open": { handleId: "h", path: "/f" },
  "fs/watch": { watchId: 1, path: "/f" },
  "capabilities/discoverV2": { cwd: "/ws" },
};

/** The shortest request of every method that reaches files or the network and takes none. */
const UNCONFINABLE: Record<string, Members> = {
  "fs/readBlock": { handleId: "h", offset: 0, len: 1 },
  "fs/writeBlock": { handleId: "h", offset: 0, chunk: "" },
  "fs/watchMissing": { watchId: 1, missing: [] },
  "environmentConfig/read": { cwd: "/ws", configPaths: [["model"]], requirementsPaths: [] },
  "capabilityRoots/discoverV1": { roots: [] },
  "net/connect": { tunnelId: "t", port: 80 },
  "http/request": { requestId: "r", method: "GET", url: "http://127.0.0.1/" },
};

function schemaOf(method: string): ParamsSchema<unknown> {
  const row = Object.values(METHODS).find(({ name }) => name === method);
  assert.ok(row !== undefined, method);
  return row.params;
}

const decode = (method: string, params: Members) => decodeParams(schemaOf(method), params) as Members;

function assertRefused(method: string, params: Members, expected: RegExp): void {
  assert.throws(() => decode(method, params), (error) => {
    assert.ok(error instanceof DomainError, method);
    assert.equal(error.kind, "invalidParams");
    assert.match(error.message, expected);
    return true;
  }, `${method} ${JSON.stringify(params)}`);
}

Deno.test("every method with a sandbox, and every one that reaches files or the network, is in one of these tables", () => {
  // Those that are left act on something that was started or opened before, or tell of the server.
  const others = [
    "initialize",
    "rpc.discover",
    "environment/info",
    "environment/status",
    "environment/sandbox",
    "fs/close",
    "fs/unwatch",
    "net/write",
    "net/closeWrite",
    "net/ack",
    "net/close",
  ];
  const left = Object.values(METHODS).map(({ name }) => name).filter((name) => {
    return !(name in CONFINABLE) && !(name in UNCONFINABLE) && !others.includes(name);
  });
  assert.deepEqual(left.filter((name) => !name.startsWith("process/") && !name.startsWith("session/")), []);
});

for (const [method, params] of Object.entries(CONFINABLE)) {
  Deno.test(`${method} takes sandboxPolicy beside its members as sandbox.sandboxPolicy, and refuses other words`, () => {
    const place = params.cwd === undefined ? {} : { cwd: params.cwd };
    assert.deepEqual(decode(method, { ...params, sandboxPolicy: READ_ONLY }).sandbox, {
      sandboxPolicy: READ_ONLY,
      ...place,
    });
    assert.deepEqual(decode(method, { ...params, sandboxPolicy: READ_ONLY, sandbox: null }).sandbox, {
      sandboxPolicy: READ_ONLY,
      ...place,
    });
    // What it says is read where sandboxes are: no value is taken for none.
    assert.deepEqual(decode(method, { ...params, sandboxPolicy: false }).sandbox, { sandboxPolicy: false, ...place });
    assertRefused(method, { ...params, sandboxPolicy: READ_ONLY, sandbox: {} }, /either `sandbox` or `sandboxPolicy`/);
    for (const word of WORDS) {
      for (const value of [READ_ONLY, {}, "read-only", false]) {
        assertRefused(method, { ...params, [word]: value }, new RegExp(`^\`${word}\` is not accepted here`));
      }
    }
  });

  Deno.test(`${method} ignores null, and members it does not know`, () => {
    const nothing = Object.fromEntries([...WORDS, "sandboxPolicy"].map((word) => [word, null]));
    const plain = decode(method, params);
    const newer = { policy: READ_ONLY, sandboxing: READ_ONLY, somethingNewer: { sandboxPolicy: READ_ONLY } };
    assert.deepEqual(decode(method, { ...params, ...nothing, ...newer }), plain);
    assert.ok(plain.sandbox === undefined || plain.sandbox === null);
  });
}

for (const [method, params] of Object.entries(UNCONFINABLE)) {
  Deno.test(`${method} refuses to run unconfined when it was asked to be confined`, () => {
    for (const word of [...WORDS, "sandbox", "sandboxPolicy"]) {
      assertRefused(method, { ...params, [word]: READ_ONLY }, new RegExp(`^\`${word}\` is not accepted here`));
      assert.deepEqual(decode(method, { ...params, [word]: null, more: 1 }), decode(method, params));
    }
  });
}

Deno.test("no member that a method takes is among the refused words, whatever its spelling", async () => {
  const plain = (word: string) => word.replaceAll(/[_-]/g, "").toLowerCase();
  const refused = new Set(WORDS.map(plain));
  const taken = new Set<string>();
  JSON.stringify(await specDocument(), (key, value) => {
    const names = key === "properties" ? Object.keys(value) : [];
    for (const name of names) if (refused.has(plain(name))) taken.add(name);
    return value;
  });
  assert.deepEqual([...taken].sort(), ["permissions", "sandbox", "sandboxPolicy"]);
});

Deno.test("a policy for files applies at the cwd beside it, if there is one", () => {
  const { sandbox } = decode("fs/readFile", { path: "/f", sandboxPolicy: READ_ONLY, cwd: "file:///ws" });
  assert.deepEqual(sandbox, { sandboxPolicy: READ_ONLY, cwd: "file:///ws" });
});

Deno.test("each capability root takes a policy of its own", () => {
  const root = { id: "a", path: "/r" };
  const { roots } = decode("capabilityRoots/discoverV1", { roots: [{ ...root, sandboxPolicy: READ_ONLY }, root] });
  assert.deepEqual((roots as Members[]).map(({ sandbox }) => sandbox), [{ sandboxPolicy: READ_ONLY }, undefined]);
  for (const word of WORDS) {
    assertRefused("capabilityRoots/discoverV1", { roots: [{ ...root, [word]: READ_ONLY }] }, new RegExp(word));
  }
});

Deno.test("a prepared start refuses every word for confinement, also inside its request", () => {
  const request = { argv: ["true"], cwd: "/ws", env: {} };
  const prepared = { kind: "prepared", processId: "p", io: { type: "pipe", stdin: "closed" }, request };
  assert.equal(decode("process/start", prepared).sandbox, null);
  for (const word of [...WORDS, "sandboxPolicy", "sandbox"]) {
    assertRefused("process/start", { ...prepared, [word]: READ_ONLY }, new RegExp(`${word}.* is not a`));
    assertRefused(
      "process/start",
      { ...prepared, request: { ...request, [word]: READ_ONLY } },
      new RegExp(`^\`${word}\` is not accepted here: a prepared process`),
    );
  }
});

Deno.test("the options of a walk refuse every word for confinement, which belongs beside them", () => {
  const { options, ...walk } = CONFINABLE["fs/walk"]!;
  for (const word of [...WORDS, "sandboxPolicy", "sandbox"]) {
    assertRefused(
      "fs/walk",
      { ...walk, options: { ...options as Members, [word]: READ_ONLY } },
      new RegExp(`^\`${word}\` is not accepted here: \`sandbox\` belongs beside`),
    );
  }
});

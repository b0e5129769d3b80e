/**
 * Every policy that clients of this protocol are known to send, on a server that has nothing but Landlock: it is enforced,
 * or refused with the reason before anything has happened. There is nothing in between.
 */

import assert from "node:assert/strict";
import { type Client, RpcError } from "../support/rpc_client.ts";
import { layFiles, NO_SANDBOX } from "../support/sandbox_host.ts";
import { inScratchDirectory } from "../support/scratch_directory.ts";
import { TestServer } from "../support/test_server.ts";
import { fingerprint, IS_ROOT } from "./scene.ts";

const USER = IS_ROOT ? "root" : "unprivileged";

type Entry = { readonly path: object; readonly access: string };

const at = (path: string) => ({ type: "path", path: `file://${path}` });
const special = (kind: string, more: object = {}) => ({ type: "special", value: { kind, ...more } });
const glob = (pattern: string) => ({ type: "glob_pattern", pattern });
const READ_ALL: Entry = { path: special("root"), access: "read" };

function managed(entries: readonly Entry[], { network = "restricted", ...more }: Record<string, unknown> = {}) {
  const permissions = { type: "managed", file_system: { type: "restricted", entries }, network };
  return { permissions, windowsSandboxLevel: "disabled", ...more };
}

interface Row {
  readonly policy: (root: string) => object;
  /** The reason it is refused for; null for a policy that is enforced. */
  readonly refusal: RegExp | null;
  readonly code?: number;
}

const INVALID_REQUEST = -32600;
const INVALID_PARAMS = -32602;
const READ_ONLY_FILE_SYSTEM = -32603;

const enforced = (policy: Row["policy"]): Row => ({ policy, refusal: null });
const refused = (policy: Row["policy"], refusal: RegExp): Row => ({ policy, refusal });
const malformed = (sandbox: unknown): Row => ({
  policy: () => sandbox as object,
  refusal: /./,
  code: INVALID_PARAMS,
});

const ABSENT = /Landlock cannot express the policy: it cannot make files that are not granted look absent/;
const hides = (path: string) => new RegExp(`Landlock cannot express the policy: it cannot hide .*/${path}`);
const protects = (root: string) =>
  new RegExp(`Landlock cannot express the policy: it cannot protect .* inside the writable .*/${root}`);

const ROWS: Readonly<Record<string, Row>> = {
  "read-only": enforced(() => managed([READ_ALL])),
  "read-only, with network": enforced(() => managed([READ_ALL], { network: "enabled" })),
  "read-only, and a special path from the future": enforced(() =>
    managed([READ_ALL, { path: special("unknown", { path: ":future" }), access: "write" }])
  ),
  "read-only, and a missing directory for writing": enforced((root) =>
    managed([READ_ALL, { path: at(`${root}/missing`), access: "write" }])
  ),
  "read-only, and the system's own directories": enforced(() =>
    managed([READ_ALL, { path: special("minimal"), access: "read" }])
  ),
  "workspace-write": refused(
    (root) => managed([READ_ALL, { path: at(`${root}/ws`), access: "write" }]),
    protects("ws"),
  ),
  "workspace-write, with network": refused(
    (root) => managed([READ_ALL, { path: at(`${root}/ws`), access: "write" }], { network: "enabled" }),
    protects("ws"),
  ),
  "two writable roots": refused(
    (root) =>
      managed([
        READ_ALL,
        { path: at(`${root}/ws`), access: "write" },
        { path: at(`${root}/out`), access: "write" },
      ]),
    protects("(ws|out)"),
  ),
  "workspace-write, and a missing path denied": refused(
    (root) =>
      managed([
        READ_ALL,
        { path: at(`${root}/ws`), access: "write" },
        { path: at(`${root}/ws/later`), access: "deny" },
      ]),
    protects("ws"),
  ),
  "a part of every workspace root": refused(
    (root) =>
      managed([READ_ALL, { path: special("project_roots", { subpath: "sub" }), access: "write" }], {
        cwd: `file://${root}/ws`,
        workspaceRoots: [`file://${root}/ws`],
      }),
    protects("ws/sub"),
  ),
  "the temporary directory": refused(
    () => managed([READ_ALL, { path: special("slash_tmp"), access: "write" }]),
    protects("tmp"),
  ),
  "only listed paths": refused(
    (root) => managed([{ path: special("minimal"), access: "read" }, { path: at(`${root}/ws`), access: "read" }]),
    ABSENT,
  ),
  "the whole disk but one directory": refused(
    (root) => managed([{ path: special("root"), access: "write" }, { path: at(`${root}/out`), access: "read" }]),
    /Landlock cannot express the policy: it cannot make exceptions from access to the whole disk/,
  ),
  "a denied directory": refused(
    (root) => managed([READ_ALL, { path: at(`${root}/out`), access: "deny" }]),
    hides("out"),
  ),
  "a denied directory, by its other word": refused(
    (root) => managed([READ_ALL, { path: at(`${root}/out`), access: "none" }]),
    hides("out"),
  ),
  "a denied file": refused(
    (root) => managed([READ_ALL, { path: at(`${root}/out/o.txt`), access: "deny" }]),
    hides("out/o\\.txt"),
  ),
  "a denied pattern": refused(
    (root) => managed([READ_ALL, { path: glob(`${root}/out/**/*.txt`), access: "deny" }]),
    hides("out/o\\.txt"),
  ),
  "a denied pattern that is relative": refused(
    (root) => managed([READ_ALL, { path: glob("**/*.txt"), access: "deny" }], { cwd: `file://${root}/ws` }),
    hides("in\\.txt"),
  ),
  "a denied pattern that is relative to nothing": malformed(
    managed([READ_ALL, { path: glob("**/*.txt"), access: "deny" }]),
  ),
  "no object": malformed("read-only"),
  "an empty object": malformed({}),
  "an unknown kind of permissions": malformed({ permissions: { type: "nope" }, windowsSandboxLevel: "disabled" }),
  "no entries": malformed({
    permissions: { type: "managed", file_system: { type: "restricted" }, network: "restricted" },
    windowsSandboxLevel: "disabled",
  }),
  "an unknown kind of network": malformed(managed([], { network: "on" })),
  "an unknown kind of access": malformed(managed([{ path: special("root"), access: "rw" }])),
  "an unknown special path": malformed(managed([{ path: special("whatever"), access: "read" }])),
  "a relative path": malformed(managed([{ path: { type: "path", path: "relative" }, access: "read" }])),
};

async function failure(request: Promise<unknown>): Promise<RpcError> {
  const error = await request.then(() => null, (error) => error);
  assert.ok(error instanceof RpcError, `not refused: ${error}`);
  return error;
}

/** What a request with this policy would do if nothing held it back. */
class Requests {
  readonly #client: Client;
  readonly #root: string;
  readonly #sandbox: object;

  constructor(client: Client, root: string, sandbox: object) {
    this.#client = client;
    this.#root = root;
    this.#sandbox = sandbox;
  }

  async start(
    processId: string,
    script: string,
  ): Promise<{ exitCode: number | null; text: string; isDenied: boolean }> {
    const events = this.#client.follow(processId);
    await this.#client.call("process/start", {
      processId,
      argv: ["/bin/sh", "-c", script],
      cwd: `${this.#root}/ws`,
      env: { PATH: "/usr/bin:/bin" },
      tty: false,
      sandbox: this.#sandbox,
    } as never);
    let text = "";
    let exited = { exitCode: null as number | null, isDenied: false };
    for await (const { method, params } of events) {
      if (method === "process/output") text += atob(params.chunk);
      if (method === "process/exited") exited = { exitCode: params.exitCode, isDenied: params.sandboxDenied === true };
      if (method === "process/closed") break;
    }
    return { ...exited, text };
  }

  async call(method: string, path: string, params: object = {}): Promise<unknown> {
    const uri = `file://${this.#root}/${path}`;
    return await this.#client.call(method as never, { path: uri, sandbox: this.#sandbox, ...params } as never);
  }
}

async function expectEnforced(requests: Requests): Promise<void> {
  const reading = await requests.start("reads", "cat in.txt ../out/o.txt");
  assert.deepEqual(reading, { exitCode: 0, text: "inout", isDenied: false });
  const writing = await requests.start("writes", "echo x > ../out/o.txt");
  assert.deepEqual([writing.exitCode !== 0, writing.isDenied], [true, true], writing.text);
  assert.deepEqual(await requests.call("fs/readFile", "ws/in.txt"), { dataBase64: btoa("in") });
  for (const path of ["ws/in.txt", "ws/new", "out/o.txt"]) {
    assert.equal(
      (await failure(requests.call("fs/writeFile", path, { dataBase64: "" }))).code,
      READ_ONLY_FILE_SYSTEM,
      path,
    );
  }
}

async function expectRefused(requests: Requests, { refusal, code = INVALID_REQUEST }: Row): Promise<void> {
  const attempts = [
    () => requests.start("refused", "echo x > ../out/o.txt; echo x > in.txt"),
    () => requests.call("fs/writeFile", "ws/in.txt", { dataBase64: "" }),
    () => requests.call("fs/createDirectory", "ws/made"),
    () => requests.call("fs/remove", "ws/in.txt"),
  ];
  for (const attempt of attempts) {
    const error = await failure(attempt());
    assert.equal(error.code, code, error.message);
    assert.match(error.message, refusal!);
  }
}

Deno.test({
  name: `${USER}, landlock: every policy is enforced, or refused before anything has happened` +
    (NO_SANDBOX === null ? "" : ` (SKIPPED: ${NO_SANDBOX})`),
  ignore: NO_SANDBOX !== null,
  async fn(test) {
    await using server = await TestServer.start({ args: ["--sandbox", "landlock"] });
    for (const [name, row] of Object.entries(ROWS)) {
      const outcome = row.refusal === null
        ? "is enforced"
        : row.code === INVALID_PARAMS
        ? "is malformed"
        : "is refused";
      await test.step(`${name} ${outcome}`, () =>
        inScratchDirectory(async (root) => {
          await layFiles(root);
          const before = fingerprint(root);
          const client = await server.connect();
          try {
            const requests = new Requests(client, root, row.policy(root));
            await (row.refusal === null ? expectEnforced(requests) : expectRefused(requests, row));
          } finally {
            await client.close();
          }
          assert.deepEqual(fingerprint(root), before);
        }));
    }
  },
});

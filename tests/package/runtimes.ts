/**
 * The npm package, installed from its tarball into an empty project, in Node, Bun and a browser. The runtimes come from
 * npm and are kept in a cache; what cannot be had is skipped by name.
 */

import assert from "node:assert/strict";
import { FaultyProxy } from "../support/faulty_proxy.ts";
import { Random } from "../support/random.ts";
import { RemoteChild } from "../support/remote_child.ts";
import { inScratchDirectory } from "../support/scratch_directory.ts";
import { TestRendezvous } from "../support/test_rendezvous.ts";
import { TestServer } from "../support/test_server.ts";
import { TEST_CA_FILE, tlsFlags } from "../support/test_tls.ts";

const ROOT = new URL("../..", import.meta.url).pathname;
const CACHE = `${Deno.env.get("XDG_CACHE_HOME") ?? `${Deno.env.get("HOME")}/.cache`}/exec-server-ci/client-runtimes`;
const NODE = `${CACHE}/node_modules/.bin/node`;
const BUN = `${CACHE}/node_modules/.bin/bun`;
const CHROMIUM = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].find(isThere);

const EXPECTED = {
  lines: 200_000,
  code: 0,
  echoed: true,
  same: true,
  quoted: "it's $HOME",
  isTyped: true,
  wasLost: true,
  maxFrameBytes: 16 * 1024 * 1024,
};

/** Why a runtime cannot be had; null: it is there. */
const missing = await install();

test("Node 22", missing, (place) => {
  return runScript([NODE, "main.mjs"], place);
});

test("Bun", missing, (place) => {
  return runScript([BUN, "main.mjs"], place);
});

test("Chromium", missing ?? (CHROMIUM === undefined ? "no chromium is installed" : null), runInBrowser, {
  hasOrigin: true,
});

Deno.test({
  name: `the package works in Node 22 over TLS${missing === null ? "" : ` (SKIPPED: ${missing})`}`,
  ignore: missing !== null,
  fn: () =>
    inProject(async (project) => {
      const args = [...tlsFlags(project), "--ws-auth", "url-token"];
      await using server = await TestServer.start({ listen: "wss://127.0.0.1:0", args });
      await Deno.writeTextFile(
        `${project}/main.mjs`,
        `import { connect, UnauthorisedError } from "exec-server/client";
const box = await connect(process.env.BOX_URL);
const cat = await box.spawn(["cat"], { stdin: "piped" });
const { stdout } = await cat.communicate("x".repeat(3_000_000));
await box.close();
const bare = process.env.BOX_URL.replace(/\\?.*/, "");
const refused = await connect(bare).catch((error) => error);
console.log(JSON.stringify([stdout.length, refused instanceof UnauthorisedError, refused.message]));\n`,
      );
      const output = await run([NODE, "main.mjs"], project, { BOX_URL: server.url, NODE_EXTRA_CA_CERTS: TEST_CA_FILE });
      const [length, isUnauthorised, message] = JSON.parse(output);
      assert.deepEqual([length, isUnauthorised], [3_000_000, true]);
      assert.match(message, /^cannot connect to wss:[^?]*: \S/);
      // Without the authority that signed the certificate nobody is trusted.
      await assert.rejects(run([NODE, "main.mjs"], project, { BOX_URL: server.url }), /certificate/);
    }),
});

for (const [name, program] of [["Node 22", NODE], ["Bun", BUN]] as const) {
  const title = `the package reaches an executor behind a rendezvous in ${name}, with a connection that breaks`;
  if (missing !== null) Deno.test({ name: `${title} (SKIPPED: ${missing})`, ignore: true, fn: () => {} });
  else {
    Deno.test(title, async () => {
      await inProject(async (project) => {
        await using rendezvous = await TestRendezvous.start(project);
        const [executorToken, token] = [await rendezvous.token(["executor"]), await rendezvous.token(["client"])];
        await using executor = new RemoteChild({
          args: ["--remote", rendezvous.url, "--environment-id", "box", "--identity-file", `${project}/identity`],
          env: { EXEC_SERVER_REMOTE_TOKEN: executorToken },
        });
        await executor.connected();
        await using proxy = faultyProxy(rendezvous.port);
        const directory = `${project}/files`;
        await Deno.mkdir(directory);
        const url = { rendezvous: proxy.url.replace(/^ws/, "http"), executor: "box" };
        assert.deepEqual(await runScript([program, "main.mjs"], { project, url, token, directory }), EXPECTED);
      });
    });
  }
}

Deno.test("the package's declarations serve a program in strict TypeScript", async () => {
  await inProject(async (project) => {
    await Deno.copyFile(new URL("use.ts.txt", import.meta.url), `${project}/use.ts`);
    const options = [
      "--noEmit",
      "--strict",
      "--target",
      "es2022",
      "--module",
      "nodenext",
      "--lib",
      "es2024,dom,esnext",
    ];
    const args = ["run", "--quiet", "--no-lock", "--allow-all", "npm:typescript@5.9.3/tsc", ...options, "use.ts"];
    await run([Deno.execPath(), ...args], project);
  });
});

interface Place {
  readonly project: string;
  readonly url: string;
  readonly token: string;
  readonly origin: string;
  readonly directory: string;
}

function test(
  name: string,
  why: string | null,
  body: (place: Place) => Promise<unknown>,
  { hasOrigin = false }: { hasOrigin?: boolean } = {},
): void {
  const title = `the package works in ${name}, with a connection that breaks`;
  if (why !== null) {
    Deno.test({ name: `${title} (SKIPPED: ${why})`, ignore: true, fn: () => {} });
    return;
  }
  Deno.test(title, async () => {
    await inProject(async (project) => {
      const directory = `${project}/files`;
      await Deno.mkdir(directory);
      const token = crypto.randomUUID();
      await Deno.writeTextFile(`${project}/token`, token);
      const origin = `http://127.0.0.1:${freePort()}`;
      const auth = ["--ws-auth", "capability-token", "--ws-token-file", `${project}/token`];
      const args = hasOrigin ? [...auth, "--allow-origin", origin] : auth;
      await using server = await TestServer.start({ args });
      await using proxy = faultyProxy(server.port);
      assert.deepEqual(await body({ project, url: proxy.url, token, origin, directory }), EXPECTED);
    });
  });
}

function faultyProxy(port: number): FaultyProxy {
  const seed = crypto.getRandomValues(new Uint32Array(1))[0]!;
  console.log(`seed ${seed}`);
  const proxy = new FaultyProxy({
    port,
    random: new Random(seed),
    faults: ["reset", "cutFrame", "halfClose", "delay"],
    maxBytesBetween: 600_000,
    maxFaults: 8,
    minBytes: 20_000,
  });
  proxy.arm();
  return proxy;
}

// ---------------------------------------------------------------- what is installed

async function install(): Promise<string | null> {
  const isComplete = () => ["node", "bun", "puppeteer-core"].every((name) => isThere(`${CACHE}/node_modules/${name}`));
  if (!isComplete()) {
    await new Deno.Command("npm", {
      args: ["i", "--silent", "--prefix", CACHE, "node@22", "bun", "puppeteer-core"],
      stdout: "null",
      stderr: "null",
    }).output();
  }
  return isComplete() ? null : "node@22, bun and puppeteer-core cannot be installed";
}

let building: Promise<string> | null = null;

/** The path of the tarball, which is made once. */
function build(): Promise<string> {
  const command = [Deno.execPath(), "task", "--quiet", "build:client"];
  return building ??= run(command, ROOT).then((output) => output.trim().split("\n").at(-1)!);
}

/** An empty project that has the package, as `npm install` puts it there. */
async function inProject(body: (project: string) => Promise<void>): Promise<void> {
  const tarball = await build();
  await inScratchDirectory(async (project) => {
    await Deno.writeTextFile(`${project}/package.json`, '{"private":true,"type":"module"}\n');
    await run(["npm", "i", "--silent", "--no-audit", "--no-fund", tarball], project);
    await Deno.copyFile(new URL("session.mjs", import.meta.url), `${project}/session.mjs`);
    await body(project);
  });
}

// ---------------------------------------------------------------- the runtimes

async function runScript(
  command: readonly string[],
  { project, url, token, directory }: Omit<Place, "origin" | "url"> & { url: string | object },
): Promise<unknown> {
  await Deno.writeTextFile(
    `${project}/main.mjs`,
    `import { session } from "./session.mjs";
console.log(JSON.stringify(await session(JSON.parse(process.env.BOX_ADDRESS), { token: process.env.BOX_TOKEN, directory: ${
      JSON.stringify(directory)
    } })));\n`,
  );
  const output = await run(command, project, { BOX_ADDRESS: JSON.stringify(url), BOX_TOKEN: token });
  return JSON.parse(output.trim().split("\n").at(-1)!);
}

async function runInBrowser({ project, url, token, origin, directory }: Place): Promise<unknown> {
  await using _pages = Deno.serve(
    { hostname: "127.0.0.1", port: Number(new URL(origin).port), onListen: () => {} },
    (request) => page(project, new URL(request.url).pathname),
  );
  const output = await run([NODE, new URL("drive_browser.mjs", import.meta.url).pathname], project, {
    PUPPETEER: `${CACHE}/node_modules/puppeteer-core/lib/esm/puppeteer/puppeteer-core.js`,
    CHROMIUM: CHROMIUM!,
    PAGE: `${origin}/`,
    EXPRESSION: `import('/session.mjs').then(({ session }) => session(${JSON.stringify(url)}, ${
      JSON.stringify({ token, directory })
    }))`,
  });
  return JSON.parse(output);
}

const TYPES: Record<string, string> = { js: "text/javascript", mjs: "text/javascript", html: "text/html" };
const MAP = {
  "exec-server/client": "/node_modules/exec-server/lib/client/mod.js",
  "exec-server/protocol": "/node_modules/exec-server/lib/protocol/mod.js",
  "zod/mini": "/node_modules/zod/mini/index.js",
  "zod/": "/node_modules/zod/",
};

async function page(project: string, path: string): Promise<Response> {
  if (path === "/") {
    const html = `<!doctype html><script type="importmap">${JSON.stringify({ imports: MAP })}</script>`;
    return new Response(html, { headers: { "content-type": "text/html" } });
  }
  try {
    const bytes = await Deno.readFile(`${project}${path}`);
    return new Response(bytes, { headers: { "content-type": TYPES[path.split(".").at(-1)!] ?? "text/plain" } });
  } catch {
    return new Response("not found", { status: 404 });
  }
}

// ---------------------------------------------------------------- helpers

async function run(command: readonly string[], cwd: string, env: Record<string, string> = {}): Promise<string> {
  const [program, ...args] = command;
  const { success, stdout, stderr } = await new Deno.Command(program!, { args, cwd, env }).output();
  const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
  assert.ok(success, `${command.join(" ")}: ${text(stdout)}${text(stderr)}`);
  return text(stdout);
}

function isThere(path: string): boolean {
  try {
    Deno.statSync(path);
    return true;
  } catch {
    return false;
  }
}

/** The server has to be told the page's origin before the page is served. */
function freePort(): number {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  return listener.addr.port;
}

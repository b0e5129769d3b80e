/** What docs/permissions.md says of each permission, on servers that run without it. */

import assert from "node:assert/strict";
import { type Client, RpcError } from "../support/rpc_client.ts";
import { namedIfSkipped, NO_SANDBOX } from "../support/sandbox_host.ts";
import { inScratchDirectory } from "../support/scratch_directory.ts";
import { StdioServer } from "../support/stdio_server.ts";
import { TestServer, type TestServerOptions } from "../support/test_server.ts";

const WORKSPACE_WRITE = { type: "workspace-write", network_access: false, writable_roots: [] };
const FULL_ACCESS = { type: "danger-full-access" };
const NO_FFI = "this server cannot call the C library: it runs without --allow-ffi";

function sourceTest(name: string, fn: () => Promise<void>, options: { ignore?: boolean } = {}): void {
  const isCompiled = Deno.env.has("EXEC_SERVER_BINARY");
  const reason = isCompiled ? " (SKIPPED: the compiled program's permissions are built in)" : "";
  Deno.test({ name: `${name}${reason}`, ignore: isCompiled || options.ignore === true, fn });
}

/** A client of a server that lacks the permissions, and an empty directory. */
class Scene {
  readonly server: TestServer;
  readonly client: Client;
  readonly directory: string;
  #started = 0;

  private constructor(server: TestServer, client: Client, directory: string) {
    this.server = server;
    this.client = client;
    this.directory = directory;
  }

  static async open(permissions: readonly string[], test: (scene: Scene) => Promise<void>): Promise<void> {
    await inScratchDirectory(async (directory) => {
      await using server = await TestServer.start({ withoutPermissions: permissions });
      await test(new Scene(server, await server.connect(), directory));
    });
  }

  /** What a command has written, once it is over. */
  async output(script: string, fields: object = {}): Promise<string> {
    const processId = `p${++this.#started}`;
    await this.client.call("process/start", {
      processId,
      argv: ["/bin/sh", "-c", script],
      cwd: this.directory,
      env: { PATH: "/usr/bin:/bin" },
      tty: false,
      ...fields,
    });
    await this.client.call("process/wait", { processId });
    const { chunks } = await this.client.call("process/read", { processId });
    return chunks.map(({ chunk }) => atob(chunk)).join("");
  }

  sandbox(sandboxPolicy: object = WORKSPACE_WRITE): object {
    return { sandboxPolicy, cwd: this.directory };
  }

  async write(name: string, text: string, fields: object = {}): Promise<void> {
    await this.client.call("fs/writeFile", { path: `${this.directory}/${name}`, dataBase64: btoa(text), ...fields });
  }

  async read(name: string, fields: object = {}): Promise<string> {
    const { dataBase64 } = await this.client.call("fs/readFile", { path: `${this.directory}/${name}`, ...fields });
    return atob(dataBase64);
  }

  /** Processes run and files are written and read, also with a sandbox object that confines nothing. */
  async worksUnconfined(): Promise<void> {
    assert.equal(await this.output("echo $((6*7))"), "42\n");
    assert.equal(await this.output("echo free", { sandbox: this.sandbox(FULL_ACCESS) }), "free\n");
    await this.write("f", "content");
    assert.equal(await this.read("f"), "content");
    assert.equal(await this.read("f", { sandbox: this.sandbox(FULL_ACCESS) }), "content");
  }

  /** Everything confined is refused with the reason, and nothing is done. */
  async refusesSandboxes(reason: RegExp): Promise<void> {
    const sandbox = this.sandbox();
    await assertRefused(this.output("echo x > made", { sandbox }), -32600, reason);
    await assertRefused(this.write("made", "x", { sandbox }), -32600, reason);
    await assertRefused(this.read("f", { sandbox }), -32600, reason);
    const copy = { sourcePath: `${this.directory}/f`, destinationPath: `${this.directory}/made`, recursive: false };
    await assertRefused(this.client.call("fs/copy", { ...copy, sandbox }), -32600, reason);
    await assert.rejects(Deno.lstat(`${this.directory}/made`), Deno.errors.NotFound);
  }
}

async function assertRefused(work: Promise<unknown>, code: number, message: RegExp): Promise<void> {
  await assert.rejects(work, (error) => {
    assert.ok(error instanceof RpcError, String(error));
    assert.match(error.message, message);
    assert.equal(error.code, code, error.message);
    return true;
  });
}

async function doesNotStart(options: TestServerOptions, message: RegExp): Promise<void> {
  await assert.rejects(TestServer.start(options), (error) => {
    assert.ok(error instanceof Error);
    assert.match(error.message, message);
    assert.doesNotMatch(error.message, /\n\s+at /, "one line, no stack");
    return true;
  });
}

sourceTest("without --allow-net the server listens nowhere, and on stdio refuses http/request alone", async () => {
  const why = /^server did not start: exec-server: cannot listen on (ws|unix):.*--allow-net/;
  await doesNotStart({ withoutPermissions: ["net"] }, why);
  await inScratchDirectory(async (directory) => {
    await doesNotStart({ withoutPermissions: ["net"], listen: `unix://${directory}/socket` }, why);
  });
  await using server = await StdioServer.start([], { withoutPermissions: ["net"] });
  const { client } = server;
  assert.equal((await client.call("fs/getMetadata", { path: "/" })).isDirectory, true);
  const request = client.call("http/request", { requestId: "r", method: "GET", url: "http://127.0.0.1:9/" });
  await assertRefused(request, -32603, /net access/);
});

sourceTest("without --allow-read the C library still reads files, and what the runtime reads is missing", async () => {
  await Scene.open(["read"], async (scene) => {
    await scene.worksUnconfined();
    await scene.refusesSandboxes(/^Cannot enforce the sandbox: this server runs without --allow-read$/);
    assert.equal(scene.client.environmentInfo.shell.path, "/bin/sh");
    await Deno.writeTextFile(`${scene.directory}/token`, "0123456789abcdef0123456789abcdef", { mode: 0o600 });
    const args = ["--ws-auth", "capability-token", "--ws-token-file", `${scene.directory}/token`];
    await doesNotStart({ withoutPermissions: ["read"], args }, /cannot read --ws-token-file .*--allow-read/);
    await doesNotStart({ withoutPermissions: ["read"], listen: `unix://${scene.directory}/s` }, /--allow-read/);
  });
});

sourceTest(
  "without --allow-write no sandbox can be tried, so none is used, and there are no unix sockets",
  async () => {
    await Scene.open(["write"], async (scene) => {
      await scene.worksUnconfined();
      await scene.refusesSandboxes(/^Cannot enforce the sandbox: this server runs without --allow-write$/);
      await doesNotStart({ withoutPermissions: ["write"], listen: `unix://${scene.directory}/s` }, /--allow-write/);
    });
  },
);

sourceTest("without --allow-env the server does not start, since settings may be there", async () => {
  await doesNotStart({ withoutPermissions: ["env"] }, /exec-server: cannot read the environment: .*--allow-env/);
});

sourceTest("without --allow-sys sandboxes are refused, and there are no unix sockets", async () => {
  await Scene.open(["sys"], async (scene) => {
    await scene.worksUnconfined();
    await scene.refusesSandboxes(/^Cannot enforce the sandbox: this server runs without --allow-sys$/);
    await doesNotStart({ withoutPermissions: ["sys"], listen: `unix://${scene.directory}/s` }, /--allow-sys/);
    // Whose link it is cannot be told by the user; that it is the place's owner's can.
    await Deno.mkdir(`${scene.directory}/place`);
    await Deno.chmod(`${scene.directory}/place`, 0o1777);
    await Deno.symlink("f", `${scene.directory}/place/link`);
    await scene.write("place/link", "x", { atomic: true });
  });
});

sourceTest("without --allow-run nothing is missing while there is FFI", async () => {
  await Scene.open(["run"], async (scene) => {
    await scene.worksUnconfined();
    assert.equal(await scene.output("test -t 1 && echo terminal", { tty: true }), "terminal\r\n");
  });
});

sourceTest(namedIfSkipped("without --allow-run sandboxes are made all the same"), async () => {
  await Scene.open(["run"], async (scene) => {
    const sandbox = scene.sandbox();
    assert.equal(await scene.output("echo confined; echo x > made", { sandbox }), "confined\n");
    assert.match(await scene.output("echo x > /made 2>&1 || echo refused", { sandbox }), /refused/);
    await scene.write("f", "x", { sandbox });
    assert.equal(await scene.read("f"), "x");
  });
}, { ignore: NO_SANDBOX !== null });

sourceTest("without --allow-run and --allow-ffi no process can be started", async () => {
  await Scene.open(["run", "ffi"], async (scene) => {
    await assertRefused(scene.output("echo x"), -32603, /^Cannot start process: Requires run access/);
    await scene.write("f", "content");
    assert.equal(await scene.read("f"), "content");
  });
});

sourceTest("without --allow-ffi processes and files work, and everything else is refused by name", async () => {
  await Scene.open(["ffi"], async (scene) => {
    const { client, directory } = scene;
    await scene.worksUnconfined();
    await scene.refusesSandboxes(new RegExp(`^Cannot enforce the sandbox: ${NO_FFI}$`));
    await assertRefused(
      scene.output("tty", { tty: true }),
      -32603,
      new RegExp(`terminals are not supported: ${NO_FFI}$`),
    );
    await assertRefused(
      scene.output("echo", { arg0: "other" }),
      -32603,
      new RegExp(`arg0 is not supported: ${NO_FFI}$`),
    );

    const path = `${directory}/f`;
    const links = /^Cannot honour followSymlinks: false, which only the kernel can check: /;
    await assertRefused(scene.read("f", { followSymlinks: false }), -32600, links);
    await assertRefused(scene.write("g", "", { followSymlinks: false }), -32600, links);
    await assertRefused(client.call("fs/getMetadata", { path, followSymlinks: false }), -32600, links);
    await assertRefused(client.call("fs/remove", { path, recursive: false, followSymlinks: false }), -32600, links);
    await assertRefused(client.call("fs/chmod", { path, mode: 0o600, followSymlinks: false }), -32600, links);
    const open = { path, handleId: "h", mode: "read", followSymlinks: false } as const;
    await assertRefused(client.call("fs/open", open), -32600, links);
    const create = { path: `${directory}/d`, followSymlinks: false };
    await assertRefused(client.call("fs/createDirectory", create), -32600, links);
    await assertRefused(scene.write("f", "new", { atomic: true }), -32600, /^Cannot write atomically: /);
    const bytes = client.call("fs/readFile", { path: `file://${directory}/%FF` });
    await assertRefused(bytes, -32600, /whose name is not UTF-8/);
    await assertRefused(
      client.call("fs/readFile", { path: "/proc/self/status" }),
      -32600,
      /^Permission denied by the /,
    );
    await assertRefused(client.call("fs/watch", { watchId: 1, path: directory }), -32600, /^Cannot watch: /);
    const missing = await client.call("fs/watchMissing", { watchId: 1, missing: [`${directory}/no`], present: null });
    assert.deepEqual(missing, { watching: false });
    assert.deepEqual([...Deno.readDirSync(directory)].map(({ name }) => name), ["f"]);
    assert.equal(await scene.read("f"), "content");
  });
});

sourceTest("without --allow-ffi a terminated process takes its group with it", async () => {
  await Scene.open(["ffi"], async ({ client, directory }) => {
    await client.call("process/start", {
      processId: "p",
      argv: ["/bin/sh", "-c", "trap '' TERM; sleep 1000 & echo started; wait"],
      cwd: directory,
      env: { PATH: "/usr/bin:/bin" },
      tty: false,
    });
    await client.call("process/read", { processId: "p", waitMs: 60_000 });
    const tree = client.call("process/terminate", { processId: "p", tree: true });
    await assertRefused(tree, -32600, /^Cannot find the descendants of a process: this server cannot call/);
    await client.call("process/terminate", { processId: "p" });
    // Closed only when the sleeper, too, has let go of the output.
    const { closed } = await client.call("process/wait", { processId: "p", until: "closed" });
    assert.equal(closed, true);
  });
});

sourceTest(
  "without --allow-ffi a server shows what it can do, gives reasons for the rest, and ends when it is told to",
  async () => {
    await using full = await TestServer.start();
    const all = (await full.connect()).environmentInfo.capabilities;
    await using server = await TestServer.start({ withoutPermissions: ["ffi"] });
    const client = await server.connect();
    const { capabilities } = client.environmentInfo;
    const lost = Object.keys(all).filter((name) => capabilities[name] !== true).sort();
    assert.deepEqual(lost, [
      "capabilityDiscoverySandbox",
      "fsAtomicWrite",
      "fsFlush",
      "fsNoFollow",
      "fsWatch",
      "fsWatchMissing",
      "networkDenials",
      "preparedExec",
      "processIo",
      "processResize",
      "sandboxedFileStreaming",
      "signalForeground",
      "terminateTree",
    ]);
    const { bubblewrap, landlock } = await client.call("environment/sandbox", null);
    assert.deepEqual([bubblewrap.works, bubblewrap.reason], [false, NO_FFI]);
    assert.deepEqual([landlock.works, landlock.reason], [false, NO_FFI]);
    server.kill("SIGTERM");
    assert.equal((await server.status).code, 0);
  },
);

sourceTest("without the permissions for sandboxes their capabilities are not advertised", async () => {
  for (const permission of ["read", "write", "sys"] as const) {
    await using server = await TestServer.start({ withoutPermissions: [permission] });
    const { capabilities } = (await server.connect()).environmentInfo;
    assert.deepEqual(
      ["capabilityDiscoverySandbox", "sandboxedFileStreaming", "networkDenials"].map((name) => capabilities[name]),
      [undefined, undefined, undefined],
      permission,
    );
    assert.equal(capabilities.fsAtomicWrite, true);
  }
});

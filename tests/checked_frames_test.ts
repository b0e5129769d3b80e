/**
 * What the integration tests exchange with a server is held against the method table and the published document, whoever
 * their client is. So each kind of client notices a wrong answer, and no test makes a client of another kind.
 */

import assert from "node:assert/strict";
import { CLIENT_COMMANDS } from "../src/cli/client_commands.ts";
import { assertLines } from "./support/answer_check.ts";
import { connectBox } from "./support/checked_box.ts";
import { CheckedRelay } from "./support/checked_relay.ts";
import { CommandHome } from "./support/command_home.ts";
import { FrameTrace } from "./support/frame_trace.ts";
import { RawWebSocket } from "./support/raw_websocket.ts";
import { filesBelow, ROOT } from "./support/source_files.ts";
import { connectChecked } from "./support/test_server.ts";

/** A server whose answers have one member more than they should. */
function startOddServer(): Deno.HttpServer<Deno.NetAddr> {
  return Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, upgradeOddly);
}

function upgradeOddly(request: Request): Response {
  const { socket, response } = Deno.upgradeWebSocket(request);
  socket.onmessage = ({ data }) => socket.send(answerTo(data) ?? "");
  return response;
}

function answerTo(data: string): string | null {
  const { id } = JSON.parse(data);
  return id === undefined ? null : JSON.stringify({ id, result: { sessionId: "s", environmentInfo: {}, odd: true } });
}

/** Runs with errors that nobody catches kept, and returns what they say. */
async function reported(act: () => Promise<unknown>): Promise<string[]> {
  const messages: string[] = [];
  const keep = (event: ErrorEvent) => {
    event.preventDefault();
    messages.push(event.error.message);
  };
  addEventListener("error", keep);
  try {
    await act();
  } catch (error) {
    messages.push((error as Error).message);
  } finally {
    removeEventListener("error", keep);
  }
  return messages;
}

const DOORS: Record<string, (url: string) => Promise<unknown>> = {
  "the client of a test server": async (url) => await (await connectChecked(url)).close(),
  "a client that sends frames by hand": async (url) => {
    using socket = await RawWebSocket.connect(url);
    await socket.handshake();
  },
  "a client that looks at single frames": async (url) => {
    using socket = await RawWebSocket.connect(url);
    await socket.sendFrame(0x1, new TextEncoder().encode('{"id":1,"method":"init'), { isFinal: false });
    await socket.sendFrame(0x0, new TextEncoder().encode('ialize","params":{"clientName":"x"}}'));
    await socket.readFrame();
  },
  "a box of the client library": async (url) => {
    await (await connectBox(url)).close();
  },
  "a program behind a relay": async (url) => {
    await using relay = await CheckedRelay.to(url);
    const socket = new WebSocket(relay.urlFor(url));
    await new Promise((resolve) => socket.onopen = resolve);
    socket.send('{"id":1,"method":"initialize","params":{"clientName":"x"}}');
    await new Promise((resolve) => socket.onmessage = resolve);
    const closed = new Promise((resolve) => socket.onclose = resolve);
    socket.close();
    await closed;
  },
  "a command": async (url) => {
    await using home = await CommandHome.make();
    await home.run(["info", "--url", url]);
  },
  "a command on the user's own server": async () => {
    await using home = await CommandHome.make();
    await Deno.mkdir(home.stateDirectory, { recursive: true });
    const path = `${home.stateDirectory}/server.sock`;
    await using _server = Deno.serve({ path, onListen: () => {} }, upgradeOddly);
    await home.run(["info"]);
  },
  "a command that is not waited for": async (url) => {
    await using home = await CommandHome.make();
    const [program, ...args] = home.words(["info", "--url", url]);
    await new Deno.Command(program, { args, clearEnv: true, env: home.env }).output();
  },
};

for (const [name, open] of Object.entries(DOORS)) {
  Deno.test(`${name} notices an answer that is not as the document says`, async () => {
    await using server = startOddServer();
    const messages = await reported(() => open(`ws://127.0.0.1:${server.addr.port}`));
    assert.match(messages.join("\n"), /initialize (answers more than|does not answer as) its row says/);
  });
}

Deno.test("lines of a conversation that has ended are checked against the document", async () => {
  const request = '{"id":1,"method":"environment/status"}\n';
  const seen: string[] = [];
  await assertLines(request, '{"id":1,"result":{"status":"ready"}}\n', (method) => seen.push(method));
  assert.deepEqual(seen, ["environment/status"]);
  await assert.rejects(assertLines(request, '{"id":1,"result":{"status":"odd"}}\n'), /does not answer as its row says/);
  await assert.rejects(assertLines("", '{"method":"no/such","params":{}}\n'), /the table has no notification/);
});

Deno.test("what a command sends and gets has to fit the document", async () => {
  const path = await Deno.makeTempFile();
  try {
    const trace = new FrameTrace(path);
    const add = (line: string) => Deno.writeTextFileSync(path, line, { append: true });
    add('7.1 > {"id":1,"method":"environment/status"}\n8.1 > {"id":1,"method":"fs/getMetadata","params":');
    await trace.check();
    add('{"path":"file:///a"}}\n7.1 < {"id":1,"result":{"status":"ready"}}\n');
    await trace.check();
    assert.deepEqual([...trace.checked], ["environment/status"]);
    const wrong: Record<string, RegExp> = {
      '7.1 > {"id":2,"method":"process/read","params":{"processId":5}}':
        /these parameters of process\/read.* are wrong/,
      '7.1 > {"id":3,"method":"process/red","params":{}}': /the document has no process\/red/,
      '7.1 > {"method":"initialised"}': /the document has no initialised/,
      // Each connection has its own ids.
      '8.1 < {"id":1,"result":{"status":"ready"}}': /fs\/getMetadata does not answer as its row says/,
      '7.1 < {"method":"process/exited","params":{"processId":"p"}}': /process\/exited does not answer as its row says/,
      "something else": /no line of a trace/,
    };
    for (const [line, message] of Object.entries(wrong)) {
      add(`${line}\n7.2 > {"id":9,`);
      await assert.rejects(trace.check(), message);
      add('"method":"environment/status"}\n');
      await trace.check();
    }
  } finally {
    await Deno.remove(path);
  }
});

/** What begins a conversation without any check. */
const OPENERS: Record<string, (text: string) => boolean> = {
  "connect of the client library": (text) =>
    /import (?!type\b)[^;]*\bconnect\b[^;]* from "[^"]*\/(?:src\/client\/(?:mod|connect)|rpc_client)\.ts"/.test(text),
  "Session.open": (text) => /\bSession\.open\(/.test(text),
  "Client.handshake": (text) => /\bClient\.handshake\((?!await checked\()/.test(text),
  "a websocket": (text) => /(?<!\bchecked\(await )\b(?:new WebSocket|openWebSocket)\(/.test(text),
  "a rendezvous": (text) => /(?<!\bchecked\(await )\bopenRendezvousLink\(/.test(text),
  "a command outside of a CommandHome": (text) =>
    new RegExp(`(?:runCli\\(\\[|\\.\\.\\.(?:args|words),)\\s*"(?:${Object.keys(CLIENT_COMMANDS).join("|")})"`).test(
      text,
    ),
  "a command without the environment of its home": (text) =>
    /\bhome\.words\(/.test(text) && !/\bhome\.env\b/.test(text),
  // Other protocols have an `initialize`, too, but no `clientName`.
  "a handshake by hand": (text) =>
    /\binitialize\b/.test(text) && /\bclientName\b/.test(text) &&
    !/from "[^"]*\/(?:answer_check|raw_websocket)\.ts"/.test(text),
};

/** The client that the openers open. */
const OPENED = ["tests/support/rpc_client.ts", "tests/support/channel.ts"];

/** The only ones. Each hands what it has opened to a check. */
const CHECKED_OPENERS: Record<string, readonly string[]> = {
  "tests/support/test_server.ts": ["Client.handshake"],
  "tests/support/remote_client.ts": ["Client.handshake"],
  "tests/support/rendezvous_channel.ts": ["a rendezvous"],
  "tests/support/checked_box.ts": ["connect of the client library"],
  // Over a RawWebSocket, which checks.
  "tests/support/cuttable_connection.ts": ["Client.handshake"],
  "tests/fixtures/noise/stream_client.ts": ["Client.handshake"],
  // By `dial`, in a CommandHome.
  "tests/commands/ssh.ts": ["a handshake by hand"],
};

Deno.test("no integration test has a client that is not checked", () => {
  const files = reachedFrom(["integration", "commands", "cli"].flatMap((name) => [...filesBelow(`tests/${name}`)]));
  assert.ok(files.size > 60, "the imports are followed");
  const found: Record<string, string[]> = {};
  for (const file of files) {
    if (OPENED.includes(file)) continue;
    const openers = openersIn(Deno.readTextFileSync(new URL(file, ROOT)));
    if (openers.length > 0) found[file] = openers;
  }
  const advice = "connect by TestServer.connect, connectChecked, connectBox, connectThrough, RawWebSocket or " +
    "StdioServer; run a command in a CommandHome; let another program connect through a CheckedRelay";
  assert.deepEqual(found, CHECKED_OPENERS, advice);
});

Deno.test("a client that is not checked would be found in a test", () => {
  const lines: Record<string, string> = {
    "connect of the client library": 'import { connect, type Devbox } from "../../src/client/mod.ts";',
    "Session.open": "await Session.open(options)",
    "Client.handshake": "Client.handshake(channel, {})",
    "a websocket": "new WebSocket(server.url)",
    "a rendezvous": "await openRendezvousLink({})",
    "a command outside of a CommandHome": 'await runCli(["exec", "true"])',
    "a command without the environment of its home": 'new Deno.Command(program, { args: home.words(["ps"]) })',
    "a handshake by hand": 'conn.write(\'{"id":1,"method":"initialize","params":{"clientName":"x"}}\')',
  };
  assert.deepEqual(Object.keys(lines), Object.keys(OPENERS));
  for (const [name, line] of Object.entries(lines)) assert.deepEqual(openersIn(line), [name]);
  const harmless = [
    'import { type Client, RpcError } from "../support/rpc_client.ts";',
    "Client.handshake(await checked(channel), {})",
    "await checked(await openWebSocket(server.url))",
    'await runCli(["doctor", "--json"])',
    'new Deno.Command(program, { args: home.words(["ps"]), env: home.env })',
    'import { RawWebSocket } from "../support/raw_websocket.ts"; socket.sendText(\'{"id":1,"method":"initialize"}\')',
  ];
  for (const line of harmless) assert.deepEqual(openersIn(line), []);
});

function openersIn(text: string): string[] {
  const code = text.replace(/\/\*[\s\S]*?\*\//g, "").replace(/^\s*\/\/.*$/gm, "");
  return Object.keys(OPENERS).filter((name) => OPENERS[name]!(code));
}

/** These files of `tests/`, what they import from there, and the fixtures they start as programs. */
function reachedFrom(files: readonly string[]): Set<string> {
  const reached = new Set(files);
  for (const file of reached) {
    const text = Deno.readTextFileSync(new URL(file, ROOT));
    const here = new URL(file, ROOT);
    for (const [, specifier] of text.matchAll(/from "(\.[^"]+)"/g)) add(new URL(specifier!, here));
    for (const [, specifier] of text.matchAll(/new URL\("(\.[^"]+\.ts)", import\.meta\.url\)/g)) {
      add(new URL(specifier!, here));
    }
    for (const [, name] of text.matchAll(/fixtureCommand\("(\w+)"/g)) add(new URL(`tests/fixtures/${name}.ts`, ROOT));
  }
  return reached;

  function add(target: URL): void {
    const path = target.pathname.slice(ROOT.pathname.length);
    if (path.startsWith("tests/")) reached.add(path);
  }
}

/** Both sources against a registry that says no, says nonsense, is away, or goes silent. */

import assert from "node:assert/strict";
import { createLogger } from "../../../src/log.ts";
import { generateKeyPair } from "../../../src/remote/noise/keys.ts";
import { NoiseSource } from "../../../src/remote/executor/noise_source.ts";
import { PlainSource } from "../../../src/remote/executor/plain_source.ts";
import type { RemoteSource, RemoteSourceOptions } from "../../../src/remote/executor/remote_source.ts";
import { RegistryError } from "../../../src/remote/registry/registry_error.ts";
import { TinyRendezvous, type TinyRendezvousOptions } from "../../support/tiny_rendezvous.ts";

const TOKEN = "a-token-that-stands-in-no-message";
const IDENTITY = generateKeyPair();

type Form = "noise" | "plain";

function open(form: Form, url: string, options: Partial<RemoteSourceOptions> = {}): RemoteSource {
  const credential = { token: () => Promise.resolve(TOKEN), isConfidential: false };
  const all = { url, id: "devbox", credential, env: {}, ...options };
  return form === "noise" ? new NoiseSource({ ...all, identity: IDENTITY }) : new PlainSource(all);
}

/** What ended a source whose registry answers like this. */
async function failure(form: Form, answer: TinyRendezvousOptions["answer"], options?: Partial<RemoteSourceOptions>) {
  await using rendezvous = new TinyRendezvous({ answer: answer! });
  const source = open(form, rendezvous.url, options);
  await source.run(() => Promise.resolve());
  await source.dropAll();
  assert.ok(source.failure !== null && source.failure.isFinal);
  assert.ok(!source.failure.message.includes(TOKEN));
  return source.failure.message;
}

const json = (status: number, body: unknown) => () => new Response(JSON.stringify(body), { status });
const text = (status: number, body: string) => () => new Response(body, { status });

Deno.test("a final failure ends the source, in the reference's words", async () => {
  const error = { error: { code: "not_found", message: "no such executor" } };
  const cases: [Form, TinyRendezvousOptions["answer"], string][] = [
    [
      "plain",
      json(401, error),
      "executor registry authentication error: executor registry authentication failed (401 Unauthorized): no such executor",
    ],
    [
      "plain",
      text(403, ""),
      "executor registry authentication error: executor registry authentication failed (403 Forbidden): empty error body",
    ],
    ["plain", json(404, error), "executor registry request failed (404 Not Found, not_found): no such executor"],
    ["plain", text(409, "taken"), "executor registry request failed (409 Conflict): taken"],
    ["plain", text(400, ""), "executor registry request failed (400 Bad Request): empty or malformed error body"],
    [
      "plain",
      text(200, "<html>"),
      "executor registry request failed: error decoding response body: the answer is not JSON",
    ],
    [
      "plain",
      json(200, { id: "r", executor_id: "devbox" }),
      "executor registry request failed: error decoding response body: missing field `url`",
    ],
    [
      "plain",
      json(200, { id: "r", executor_id: "devbox", url: "http://x" }),
      "executor registry request failed: error decoding response body: field `url` is not a ws:// or wss:// URL",
    ],
    [
      "plain",
      json(200, { id: "r", executor_id: "devbox", url: "ws://10.0.0.1" }),
      "remote transport requires wss for non-loopback endpoints",
    ],
    [
      "plain",
      json(200, { id: "r", executor_id: "devbox", url: "ws://127.0.0.1:9", spareConnections: 0 }),
      "executor registry request failed: error decoding response body: field `spareConnections` is not a positive whole number",
    ],
    [
      "noise",
      json(401, { detail: { code: "x", message: "who are you" } }),
      "environment registry authentication error: environment registry authentication failed (401 Unauthorized): who are you",
    ],
    [
      "noise",
      text(307, ""),
      "environment registry request failed (307 Temporary Redirect): empty or malformed error body",
    ],
    [
      "noise",
      json(200, noiseAnswer({ environment_id: "other" })),
      "environment registry returned a different environment id",
    ],
    [
      "noise",
      json(200, noiseAnswer({ security_profile: "plain_v1" })),
      "environment registry returned unsupported security profile `plain_v1`",
    ],
    [
      "noise",
      json(200, noiseAnswer({ executor_registration_id: 5 })),
      "environment registry request failed: error decoding response body: field `executor_registration_id` is not a text",
    ],
    [
      "noise",
      json(200, noiseAnswer({ streamWindowBytes: 1024 })),
      "environment registry request failed: error decoding response body: field `streamWindowBytes` is not a number of at least 524288",
    ],
    // An answer that holds the token could show it to whoever logs answers.
    ["noise", json(200, noiseAnswer({ extra: TOKEN })), "invalid environment registry executor registration response"],
    [
      "noise",
      text(401, TOKEN),
      "environment registry authentication error: environment registry authentication failed (401 Unauthorized): response body omitted",
    ],
  ];
  await Promise.all(cases.map(async ([form, answer, expected]) => assert.equal(await failure(form, answer), expected)));
  const confidential = { token: () => Promise.resolve(TOKEN), isConfidential: true };
  assert.match(await failure("noise", text(404, "secret"), { credential: confidential }), /response body omitted$/);
});

Deno.test("addresses that cannot work are refused before anything is sent", () => {
  const refused = (url: string, id: string, form: Form = "plain") => {
    try {
      open(form, url, { id });
      return "";
    } catch (error) {
      assert.ok(error instanceof RegistryError);
      return error.message;
    }
  };
  assert.equal(refused("  ", "x"), "executor registry configuration error: executor registry base URL is required");
  assert.equal(
    refused("//", "x", "noise"),
    "environment registry configuration error: environment registry base URL is required",
  );
  assert.equal(
    refused("http://127.0.0.1:9/", " "),
    "executor registry configuration error: executor id is required for remote exec-server registration",
  );
  assert.match(refused("ftp://x", "x"), /not an http:\/\/ or https:\/\/ URL/);
  assert.match(refused("http://10.1.2.3", "x"), /must be https/);
  for (const url of ["http://127.0.0.1", "http://localhost:1/a/", "http://[::1]:1", "https://hub.example"]) {
    assert.equal(refused(url, "x"), "", url);
  }
  assert.ok(open("plain", "http://10.1.2.3", { isInsecureAccepted: true }));
});

for (const form of ["noise", "plain"] as const) {
  Deno.test(`a failure that may pass is tried again, and logged once (${form})`, async () => {
    const lines: string[] = [];
    const log = createLogger({ level: "info", format: "text", write: (line) => lines.push(line) });
    const answers = [503, 502, 429, 503];
    // Nobody listens at first.
    const probe = Deno.listen({ hostname: "127.0.0.1", port: 0 });
    const { port } = probe.addr;
    probe.close();
    const source = open(form, `http://127.0.0.1:${port}`, { log, clock: hastyClock() });
    const running = source.run(() => Promise.resolve());
    await untilLine(lines, "Connection refused");
    await using rendezvous = new TinyRendezvous({
      port,
      answer: () => answers.length > 0 ? new Response("busy", { status: answers.shift()! }) : null,
    });
    await rendezvous.until(() => rendezvous.hasExecutor);
    await untilLine(lines, "connected to the rendezvous");
    source.close();
    await source.dropAll();
    await running;
    assert.equal(source.failure, null);
    const states = lines.filter((line) => line.includes("trying again")).map((line) =>
      /\((\d+)|refused/.exec(line)![0]
    );
    assert.deepEqual(states, ["refused", "(503", "(502", "(429", "(503"]);
    assert.ok(!lines.join("").includes(TOKEN));
  });
}

Deno.test("an upgrade that is refused with 4xx has the executor register anew, at once if the URL was an old one", async () => {
  let refusals = 0;
  await using rendezvous = new TinyRendezvous({ refuseUpgrade: () => refusals-- > 0 ? 401 : null });
  const source = open("noise", rendezvous.url, { clock: hastyClock() });
  const running = source.run(() => Promise.resolve());
  const registrations = () => rendezvous.calls.filter(({ path }) => path.endsWith("/register")).length;
  await rendezvous.until(() => rendezvous.executorConnections === 1);
  rendezvous.cutExecutor();
  await rendezvous.until(() => rendezvous.executorConnections === 2);
  assert.equal(registrations(), 1, "the URL was good for a second time");
  refusals = 1;
  rendezvous.cutExecutor();
  await rendezvous.until(() => rendezvous.executorConnections === 3);
  assert.equal(registrations(), 2);
  source.close();
  await source.dropAll();
  await running;
});

Deno.test("a rendezvous that becomes silent is given up", async () => {
  const lines: string[] = [];
  const log = createLogger({ level: "info", format: "text", write: (line) => lines.push(line) });
  // Accepts, answers the upgrade, and then neither reads nor writes.
  using silent = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const conns: Deno.Conn[] = [];
  const accepting = (async () => {
    for await (const conn of silent) {
      conns.push(conn);
      const head = new Uint8Array(4096);
      const count = await conn.read(head) ?? 0;
      const key = /Sec-WebSocket-Key: (\S+)/.exec(new TextDecoder().decode(head.subarray(0, count)))![1]!;
      const { websocketAccept } = await import("../../../src/transport/door/upgrade.ts");
      const accept = websocketAccept(key);
      await conn.write(new TextEncoder().encode(
        `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n`,
      ));
    }
  })().catch(() => {/* Closed at the end of the test. */});
  await using registry = new TinyRendezvous({
    answer: () => Response.json(noiseAnswer({ url: `ws://127.0.0.1:${silent.addr.port}` })),
  });
  const source = open("noise", registry.url, { log, pingIntervalMs: 20, clock: hastyClock() });
  const running = source.run(() => Promise.resolve());
  await untilLine(lines, "nothing came for 40 ms");
  await untilLine(lines, "connected to the rendezvous", 2);
  const registrations = registry.calls.filter(({ path }) => path.endsWith("/register")).length;
  assert.equal(registrations >= 2, true, "the old websocket may count as open there: the URL is in use");
  source.close();
  await source.dropAll();
  await running;
  silent.close();
  await accepting;
  for (const conn of conns) conn.close();
});

Deno.test("the plain form has one websocket, or as many spare ones as the rendezvous asks for", async () => {
  for (const spareConnections of [undefined, 3]) {
    await using rendezvous = new TinyRendezvous(spareConnections === undefined ? {} : { spareConnections });
    const source = open("plain", rendezvous.url);
    const links: Promise<unknown>[] = [];
    const running = source.run(async (link) => {
      links.push(link.receive(() => {}));
      await links.at(-1);
    });
    const expected = spareConnections ?? 1;
    await rendezvous.until(() => rendezvous.executorConnections === expected);
    // A client takes one; where there are spare ones the next takes its place, and else the next comes after it.
    const client = new WebSocket(`${rendezvous.url.replace("http", "ws")}/client`);
    await new Promise((resolve) => client.onopen = resolve);
    client.send("hello");
    if (spareConnections !== undefined) await rendezvous.until(() => rendezvous.executorConnections === expected + 1);
    const closed = new Promise((resolve) => client.onclose = resolve);
    client.close();
    await closed;
    await rendezvous.until(() => rendezvous.executorConnections === expected + 1);
    const ids = new Set(rendezvous.calls.map(({ json }) => json.idempotency_id));
    assert.equal(ids.size, 1);
    assert.match([...ids][0], /^codex-exec-server-[0-9a-f]{64}$/);
    source.close();
    await source.dropAll();
    await running;
  }
});

function noiseAnswer(changes: Record<string, unknown>): Record<string, unknown> {
  return {
    environment_id: "devbox",
    url: "ws://127.0.0.1:9",
    security_profile: "noise_hybrid_ik_v1",
    executor_registration_id: "reg-1",
    ...changes,
  };
}

/** Waits a hundredth as long, but for the time limits of calls. */
function hastyClock() {
  return {
    now: () => performance.now(),
    setTimer(delayMs: number, fire: () => void): () => void {
      const timer = setTimeout(fire, delayMs >= 250 && delayMs !== 10_000 ? delayMs / 100 : delayMs);
      return () => clearTimeout(timer);
    },
  };
}

async function untilLine(lines: readonly string[], text: string, times = 1): Promise<void> {
  while (lines.filter((line) => line.includes(text)).length < times) {
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/**
 * Requests that fit the published document, sent to a real server: whenever one is refused as -32602 the document lists,
 * for its method, the constraint that was missed.
 *
 * All paths lie in a directory of their own or cannot exist, all programs end by themselves or with their session, and
 * all addresses are this machine's: the server really does what it is asked.
 */

import assert from "node:assert/strict";
import { CONSTRAINTS } from "../../src/protocol/spec/constraints.ts";
import { assertListed } from "../support/answer_check.ts";
import { proof } from "../support/proof.ts";
import { RawWebSocket } from "../support/raw_websocket.ts";
import { inScratchDirectory } from "../support/scratch_directory.ts";
import { type Pools, SchemaValues } from "../support/schema_values.ts";
import { loadSpecCheck } from "../support/spec_check.ts";
import { TestServer } from "../support/test_server.ts";

/** Of one session; then it ends with all that it holds. */
const REQUESTS_PER_SESSION = 200;

/** Methods that may wait for something that never comes; the end of the session ends the wait. */
const WAITING = ["process/wait", "process/read", "process/terminate", "http/request"];

/** Alternatives can exclude each other, so that what was made does not fit. */
const MAX_ATTEMPTS = 50;

const INVALID_PARAMS = -32602;

proof({
  name: "every -32602 to a request that fits the document names a constraint that it lists for the method",
  tries: 100_000,
  unit: "requests",
}, async ({ tries, random, remark }) => {
  const check = await loadSpecCheck();
  const methods = check.document.methods.filter(({ name, result }) => result !== undefined && name !== "session/end");
  const met = new Map<string, number>();
  const outcomes = { answered: 0, refusedAsParams: 0, otherErrors: 0, unanswered: 0 };

  await inScratchDirectory(async (directory) => {
    await using web = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, endless);
    const values = new SchemaValues(random, poolsIn(directory, web.addr.port), check.document.components.schemas);
    const request = (): { method: string; params: unknown } => {
      const { name, "x-paramsSchema": schema } = random.pick(methods);
      for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
        const params = values.make(schema);
        if (check.paramsProblem(name, params) === null) return { method: name, params };
      }
      throw new Error(`cannot make parameters of ${name} that fit the document`);
    };

    await using server = await TestServer.start({
      args: ["--log-level", "error", "--allow-tunnel"],
      env: { EMPTY: "" },
    });
    for (let left = tries; left > 0; left -= REQUESTS_PER_SESSION) {
      await Deno.remove(directory, { recursive: true }).catch(() => {});
      await Deno.mkdir(`${directory}/d`, { recursive: true });
      await Deno.writeTextFile(`${directory}/file`, "content");

      using socket = await RawWebSocket.connect(server.url);
      await socket.handshake();
      const open = new Map<number, string>();
      const count = Math.min(left, REQUESTS_PER_SESSION);
      const sending = (async () => {
        for (let id = 1; id <= count; id++) {
          const { method, params } = request();
          open.set(id, method);
          await socket.sendText(JSON.stringify({ id, method, params }));
        }
        // Answered at once: whatever is left then is waited for, except long polls.
        await socket.sendText('{"id":"sent","method":"environment/status"}');
      })();
      for (let isSent = false; !isSent || [...open.values()].some((method) => !WAITING.includes(method));) {
        // What is answered is also held against the document, by the socket.
        const message = await socket.readMessage();
        assert.ok(message !== null, "the connection stays open");
        isSent ||= message.id === "sent";
        const method = open.get(message.id);
        if (method === undefined) continue;
        open.delete(message.id);
        if (message.error === undefined) outcomes.answered++;
        else if (message.error.code !== INVALID_PARAMS) outcomes.otherErrors++;
        else {
          outcomes.refusedAsParams++;
          assertListed(check, method, message.error.message);
          const name = check.constraintNamed(method, message.error.message)!;
          met.set(name, (met.get(name) ?? 0) + 1);
        }
      }
      await sending;
      await socket.sendText('{"id":"end","method":"session/end"}');
      await socket.readUntil(({ id }) => id === "end");
      // Long polls are abandoned with their session.
      outcomes.unanswered += open.size;
    }
  });

  const rarest = [...met].sort(([, a], [, b]) => a - b).slice(0, 3).map(([name, times]) => `${name} ${times}`);
  const never = Object.keys(CONSTRAINTS).filter((name) => !met.has(name));
  remark(
    `${outcomes.answered} done, ${outcomes.refusedAsParams} refused as -32602, ${outcomes.otherErrors} other errors`,
  );
  remark(`${outcomes.unanswered} long polls ended with their session`);
  remark(
    `${met.size} of ${Object.keys(CONSTRAINTS).length} constraints met, rarest ${rarest.join(", ")}${
      never.length > 0 ? `, not ${never}` : ""
    }`,
  );
  assert.ok(outcomes.answered > tries / 10, "some of the requests are carried out");
  // With so many requests each is met, or it is none.
  if (tries >= 100_000) assert.deepEqual(never, []);
  assert.ok(met.size > Object.keys(CONSTRAINTS).length / 2, `constraints that no request met: ${never}`);
});

/** A page whose body never ends: its stream is open until the client leaves. */
function endless(): Response {
  return new Response(new ReadableStream({ start: (body) => body.enqueue(new TextEncoder().encode("x")) }));
}

function poolsIn(directory: string, webPort: number): Pools {
  const here = ["a", "b", "d", "d/e", "file", "file/x"].map((name) => `${directory}/${name}`);
  const paths = [
    ...here,
    ...here.map((path) => `file://${path}`),
    `${directory}/./d//a/`,
    `file://${directory}/%FF`,
    "/proc/nonexistent/x",
    "file://elsewhere/x",
    "file:///C:/x",
    "relative",
    "",
    "http://127.0.0.1:1/",
    "file:///x?y",
    "file:///x#y",
    "file:///%00",
    "/\0",
  ];
  const globs = [
    "*.env",
    `${directory}/*.env`,
    "a/../b",
    "/[",
    "/{a",
    "/a\\",
    "codex-project-roots://*",
    "x://y",
    "/\0",
  ];
  const base64 = ["", "aGVsbG8K", "eA==", "eA", "not base64", "aGVs\nbG8K", "eR==", "_-__"];
  const ids = ["p1", "p2", "p3", ""];
  const variables = [{}, { PATH: "/usr/bin:/bin" }, { A: "1", B: "" }];
  const patterns = ["*", "A?", "*KEY*", "*?".repeat(1000)];
  return {
    members: {
      argv: [["true"], ["cat"], ["sh", "-c", "echo hi; echo no >&2"], ["absent-program"], ["/bin/bash", "-lc", "true"]],
      env: variables,
      set: variables,
      exclude: [...Array(7).fill(["*KEY*"]), ["*".repeat(9_000_000)]],
      includeOnly: [[], ...patterns.map((pattern) => [pattern])],
      keepOnSessionEnd: [false],
      path: paths,
      cwd: paths,
      sourcePath: paths,
      destinationPath: paths,
      present: [null, ...paths],
      missing: [[], ...paths.map((path) => [path])],
      writable_roots: [[], ...paths.map((path) => [path])],
      workspaceRoots: [[], ...paths.map((path) => [path])],
      temporaryDirectories: [null, ...paths.map((path) => [path])],
      userHomeDir: [null, ...paths],
      target: ["b", "absent", "\0", `file://${directory}/d`, "file:///x?y"],
      processId: [...ids, null],
      uid: ["abcdefghijkl", null],
      handleId: ["h1", "h2", "h".repeat(33)],
      chunk: base64,
      dataBase64: base64,
      bodyBase64: [null, ...base64],
      writeId: ["w1", "w2", "\u{1F600}".repeat(600)],
      requestId: ["r1", "r2", "\u{1F600}".repeat(600)],
      scopeId: ["scope", "\u{1F600}".repeat(200)],
      after: ["own-1", "other-7", "nowhere"],
      streamResponse: [true],
      url: [
        ...Array(5).fill(`http://127.0.0.1:${webPort}/`),
        "http://127.0.0.1:1/",
        "https://127.0.0.1:1/",
        "ftp://127.0.0.1/",
        "nonsense",
        "http://",
      ],
      method: ["GET", "GET", "POST", "BAD METHOD", ""],
      valueEnvVar: [null, "HOME", "ABSENT_VARIABLE", "EMPTY"],
      headers: [
        [],
        [{ name: "x-a", value: "1" }],
        [{ name: "bad name", value: "1" }],
        [{ name: "x", value: "a\nb" }],
        [{ name: "x", value: "", valueEnvVar: "ABSENT_VARIABLE" }],
        [{ name: "x", value: "", valueEnvVar: "EMPTY" }],
      ],
      shell: [{ name: "fish", path: "/bin/bash" }, { name: "zsh", path: "/x" }],
      host: ["localhost", "127.0.0.1", "192.0.2.1"],
      port: [webPort, 1],
      tunnelId: ["t1", "t2"],
      bytes: [0, 1_000_000_000],
      // The session is this connection's, and stays so.
      resumeSessionId: [null, "nobody"],
      debounceMs: [null, 0, 50, 100_000],
    },
    sometimes: {
      // Made from its schema a sandbox hardly ever holds together.
      sandbox: [
        { sandboxPolicy: { type: "read-only" }, other: 1 },
        ...globs.map((pattern) => ({
          permissions: {
            type: "managed",
            file_system: {
              type: "restricted",
              entries: [{ path: { type: "glob_pattern", pattern }, access: "deny" }],
            },
            network: "restricted",
          },
          windowsSandboxLevel: "disabled",
          cwd: directory,
        })),
      ],
      pattern: globs,
    },
    texts: ["", "text", "ü\u{1F600}", "absent", "\0", "0".repeat(32), `sha256:${"0".repeat(64)}`, "GET", "a.b"],
    seldom: ["sandbox", "sandboxPolicy", "networkProxy", "policyContext"],
    unknownMembers: {
      other: [1, null, "x"],
      sandbox: [null, {}],
      permissions: [null, { type: "disabled" }],
      sandbox_policy: ["read-only"],
    },
  };
}

import assert from "node:assert/strict";
import { parseFlags } from "../../../src/cli/flags.ts";
import { readPlace } from "../../../src/cli/client/places/config_file.ts";
import { type ResolvedPlace, WHERE_FLAGS } from "../../../src/cli/client/places/place.ts";
import { resolvePlace } from "../../../src/cli/client/places/resolve_place.ts";
import { stateDirectory } from "../../../src/cli/client/places/state_directory.ts";

async function resolved(args: string[], env: Record<string, string> = {}): Promise<ResolvedPlace> {
  const parsed = parseFlags(WHERE_FLAGS, args, env, { hasPlaces: true });
  assert.ok(parsed.type === "values");
  return await resolvePlace(parsed, env);
}

Deno.test("resolvePlace() takes the user's own server by default, without a token", async () => {
  assert.deepEqual(await resolved([], { EXEC_SERVER_TOKEN: "secret" }), { place: { kind: "own" }, token: null });
});

Deno.test("resolvePlace() knows every kind of URL, by flag and by variable", async () => {
  const token = null;
  const url = "ws://127.0.0.1:9000/?token=x";
  assert.deepEqual(await resolved(["--url", url]), { place: { kind: "websocket", url }, token });
  assert.deepEqual(await resolved([], { EXEC_SERVER_URL: url }), { place: { kind: "websocket", url }, token });
  assert.deepEqual(await resolved(["--url=unix:/run/x.sock"]), { place: { kind: "unix", path: "/run/x.sock" }, token });
  const ssh = { kind: "ssh", port: null, install: false };
  assert.deepEqual((await resolved(["--url=ssh://devbox"])).place, { ...ssh, destination: "devbox" });
  assert.deepEqual((await resolved(["--url=ssh://me@devbox:2222/"])).place, {
    ...ssh,
    destination: "me@devbox",
    port: 2222,
  });
  assert.deepEqual((await resolved(["--url=ssh://[::1]", "--install"])).place, {
    ...ssh,
    destination: "::1",
    install: true,
  });
  assert.deepEqual((await resolved(["--url=https://r.example", "--executor=e1"])).place, {
    kind: "rendezvous",
    url: "https://r.example",
    executor: "e1",
  });
});

Deno.test("resolvePlace() sends a token only to servers that ask for one", async () => {
  const env = { EXEC_SERVER_TOKEN: " secret\n" };
  assert.equal((await resolved(["--url=ws://127.0.0.1:1"], env)).token, "secret");
  assert.equal((await resolved(["--url=unix:/run/x.sock"], env)).token, null);
  assert.equal((await resolved(["--url=ssh://devbox"], env)).token, null);
  const file = await Deno.makeTempFile();
  await Deno.writeTextFile(file, "from-file\n");
  assert.equal((await resolved(["--url=ws://127.0.0.1:1", "--token-file", file], env)).token, "from-file");
  assert.equal((await resolved(["--url=ws://h", `--token-file=${file}`])).token, "from-file");
  assert.equal((await resolved(["--url=ws://h"], { EXEC_SERVER_TOKEN_FILE: file })).token, "from-file");
  await Deno.writeTextFile(file, "\n");
  await assert.rejects(resolved(["--url=ws://h", "--token-file", file]), /the file is empty/);
  await Deno.remove(file);
  await assert.rejects(resolved(["--url=ws://h", "--token-file", file]), /cannot read --token-file/);
});

Deno.test("resolvePlace() refuses wrong URLs without showing them, because they may hold a token", async () => {
  const bad: [string[], RegExp][] = [
    [["--url=hello"], /^--url is not accepted: write ws:/],
    [["--url=ftp://h/secret"], /unknown scheme ftp: \(known are ws:,/],
    [["--url=unix:x.sock"], /must be absolute/],
    [["--url=https://r.example"], /add --executor ID/],
    [["--url=ws://h", "--executor=e"], /through its rendezvous/],
    [["--url=ws://h", "--install"], /--install is for ssh/],
    [["--install"], /--install is for ssh/],
    [["--url=ssh://-oProxyCommand=x"], /begin with a dash/],
    [["--url=ssh://h/path"], /write ssh:/],
    [["--executor=e"], /needs the --url/],
    [["@a", "--url=ws://h"], /both name a server/],
    [["@a", "@b"], /only one place may be given/],
  ];
  for (const [args, message] of bad) {
    await assert.rejects(resolved(args), (error: Error) => message.test(error.message));
  }
});

Deno.test("a named place is read from config.toml, beside which its token file lies", async () => {
  const home = await Deno.makeTempDir();
  try {
    const env = { HOME: home };
    await assert.rejects(resolved(["@devbox"], env), /there is no .*config\.toml; write \[places\.devbox\]/);
    await Deno.mkdir(`${home}/.config/exec-server`, { recursive: true });
    await Deno.writeTextFile(
      `${home}/.config/exec-server/config.toml`,
      '[places.devbox]\nurl = "wss://devbox.example"\ntoken-file = "devbox.token"\n',
    );
    await Deno.writeTextFile(`${home}/.config/exec-server/devbox.token`, "t1\n");
    assert.deepEqual(await resolved(["@devbox"], { ...env, EXEC_SERVER_URL: "ws://other" }), {
      place: { kind: "websocket", url: "wss://devbox.example" },
      token: "t1",
    });
    await assert.rejects(resolved(["@devbx"], env), /did you mean @devbox\?/);
  } finally {
    await Deno.remove(home, { recursive: true });
  }
});

Deno.test("readPlace() says what is wrong with the file", () => {
  const read = (text: string) => () => readPlace(text, "a", { path: "/c.toml", env: { HOME: "/h" } });
  assert.throws(read("[places.a"), /cannot read \/c\.toml/);
  assert.throws(read("places = 1"), /must be a table/);
  assert.throws(read("[places.a]\n"), /has no url/);
  assert.throws(read("[places.a]\nurl = 1\n"), /url in \/c\.toml must be a string/);
  assert.throws(read('[places.a]\nurl = "ws://h"\ntoken = "x"\n'), /has the unknown key "token" \(known are /);
  assert.throws(read("[places.b]\n"), /has no such place/);
  const place = read('[places.a]\nurl = "ws://h"\ntoken-file = "~/t"\n')();
  assert.deepEqual(place, { url: "ws://h", tokenFile: "/h/t", executor: null });
});

Deno.test("stateDirectory() is below the user's state, and below /tmp where a socket's path would be too long", () => {
  assert.equal(stateDirectory({ HOME: "/home/me" }), "/home/me/.local/state/exec-server");
  assert.equal(stateDirectory({ HOME: "/home/me", XDG_STATE_HOME: "/s" }), "/s/exec-server");
  assert.equal(
    stateDirectory({ HOME: "/home/me", XDG_STATE_HOME: "not-absolute" }),
    "/home/me/.local/state/exec-server",
  );
  assert.equal(stateDirectory({ HOME: `/home/${"x".repeat(90)}` }), `/tmp/exec-server-${Deno.uid()}`);
  assert.equal(stateDirectory({}), `/tmp/exec-server-${Deno.uid()}`);
});

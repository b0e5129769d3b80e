/**
 * The commands at terminals, as people use them: in tmux, against what the screen has to show, on the user's own server
 * and again through `ssh://`. Needs the compiled program, `EXEC_SERVER_BINARY`.
 *
 *     deno task test --one-at-a-time tests/commands/terminal.ts
 */

import assert from "node:assert/strict";
import { CommandHome } from "../support/command_home.ts";
import { SshHost } from "./ssh_host.ts";
import { type Pane, Tmux } from "./tmux.ts";
import { UnixRelay } from "./unix_relay.ts";

const binary = Deno.env.get("EXEC_SERVER_BINARY");

async function whyNot(): Promise<string | null> {
  if (binary === undefined) return "EXEC_SERVER_BINARY names no compiled program";
  for (const program of ["/usr/bin/tmux", "/usr/bin/vim", "/usr/bin/less", "/usr/bin/top"]) {
    if (!await Deno.stat(program).then(() => true, () => false)) return `${program} is not installed`;
  }
  return await SshHost.missing();
}

const missing = await whyNot();

interface Scene {
  readonly home: CommandHome;
  readonly tmux: Tmux;
  readonly pane: Pane;
  /** Cuts the connection of the commands. */
  cut(): Promise<void>;
  /** Lets them come back. */
  mend(): Promise<void>;
}

/** The same on the user's own server and through ssh. */
function everywhere(name: string, play: (scene: Scene) => Promise<void>): void {
  for (const where of ["own", "ssh"] as const) {
    const title = `${where}: ${name}`;
    Deno.test({
      name: missing === null ? title : `${title} (skipped: ${missing})`,
      ignore: missing !== null,
      fn: () => where === "own" ? onOwnServer(play) : overSsh(play),
    });
  }
}

const PROGRAMS = binary?.replace(/\/[^/]*$/, "");

async function onOwnServer(play: (scene: Scene) => Promise<void>): Promise<void> {
  await using home = await CommandHome.make();
  // The first command starts the server; the others go there through something that can be cut.
  assert.equal((await home.run(["exec", "true"])).code, 0);
  await using relay = UnixRelay.start(`${home.path}/relay.sock`, `${home.stateDirectory}/server.sock`);
  const env = { ...home.env, PATH: `${PROGRAMS}:${Deno.env.get("PATH")}`, EXEC_SERVER_URL: `unix:${relay.path}` };
  await using tmux = await Tmux.make(env);
  const pane = await tmux.open("first", home.path);
  await play({
    home,
    tmux,
    pane,
    cut: () => Promise.resolve(relay.cut()),
    mend: () => Promise.resolve(relay.mend()),
  });
}

async function overSsh(play: (scene: Scene) => Promise<void>): Promise<void> {
  await using home = await CommandHome.make();
  await using host = await SshHost.start({ path: `${PROGRAMS}:/usr/bin:/bin` });
  const env = {
    ...home.env,
    PATH: `${host.bin}:${PROGRAMS}:${Deno.env.get("PATH")}`,
    EXEC_SERVER_URL: "ssh://devbox",
  };
  await using tmux = await Tmux.make(env);
  const pane = await tmux.open("first", home.path);
  const gate = `${host.bin}/ssh`;
  const open = await Deno.readTextFile(gate);
  try {
    await play({
      home,
      tmux,
      pane,
      async cut() {
        await Deno.writeTextFile(gate, "#!/bin/sh\necho cut >&2\nexit 255\n");
        for (const pid of await host.clients()) Deno.kill(pid, "SIGKILL");
      },
      mend: () => Deno.writeTextFile(gate, open),
    });
  } finally {
    await host.endServers();
  }
}

everywhere(
  "vim is edited in, resized, stopped and continued, and cut off without harm",
  async ({ home, pane, cut, mend }) => {
    const file = `${home.path}/file`;
    await pane.enter(`exec-server exec -t vim -u NONE -N ${file}`);
    await pane.until((lines) => lines[1] === "~");
    await pane.type("ihello");
    await pane.until((lines) => lines[0] === "hello" && lines.at(-1) === "-- INSERT --");
    await pane.resize(100, 30);
    await pane.until((lines) => lines.length === 30 && lines[0] === "hello");

    // `~^Z` stops our program, in front of which the shell shows its prompt.
    await pane.press("Enter");
    await pane.type("~");
    await pane.press("C-z");
    await pane.until((lines) => lines.some((line) => line.includes("Stopped")));
    await pane.enter("stty -a | grep -o '[-]*icanon'");
    await pane.until((lines) => lines.includes("icanon"));
    await pane.enter("fg");
    const before = await pane.until((lines) => {
      return lines[0] === "hello" && lines[2] === "~" && lines.at(-1) === "-- INSERT --";
    });

    await cut();
    await pane.until((lines) => lines.at(-1)!.includes("connection lost, trying again"));
    await mend();
    const after = await pane.until((lines) => lines.at(-1) === "-- INSERT --");
    assert.deepEqual(after, before);
    await pane.type("there");
    await pane.until((lines) => lines[1] === "there");
    await pane.press("Escape");
    await pane.enter(":wq");
    await pane.prompt();
    await pane.enter("echo code=$?");
    await pane.until((lines) => lines.includes("code=0"));
    assert.equal(await Deno.readTextFile(file), "hello\nthere\n");
  },
);

everywhere("less pages, a progress bar stays on its line, and Ctrl-C ends what runs", async ({ home, pane }) => {
  const text = Array.from({ length: 200 }, (_, n) => `line ${n + 1}`).join("\n");
  await Deno.writeTextFile(`${home.path}/text`, `${text}\n`);
  await pane.enter(`exec-server exec -t less ${home.path}/text`);
  await pane.until((lines) => lines[0] === "line 1" && lines[22] === "line 23");
  await pane.type(" ");
  await pane.until((lines) => lines[0] === "line 24");
  await pane.type("G");
  await pane.until((lines) => lines[22] === "line 200");
  await pane.type("q");
  await pane.prompt();
  await pane.enter("clear");
  await pane.until((lines) => lines.length === 1);
  const bar =
    "for n in 1 2 3 4 5 6 7 8 9; do printf '\\r[%-9s]' $(printf '%*s' $n '' | tr ' ' '#'); done; echo; echo end";
  await pane.enter(`exec-server exec -t sh -c "${bar.replaceAll("$", "\\$")}"`);
  const lines = await pane.until((lines) => lines.includes("end"));
  assert.equal(lines.filter((line) => line === "[#########]").length, 1, lines.join("\n"));
  // A program that has answered surely gets the signal; a shell that is just about to start one may swallow it.
  await pane.prompt();
  await pane.enter("clear; exec-server exec -t sh -c 'echo begun; exec cat'; echo code=$?");
  await pane.until((lines) => lines.includes("begun"));
  await pane.enter("here");
  await pane.until((lines) => lines.filter((line) => line === "here").length === 2);
  await pane.press("C-c");
  await pane.until((lines) => lines.some((line) => line.endsWith("code=130")));
});

everywhere("one attaches and detaches while another looks on, and both see the same", async ({ home, tmux, pane }) => {
  await pane.enter("exec-server exec --detach -t --name job -- sh -c 'echo begun; while read x; do echo got:$x; done'");
  await pane.until((lines) => lines.length > 1 && lines.at(-1) === "local>");
  const viewer = await tmux.open("viewer", home.path);
  await viewer.enter("exec-server attach --view job");
  await viewer.until((lines) => lines[0] === "begun");
  const second = await tmux.open("second", home.path);
  await second.enter("exec-server attach job");
  await second.until((lines) => lines[0] === "begun");
  await second.enter("one");
  for (const each of [second, viewer]) await each.until((lines) => lines.includes("got:one"));
  await second.type("~.");
  await second.until((lines) => lines.includes("exec-server: detached from job"));
  await pane.enter("clear; exec-server attach job; echo code=$?");
  await pane.until((lines) => lines[0] === "begun" && lines.includes("got:one"));
  await pane.enter("two");
  for (const each of [pane, viewer]) await each.until((lines) => lines.includes("got:two"));
  await pane.press("C-d");
  for (const each of [pane, viewer]) await each.prompt();
});

everywhere("top is shown, left with ~., and the terminal is as it was", async ({ pane }) => {
  await pane.enter("exec-server exec -t top");
  await pane.until((lines) => lines[0]!.startsWith("top - ") && lines.some((line) => line.includes("PID USER")));
  await pane.press("Enter");
  await pane.type("~.");
  await pane.until((lines) => lines.includes("exec-server: connection closed") && lines.at(-1) === "local>");
  await pane.enter("clear; stty -a | grep -o '[-]*icanon'");
  await pane.until((lines) => lines.includes("icanon"));
});

/** Asks for the mouse and for brackets around what is pasted, and shows every byte that it gets; `q` ends it. */
const SHOWS_BYTES = `
import os, termios, tty
before = termios.tcgetattr(0)
tty.setraw(0)
os.write(1, b"\\x1b[?1000h\\x1b[?1006h\\x1b[?2004hready\\r\\n")
got = b""
while not got.endswith(b"q"):
    got = os.read(0, 1024)
    os.write(1, b"got:" + got.hex().encode() + b"\\r\\n")
termios.tcsetattr(0, termios.TCSANOW, before)
`;

const hexOf = (text: string) => new TextEncoder().encode(text).toHex();

everywhere(
  "the mouse and what is pasted reach the program, and the terminal asks for neither after it",
  async (scene) => {
    const { home, pane, tmux } = scene;
    await Deno.writeTextFile(`${home.path}/shows.py`, SHOWS_BYTES);
    await pane.enter(`clear; exec-server exec -t python3 ${home.path}/shows.py; echo code=$?`);
    await pane.until((lines) => lines.includes("ready"));
    // What the program asks for has come through to this terminal.
    assert.deepEqual(await pane.mouseModes(), ["mouse_standard_flag", "mouse_sgr_flag"]);
    const click = "\x1b[<0;5;3M\x1b[<0;5;3m";
    await pane.type(click);
    await pane.until((lines) => lines.join("").replaceAll("got:", "").includes(hexOf(click)));
    await pane.paste("two\nlines ~. ü");
    const pasted = hexOf("\x1b[200~two\rlines ~. ü\x1b[201~");
    await pane.until((lines) => lines.join("").replaceAll("got:", "").includes(pasted));
    await pane.type("q");
    await pane.until((lines) => lines.includes("code=0"));

    // A program that is left in the middle switches nothing off itself.
    await pane.enter(`clear; exec-server exec -t python3 ${home.path}/shows.py`);
    await pane.until((lines) => lines.includes("ready"));
    await pane.press("Enter");
    await pane.type("~.");
    await pane.until((lines) => lines.includes("exec-server: connection closed") && lines.at(-1) === "local>");
    assert.deepEqual(await pane.mouseModes(), []);

    // Who attaches gets the modes with the screen.
    await pane.enter(`clear; exec-server exec --detach -t --name shows -- python3 ${home.path}/shows.py`);
    await pane.enter("until exec-server logs shows | grep -q ready; do :; done; clear; echo written");
    await pane.until((lines) => lines[0] === "written");
    const second = await tmux.open("second", home.path);
    await second.enter("exec-server attach shows");
    await second.until((lines) => lines[0] === "ready");
    assert.deepEqual(await second.mouseModes(), ["mouse_standard_flag", "mouse_sgr_flag"]);
    await second.paste("again");
    await second.until((lines) => lines.includes(`got:${hexOf("\x1b[200~again\x1b[201~")}`));
    await second.type("q");
    await second.prompt();
  },
);

/** Real programs on real terminals, driven over the protocol and compared by what a person would see. */

import assert from "node:assert/strict";
import { areInstalled } from "../support/installed.ts";
import type { Client } from "../support/rpc_client.ts";
import { inScratchDirectory } from "../support/scratch_directory.ts";
import type { TerminalScreen } from "../support/terminal_screen.ts";
import { KEY, type TerminalOptions, TerminalSession } from "../support/terminal_session.ts";
import { TestServer } from "../support/test_server.ts";

const BASH = ["bash", "--norc", "--noprofile", "-i"];
const BASH_OPTIONS: TerminalOptions = { env: { PS1: "$ ", HISTFILE: "/dev/null" } };

interface Bench {
  readonly client: Client;
  /** Empty, and gone after the test. */
  readonly directory: string;
}

function terminalTest(claim: string, programs: readonly string[], test: (bench: Bench) => Promise<void>): void {
  Deno.test({
    name: claim,
    ignore: !areInstalled(programs, claim),
    fn: () =>
      inScratchDirectory(async (directory) => {
        await using server = await TestServer.start();
        await using client = await server.connect();
        await test({ client, directory });
      }),
  });
}

terminalTest(
  "an interactive bash has job control, and Ctrl-C interrupts its job alone",
  ["bash"],
  async ({ client }) => {
    await using bash = await TerminalSession.start(client, BASH, BASH_OPTIONS);
    // No word about missing job control or an inappropriate ioctl.
    await bash.shows(["$"]);
    await bash.enter("sh -c 'echo ready; exec sleep 1000'");
    const started = ["$ sh -c 'echo ready; exec sleep 1000'", "ready"];
    await bash.shows(started);
    await bash.type(KEY.ctrlC);
    await bash.shows([...started, "^C", "$"]);
    await bash.enter("echo $?");
    await bash.shows([...started, "^C", "$ echo $?", "130", "$"]);
    await bash.enter("exit 3");
    assert.equal(await bash.exitCode(), 3);
  },
);

terminalTest("Ctrl-Z stops a job of bash, bg lets it run on, jobs shows it", ["bash"], async ({ client }) => {
  await using bash = await TerminalSession.start(client, BASH, BASH_OPTIONS);
  await bash.shows(["$"]);
  const job = "sh -c 'echo ready; exec sleep 1000'";
  const screen = [`$ ${job}`, "ready"];
  await bash.enter(job);
  await bash.shows(screen);
  await bash.type(KEY.ctrlZ);
  screen.push("^Z", `[1]+  Stopped                 ${job}`);
  await bash.shows([...screen, "$"]);
  for (
    const [command, ...answer] of [
      ["jobs", `[1]+  Stopped                 ${job}`],
      ["bg", `[1]+ ${job} &`],
      ["jobs", `[1]+  Running                 ${job} &`],
      ["kill %1; wait %1", `[1]+  Terminated              ${job}`],
      ["jobs"],
    ]
  ) {
    await bash.enter(command!);
    screen.push(`$ ${command}`, ...answer);
    await bash.shows([...screen, "$"]);
  }
});

terminalTest("fg gives a stopped job the terminal back, and Ctrl-D ends its input", ["bash"], async ({ client }) => {
  await using bash = await TerminalSession.start(client, BASH, BASH_OPTIONS);
  await bash.shows(["$"]);
  const job = "sh -c 'echo ready; exec cat'";
  const screen = [`$ ${job}`, "ready"];
  await bash.enter(job);
  await bash.shows(screen);
  await bash.enter("one");
  screen.push("one", "one");
  await bash.shows(screen);
  await bash.type(KEY.ctrlZ);
  screen.push("^Z", `[1]+  Stopped                 ${job}`);
  await bash.shows([...screen, "$"]);
  await bash.enter("fg");
  screen.push("$ fg", job);
  await bash.shows(screen);
  await bash.enter("two");
  screen.push("two", "two");
  await bash.shows(screen);
  await bash.type(KEY.ctrlD);
  await bash.shows([...screen, "$"]);
  await bash.type(KEY.ctrlD);
  assert.equal(await bash.exitCode(), 0);
  assert.match(bash.screen.lines.at(-1)!, /exit$/);
});

terminalTest("a background job that reads the terminal is stopped", ["bash"], async ({ client }) => {
  await using bash = await TerminalSession.start(client, BASH, BASH_OPTIONS);
  await bash.shows(["$"]);
  await bash.enter("cat & until [ \"$(jobs -s)\" ]; do :; done; jobs | tr -s ' '");
  await bash.until(({ lines }) => lines.some((line) => line === "[1]+ Stopped cat"));
});

terminalTest("vim draws its screen, takes text and writes it", ["vim"], async ({ client, directory }) => {
  const argv = ["vim", "-u", "NONE", "-i", "NONE", "-N", "-n", "note.txt"];
  await using vim = await TerminalSession.start(client, argv, { cwd: directory, rows: 8, cols: 40 });
  await vim.shows(["", "~", "~", "~", "~", "~", "~", '"note.txt" [New]']);
  assert.equal(vim.screen.isAlternate, true);
  await vim.type("ifirst line\rsecond line: äöü\r\rlast");
  const text = ["first line", "second line: äöü", "", "last"];
  await vim.shows([...text, "~", "~", "~", "-- INSERT --"]);
  await vim.type(KEY.escape);
  await vim.shows([...text, "~", "~", "~"]);
  await vim.type("ggdd");
  await vim.until(({ lines, cursor }) => lines[0] === text[1] && cursor.row === 0);
  await vim.enter(":wq");
  assert.equal(await vim.exitCode(), 0);
  assert.equal(vim.screen.isAlternate, false);
  assert.equal(await Deno.readTextFile(`${directory}/note.txt`), "second line: äöü\n\nlast\n");
});

terminalTest("less scrolls, follows a resize and leaves", ["less"], async ({ client, directory }) => {
  await Deno.writeTextFile(`${directory}/lines`, Array.from({ length: 100 }, (_, i) => `line ${i + 1}\n`).join(""));
  const options = { cwd: directory, rows: 6, cols: 30, env: { LESSHISTFILE: "-" } };
  await using less = await TerminalSession.start(client, ["less", "lines"], options);
  await less.shows(["line 1", "line 2", "line 3", "line 4", "line 5", "lines"]);
  await less.type(" ");
  await less.shows(["line 6", "line 7", "line 8", "line 9", "line 10", ":"]);
  await less.type("G");
  await less.shows(["line 96", "line 97", "line 98", "line 99", "line 100", "(END)"]);
  await less.resize({ rows: 4, cols: 12 });
  await less.shows(["line 96", "line 97", "line 98", ":"]);
  await less.type("g");
  await less.shows(["line 1", "line 2", "line 3", ":"]);
  await less.type("q");
  assert.equal(await less.exitCode(), 0);
  assert.equal(less.screen.isAlternate, false);
});

terminalTest("top draws, shows its help, draws again, and leaves", ["top"], async ({ client, directory }) => {
  // So rare a refresh that any second one is the one asked for.
  await using top = await TerminalSession.start(client, ["top", "-d", "900"], { cwd: directory });
  const isDrawn = ({ lines }: TerminalScreen) => lines.some((line) => /^\s*PID\s+USER\b.*\bCOMMAND$/.test(line));
  await top.until((screen) => isDrawn(screen) && screen.lines.some((line) => /^\s*\d+\s+\w/.test(line)));
  await top.type("h");
  await top.until((screen) => !isDrawn(screen) && screen.lines.some((line) => line.includes("Help")));
  await top.type(KEY.escape);
  await top.until(isDrawn);
  await top.type("q");
  assert.equal(await top.exitCode(), 0);
});

terminalTest(
  "a terminal has the requested size, and programs are told of every change",
  ["bash", "stty", "tput"],
  async ({
    client,
  }) => {
    // The trap only takes note: a shell may drop a signal that comes while it runs the trap of the one before.
    const script = "trap 'changed=yes' WINCH; stty size; " +
      'while :; do [ "$changed" ] && { changed=; stty size; tput lines; tput cols; }; sleep 0.05; done';
    await using bash = await TerminalSession.start(client, ["bash", "-c", script], { rows: 7, cols: 31 });
    await bash.shows(["7 31"]);
    await bash.resize({ rows: 12, cols: 40 });
    await bash.shows(["7 31", "12 40", "12", "40"]);
    await bash.resize({ rows: 3, cols: 300 });
    await bash.shows(["3", "300"]);
  },
);

terminalTest("a terminal without a requested size has 24 rows and 80 columns", ["stty"], async ({ client }) => {
  const stream = client.follow("p");
  const env = { PATH: Deno.env.get("PATH")! };
  await client.call("process/start", { processId: "p", argv: ["stty", "size"], cwd: "/", env, tty: true });
  const output: string[] = [];
  for await (const { method, params } of stream) if (method === "process/output") output.push(atob(params.chunk));
  assert.equal(output.join(""), "24 80\r\n");
});

terminalTest("a terminal in its normal mode edits lines and echoes them", ["cat"], async ({ client }) => {
  await using cat = await TerminalSession.start(client, ["cat"], { rows: 4, cols: 10 });
  await cat.enter(`worng${KEY.backspace.repeat(3)}rd`);
  await cat.shows(["word", "word"]);
  await cat.enter("longer than ten");
  // Four rows: the first half of what was typed has left the screen.
  await cat.shows(["n ten", "longer tha", "n ten"]);
  await cat.type(KEY.ctrlD);
  assert.equal(await cat.exitCode(), 0);
});

terminalTest(
  "in raw mode every key is a byte, also those that would be signals",
  ["stty", "od"],
  async ({ client }) => {
    const script = "stty raw -echo; printf 'ready\\r\\n'; head -c 5 | od -An -tx1; stty sane";
    await using raw = await TerminalSession.start(client, ["sh", "-c", script]);
    await raw.shows(["ready"]);
    await raw.type(KEY.ctrlC + KEY.ctrlZ + KEY.ctrlD + KEY.enter + KEY.backspace);
    await raw.until(({ lines }) => lines[1] === " 03 1a 04 0d 7f");
    assert.equal(await raw.exitCode(), 0);
  },
);

terminalTest("closeStdin on a terminal is Ctrl-D, and the terminal stays writable", ["sh"], async ({ client }) => {
  const stream = client.follow("p");
  const argv = ["sh", "-c", "cat; echo again; cat"];
  const env = { PATH: Deno.env.get("PATH")! };
  await client.call("process/start", { processId: "p", argv, cwd: "/", env, tty: true });
  assert.deepEqual(await client.call("process/closeStdin", { processId: "p" }), { status: "accepted" });
  let text = "";
  for await (const { method, params } of stream) {
    if (method === "process/exited") assert.equal(params.exitCode, 0);
    if (method !== "process/output") continue;
    text += atob(params.chunk);
    if (!text.endsWith("again\r\n")) continue;
    await client.call("process/write", { processId: "p", chunk: btoa("more\n") });
    await client.call("process/closeStdin", { processId: "p" });
  }
  assert.equal(text, "again\r\nmore\r\nmore\r\n");
});

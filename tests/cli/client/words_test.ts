/** The words and texts of the client commands that need no server. */

import assert from "node:assert/strict";
import { barText } from "../../../src/cli/client/copy_bar.ts";
import { copySteps, readCopyWords } from "../../../src/cli/client/copy_words.ts";
import { findProcess } from "../../../src/cli/client/find_process.ts";
import { ageText, byteText, commandText, modeText } from "../../../src/cli/client/human_text.ts";
import { signalOf, withSignalFlag } from "../../../src/cli/client/kill.ts";
import { type LogChunk, tailOf } from "../../../src/cli/client/log_tail.ts";
import { tunnelPorts } from "../../../src/cli/client/tunnel.ts";
import type { ProcessInfo } from "../../../src/client/process/process_types.ts";

Deno.test("numbers and modes for people", () => {
  assert.deepEqual([0, 1023, 1024, 1536, 20 * 1024 ** 2, 3 * 1024 ** 4].map(byteText), [
    "0B",
    "1023B",
    "1.0K",
    "1.5K",
    "20M",
    "3.0T",
  ]);
  assert.deepEqual([0, 119_000, 120_000, 7_200_000, 172_800_000].map(ageText), ["0s", "119s", "2m", "2h", "2d"]);
  assert.equal(modeText("directory", 0o1777), "drwxrwxrwt");
  assert.equal(modeText("file", 0o4750), "-rwsr-x---");
  assert.equal(modeText("file", 0o2640), "-rw-r-S---");
  assert.equal(modeText("symlink", null), "l?????????");
});

Deno.test("a command of another machine cannot write to the terminal", () => {
  assert.equal(commandText(["sh", "-c", "echo it's"]), `sh -c 'echo it'\\''s'`);
  const text = commandText(["x\x1b[2J\n", "y"]);
  assert.ok(!text.includes("\x1b") && !text.includes("\n"), JSON.stringify(text));
  assert.equal(commandText(["a".repeat(100)], 10), `${"a".repeat(9)}…`);
});

Deno.test("the last lines of output in pieces, wherever lines end", () => {
  const chunks = (...texts: string[]): LogChunk[] =>
    texts.map((text, index) => ({ seq: index + 1, stream: "stdout", bytes: new TextEncoder().encode(text) }));
  const tail = (count: number, ...texts: string[]) =>
    tailOf(chunks(...texts), count).map(({ bytes }) => new TextDecoder().decode(bytes)).join("|");
  assert.equal(tail(1, "a\nb\n"), "b\n");
  assert.equal(tail(2, "a\nb", "c\nd"), "b|c\nd");
  assert.equal(tail(1, "a\n", "b\n"), "b\n");
  assert.equal(tail(1, "a\n", "\n"), "\n");
  assert.equal(tail(9, "a\n", "b"), "a\n|b");
  assert.equal(tail(0, "a"), "");
  assert.equal(tail(1), "");
});

Deno.test("which way a copy goes, and what keeps its name", async () => {
  const places = {
    boxPath: (path: string) => path.startsWith("/") ? path : `/home/me/${path}`.replace(/\/+$/, ""),
    isBoxDirectory: (path: string) => Promise.resolve(path === "/home/me/there" || path === "/home/me"),
    isLocalDirectory: (path: string) => Promise.resolve(path === "here" || path === "."),
  };
  const steps = async (...words: string[]) =>
    (await copySteps(readCopyWords(words), places)).map(({ from, to }) => `${from} > ${to}`);
  assert.deepEqual(await steps("a", ":b"), ["a > /home/me/b"]);
  assert.deepEqual(await steps("x/a", ":there"), ["x/a > /home/me/there/a"]);
  assert.deepEqual(await steps("a", "b/", ":new/"), ["a > /home/me/new/a", "b/ > /home/me/new/b"]);
  assert.deepEqual(await steps("a/.", ":there"), ["a/. > /home/me/there"]);
  assert.deepEqual(await steps("a", ":"), ["a > /home/me/a"]);
  assert.deepEqual(await steps(":/etc/hosts", "."), ["/etc/hosts > ./hosts"]);
  assert.deepEqual(await steps(":b", "here"), ["/home/me/b > here/b"]);
  assert.deepEqual(await steps(":b", "new"), ["/home/me/b > new"]);
  await assert.rejects(steps("a", "b", ":file"), /is not a directory/);
  assert.throws(() => readCopyWords(["a", "b"]), /both are here/);
  assert.throws(() => readCopyWords([":a", ":b"]), /both are on the box/);
  assert.throws(() => readCopyWords(["a"]), /source or destination is missing/);
});

Deno.test("the bar fits its terminal and shows no escapes", () => {
  const progress = { path: "a\x1b[2J", files: 1, bytes: 512, totalFiles: 2, totalBytes: 1024 };
  const line = barText(progress, 1000, 200);
  assert.match(line, /^\[={10} {10}\] {2}50% 512B\/1\.0K 1\/2 files 512B\/s a/);
  assert.ok(!line.includes("\x1b"));
  assert.equal(barText(progress, 1000, 20), "[==========");
  assert.match(barText({ ...progress, files: 0, totalFiles: 0, totalBytes: 0 }, 0, 80), / {2}0% /);
});

Deno.test("a process by name, by id, and by the beginning of its id", () => {
  const made = (uid: string, name: string | null, closed: boolean, ageMs: number) =>
    ({ uid, processId: `p-${uid}`, name, closed, ageMs }) as ProcessInfo;
  const all = [
    made("abc111", "web", true, 50),
    made("abd222", "web", false, 90),
    made("xyz333", "old", true, 9),
    made(
      "xyz444",
      "old",
      true,
      5,
    ),
  ];
  assert.equal(findProcess(all, "web").uid, "abd222");
  assert.equal(findProcess(all, "old").uid, "xyz444");
  assert.equal(findProcess(all, "abc111").uid, "abc111");
  assert.equal(findProcess(all, "abd").uid, "abd222");
  assert.throws(() => findProcess(all, "xyz"), /is the beginning of 2 ids/);
  assert.throws(() => findProcess(all, "ab"), /there is no process/);
});

Deno.test("signals and ports as people write them", () => {
  assert.deepEqual(["int", "SIGINT", "Usr1", "KILL"].map(signalOf), ["SIGINT", "SIGINT", "SIGUSR1", "SIGKILL"]);
  assert.deepEqual(["9", "15", "28"].map(signalOf), ["SIGKILL", "SIGTERM", "SIGWINCH"]);
  assert.deepEqual(withSignalFlag(["-9", "web"]), ["-s", "9", "web"]);
  assert.deepEqual(withSignalFlag(["@box", "web", "-SIGINT"]), ["@box", "web", "-s", "SIGINT"]);
  for (const same of [["-s", "-9", "web"], ["--", "-9"], ["-h"], ["--tree", "web"], ["-x9"]]) {
    assert.deepEqual(withSignalFlag(same), same);
  }
  for (const word of ["SEGV", "11", "0", "-9"]) assert.throws(() => signalOf(word), /known are SIGINT/);
  assert.deepEqual(tunnelPorts("8080"), { local: 8080, remote: 8080 });
  assert.deepEqual(tunnelPorts("0:80"), { local: 0, remote: 80 });
  for (const word of ["0", "x", "1:2:3", "70000", ":80"]) {
    assert.throws(() => tunnelPorts(word), /is not a port or pair of ports/);
  }
});

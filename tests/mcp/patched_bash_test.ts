/**
 * Shells that ask by themselves, through a wrapper: the protocol with our own wrapper, asked for by name in a stock Bash,
 * which any Bash can do. Where there is a patched Bash (`CODEX_BASH_PATH`), the same with one that does so by itself.
 */

import assert from "node:assert/strict";
import { SIGNAL_CODES, signalHandling } from "../support/signal_handling.ts";
import { ESCALATE, FORBIDDEN, isAlive, type SceneOptions, supervisedTest } from "../support/supervised_scene.ts";

const STOCK: SceneOptions = { patchedBash: { bash: "/bin/bash" } };
const ASK = '"$BASH_EXEC_WRAPPER"';

for (const sandbox of ["read /, write ws", null] as const) {
  const name = sandbox ?? "no sandbox";

  supervisedTest(`wrapper, ${name}: run executes in place, deny says so and ends with 1`, async (scene) => {
    const command = `${ASK} /usr/bin/printf name '%s.' 'a b' ''; ${ASK} /usr/bin/id id; echo $?`;
    const options = { ...STOCK, sandbox, rules: { id: FORBIDDEN } };
    const { stdout, stderr, calls, counters } = await scene.run(command, options);
    assert.equal(stdout, "a b..1\n");
    assert.equal(stderr, "Execution denied: Execution forbidden by policy\n");
    // Such a Bash sends no reliable name, so that of the file is decided.
    const called = sandbox === null ? "name" : "printf";
    assert.deepEqual(calls.map(({ file, argv, cwd }) => [file, argv, cwd]), [
      ["/usr/bin/printf", [called, "%s.", "a b", ""], scene.ws],
      ["/usr/bin/id", ["id"], scene.ws],
    ]);
    assert.ok(calls.every(({ env }) => !("CODEX_ESCALATE_SOCKET" in env) && !("BASH_EXEC_WRAPPER" in env)));
    assert.deepEqual([counters.run, counters.denied], [1, 1]);
  });

  supervisedTest(
    `wrapper, ${name}: escalate runs outside with the caller's input, directory and mask`,
    async (scene) => {
      const command =
        `cd sub; umask 027; echo content | ${ASK} /usr/bin/tee tee ../../out/new; ${ASK} /bin/sh sh -c 'kill -9 $$'; echo $?`;
      const { stdout } = await scene.run(command, { ...STOCK, sandbox, rules: { tee: ESCALATE, sh: ESCALATE } });
      assert.equal(stdout, "content\n137\n");
      assert.equal(await Deno.readTextFile(`${scene.out}/new`), "content\n");
      assert.equal((await Deno.stat(`${scene.out}/new`)).mode! & 0o777, 0o640);
    },
  );
}

supervisedTest("wrapper: a program that the caller could have written does not leave the sandbox", async (scene) => {
  await Deno.writeTextFile(`${scene.ws}/touch`, `#!/bin/sh\n: > ${scene.out}/WIN\n`, { mode: 0o755 });
  const command = `${ASK} ./touch touch; echo $?; ${ASK} ${scene.ws}/touch touch; ${ASK} /proc/self/cwd/touch touch`;
  const { stdout, stderr, counters } = await scene.run(command, { ...STOCK, rules: { touch: ESCALATE } });
  assert.match(stdout, /^1\n/);
  assert.match(stderr, /cannot leave the sandbox/);
  assert.equal(counters.refused, 3);
  assert.deepEqual(Array.from(Deno.readDirSync(scene.out), ({ name }) => name), ["o.txt"]);
});

supervisedTest("wrapper: words that are not text are run as they are", async (scene) => {
  const { stdout } = await scene.run(`${ASK} /usr/bin/printf printf '%s' $'\\xff\\xfe' | od -An -tx1`, STOCK);
  assert.equal(stdout, " ff fe\n");
});

supervisedTest("wrapper: an escalated program ends with its wrapper, and with the shell", async (scene) => {
  for (const how of ["wrapper", "shell"]) {
    const started = Promise.withResolvers<{ caller: number; pid: number }>();
    const running = await scene.start(`${ASK} /usr/bin/sleep sleep 1000; echo after $?`, {
      ...STOCK,
      rules: { sleep: ESCALATE },
      onEscalated: (call, outcome) => {
        if (outcome.type === "started") started.resolve({ caller: call.pid, pid: outcome.pid });
      },
    });
    const { caller, pid } = await started.promise;
    if (how === "wrapper") {
      Deno.kill(caller, "SIGKILL");
      assert.match((await running.outcome()).stdout, /after 137/);
    }
    await running.shell.terminate();
    assert.ok(!isAlive(pid), how);
  }
});

supervisedTest("wrapper: an escalated program gets the signals of its wrapper, which waits for it", async (scene) => {
  const { program, ready } = await signalHandling(scene, `${ASK} /bin/sh sh`);
  for (const [name, code] of SIGNAL_CODES) {
    const running = await scene.start(`${program} & read -r go; kill -${name} $!; wait $!; echo rc $?`, {
      ...STOCK,
      stdin: "open",
      rules: { sh: ESCALATE },
    });
    await ready();
    await running.shell.write(new TextEncoder().encode("go\n"));
    const { stdout, stderr } = await running.outcome();
    assert.equal(stdout, `${name}\nrc ${code}\n`, stderr);
  }
});

supervisedTest("wrapper: one of the two variables that tell its socket is enough, none is refused", async (scene) => {
  const print = `${ASK} /usr/bin/printf printf`;
  const command = `CODEX_ESCALATE_SOCKET= ${print} 1; (unset CODEX_ESCALATE_SOCKET; ${print} 2)
(unset EXEC_SERVER_ESCALATE_SOCKET; ${print} 3); unset CODEX_ESCALATE_SOCKET EXEC_SERVER_ESCALATE_SOCKET; ${print} 4`;
  const { stdout, stderr, exitCode, calls } = await scene.run(command, STOCK);
  assert.deepEqual([stdout, exitCode, calls.length], ["123", 1, 3]);
  assert.match(stderr, /CODEX_ESCALATE_SOCKET names no descriptor: nothing was run/);
  assert.ok(calls.every(({ env }) => Object.keys(env).every((name) => !name.includes("ESCALATE"))));
});

supervisedTest("wrapper: nonsense on the socket does not affect other wrappers, which are answered", async (scene) => {
  const python = `import os, socket, array
s = socket.socket(fileno=int(os.environ["CODEX_ESCALATE_SOCKET"]))
def talk(data):
    a, b = socket.socketpair()
    s.sendmsg([b"\\0"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [b.fileno()]))])
    b.close()
    a.sendall(data)
    print(a.recv(100))
talk(b"\\xff\\xff\\xff\\xff")
talk(b"\\x02\\0\\0\\0{}")
talk(b"\\x03\\0\\0\\0abc")
s.sendmsg([b"no descriptor"])
s.detach()`;
  await Deno.writeTextFile(`${scene.ws}/talk.py`, python);
  const { stdout } = await scene.run(`python3 talk.py; ${ASK} /bin/echo echo answered`, STOCK);
  assert.equal(stdout, "b''\nb''\nb''\nanswered\n");
});

/**
 * Asks for a program by hand: `ask.py DIRECTORY NUMBERS FILE ARGV…`, and sends its own descriptors under these numbers.
 * With `MOVES_TO` it changes its directory after the decision.
 */
const ASK_BY_HAND = `import array, json, os, socket, struct, sys
workdir, numbers, file, argv = sys.argv[1], [int(n) for n in sys.argv[2].split(",") if n], sys.argv[3], sys.argv[4:]
s = socket.socket(fileno=int(os.environ["CODEX_ESCALATE_SOCKET"]))
a, b = socket.socketpair()
s.sendmsg([b"\\0"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [b.fileno()]))])
s.detach()
b.close()
def send(message, fds=[]):
    body = json.dumps(message).encode()
    rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else []
    a.sendmsg([struct.pack("<I", len(body)) + body], rights)
def receive():
    size = struct.unpack("<I", a.recv(4, socket.MSG_WAITALL))[0]
    return json.loads(a.recv(size, socket.MSG_WAITALL))
send({"file": file, "argv": argv, "workdir": workdir, "env": {}})
answer = receive()
if answer["action"] == "Escalate":
    os.chdir(os.environ.get("MOVES_TO", "."))
    send({"fds": numbers}, numbers)
    answer = receive()
print(json.dumps(answer, separators=(",", ":")), file=sys.stderr)
`;

supervisedTest("wrapper: who claims to be in another directory is refused, whatever the rules say", async (scene) => {
  await Deno.writeTextFile(`${scene.ws}/ask.py`, ASK_BY_HAND);
  const command = `for d in /etc "$PWD/sub" "$PWD"; do python3 ask.py "$d" 0,1,2 /bin/pwd pwd -P; done`;
  const failed: unknown[] = [];
  const { stdout, stderr, calls, counters } = await scene.run(command, {
    ...STOCK,
    rules: { pwd: ESCALATE },
    onUndecided: ({ file }, reason) => void failed.push([file, reason]),
  });
  const denied = (path: string) => JSON.stringify({ action: { Deny: { reason: `the caller is not in ${path}` } } });
  assert.deepEqual(stderr.split("\n"), [
    denied("/etc"),
    denied(`${scene.ws}/sub`),
    '{"exit_code":0}',
    "",
  ]);
  assert.equal(stdout, `${scene.ws}\n`);
  assert.deepEqual(calls.map(({ cwd }) => cwd), [scene.ws], "nobody was asked about what was claimed");
  assert.deepEqual([counters.denied, counters.escalated], [2, 1]);
  assert.deepEqual(failed, [
    ["/bin/pwd", "the caller is not in /etc"],
    ["/bin/pwd", `the caller is not in ${scene.ws}/sub`],
  ]);
});

supervisedTest("wrapper: a caller that moves to another directory after the decision is refused", async (scene) => {
  await Deno.writeTextFile(`${scene.ws}/ask.py`, ASK_BY_HAND);
  const command = `MOVES_TO=/etc python3 ask.py "$PWD" 0,1,2 /bin/pwd pwd -P`;
  const { stdout, stderr, counters } = await scene.run(command, { ...STOCK, rules: { pwd: ESCALATE } });
  assert.equal(stdout, "");
  assert.match(stderr, /cannot leave the sandbox: its working directory is no longer .*\/ws\n\{"exit_code":1\}\n$/);
  assert.deepEqual([counters.escalated, counters.refused], [1, 1]);
});

supervisedTest("wrapper: a program outside has descriptors 0 to 2, and nothing else that was sent", async (scene) => {
  await Deno.writeTextFile(`${scene.ws}/ask.py`, ASK_BY_HAND);
  const look = "/bin/sh sh -c 'for n in /proc/self/fd/*; do readlink $n; done > ../out/seen; true'";
  const seen = async (numbers: string) => {
    const command = `exec 19</etc/passwd; python3 ask.py "$PWD" ${numbers} ${look}`;
    const { stderr } = await scene.run(command, { ...STOCK, rules: { sh: ESCALATE } });
    assert.equal(stderr, '{"exit_code":0}\n');
    return (await Deno.readTextFile(`${scene.out}/seen`)).split("\n");
  };
  assert.ok(!(await seen("0,1,2,19")).includes("/etc/passwd"));
  const empty = (await seen("''")).filter((path) => path === "/dev/null");
  assert.equal(empty.length, 2, "missing ones are empty, not closed");
});

const bash = Deno.env.get("CODEX_BASH_PATH");
const reason = bash === undefined ? " (SKIPPED: CODEX_BASH_PATH names no patched Bash)" : "";
Deno.test({
  name: `patched Bash: everything it starts is asked about${reason}`,
  ignore: bash === undefined,
  async fn() {
    const { SupervisedScene } = await import("../support/supervised_scene.ts");
    await using scene = await SupervisedScene.open();
    const command = "id; echo $?; touch ../out/new; (ls /dev/null) | cat; exec id";
    const { stdout, stderr, exitCode, calls } = await scene.run(command, {
      patchedBash: { bash: bash! },
      rules: { id: FORBIDDEN, touch: ESCALATE },
    });
    assert.equal(stdout, "1\n/dev/null\n");
    assert.equal(stderr, "Execution denied: Execution forbidden by policy\n".repeat(2));
    assert.equal(exitCode, 1);
    assert.equal(calls.length, 5);
    assert.ok((await Deno.stat(`${scene.out}/new`)).isFile);
  },
});

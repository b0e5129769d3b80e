/**
 * Shell states on a real bash: what is captured, restored, and when the profile is run instead.
 *
 * More than 300 lines: most lines are profiles and what comes of them.
 */

import assert from "node:assert/strict";
import { systemClock } from "../../../src/clock.ts";
import { runShellOn } from "../../../src/environment/shell_snapshot/backend_shell.ts";
import {
  MAX_CAPTURES_PER_PLACE,
  SHELL_CAPTURE_PATIENCE_MS,
  SHELL_CAPTURE_RETRY_MS,
  SHELL_CAPTURE_TIMEOUT_MS,
} from "../../../src/environment/limits.ts";
import {
  type RunShell,
  type ShellCommand,
  ShellSnapshots,
  type SnapshotRequest,
} from "../../../src/environment/shell_snapshot/shell_snapshot.ts";
import { createLogger } from "../../../src/log.ts";
import { PosixBackend } from "../../../src/process/posix/posix_backend.ts";
import { SessionChildren } from "../../../src/process/posix/session_children.ts";
import { FileTree } from "../../support/file_tree.ts";
import { Gate } from "../../support/gate.ts";
import { ManualClock } from "../../support/manual_clock.ts";
import { until } from "../../support/until.ts";

const BASH = "/bin/bash";
const hasBash = isExecutable(BASH);

/** Runs only where there is a bash, and says so where there is none. */
function bashTest(name: string, run: () => Promise<void>): void {
  Deno.test({ name: hasBash ? name : `${name} (skipped: there is no ${BASH})`, ignore: !hasBash, fn: run });
}

function isExecutable(path: string): boolean {
  try {
    return ((Deno.statSync(path).mode ?? 0) & 0o111) !== 0;
  } catch {
    return false;
  }
}

interface Result {
  code: number;
  stdout: string;
  stderr: string;
}

/** A home directory with a profile, and commands that are run in it. */
class Home implements AsyncDisposable {
  readonly tree: FileTree;
  readonly logLines: string[] = [];
  readonly clock = new ManualClock();
  readonly snapshots: ShellSnapshots;
  captures = 0;

  private constructor(tree: FileTree) {
    this.tree = tree;
    const log = createLogger({ level: "debug", format: "text", write: (line) => this.logLines.push(line) });
    this.snapshots = new ShellSnapshots({ clock: this.clock, log });
  }

  static async make(profile: string, files: Record<string, string> = {}): Promise<Home> {
    // Each run of the profile leaves a mark.
    const home = new Home(await FileTree.make({ ".bash_profile": `echo run >> "$HOME/runs"\n${profile}`, ...files }));
    await home.tree.directory("work");
    return home;
  }

  get env(): Record<string, string> {
    return { PATH: "/usr/local/bin:/usr/bin:/bin", HOME: this.tree.root, LC_ALL: "C.UTF-8", TERM: "dumb" };
  }

  /** How often the profile has run since the last question. */
  async runs(): Promise<number> {
    try {
      const text = await Deno.readTextFile(this.tree.path("runs"));
      await this.tree.remove("runs");
      return text.split("\n").length - 1;
    } catch {
      return 0;
    }
  }

  readonly run: RunShell = async (command, output, signal) => {
    this.captures++;
    const child = spawn(command, this.tree.path("work"));
    signal.addEventListener("abort", () => child.kill("SIGKILL"));
    const reading = (async () => {
      for await (const bytes of child.stdout) output(bytes);
    })();
    // Read, not cancelled: a profile that complains must not die of it.
    const errors = new Response(child.stderr).bytes();
    await Promise.all([child.status, reading, errors]);
  };

  request(
    script: string,
    fields: Partial<SnapshotRequest> & { scopeId?: string } = {},
  ): SnapshotRequest {
    const { scopeId = "scope", ...rest } = fields;
    return {
      argv: [BASH, "-lc", script],
      env: this.env,
      cwd: this.tree.path("work"),
      confinement: null,
      terminal: null,
      snapshot: { scopeId, shell: { name: "bash", path: BASH } },
      ...rest,
    };
  }

  /** What the command does as it is given, and what it does from a snapshot. */
  async both(script: string, fields: Parameters<Home["request"]>[1] = {}): Promise<{ plain: Result; fast: Result }> {
    const request = this.request(script, fields);
    const command = await this.snapshots.prepare(request, this.run);
    assert.equal(command.argv[1], "--noprofile", `no snapshot: ${this.logLines.join("")}`);
    return {
      plain: await outcome(request, this.tree.path("work")),
      fast: await outcome(command, this.tree.path("work")),
    };
  }

  async isPlain(script: string, fields: Parameters<Home["request"]>[1] = {}): Promise<boolean> {
    const request = this.request(script, fields);
    const { argv, env } = await this.snapshots.prepare(request, this.run);
    if (argv[1] === "--noprofile") return false;
    assert.deepEqual([argv, env], [request.argv, request.env]);
    return true;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.tree[Symbol.asyncDispose]();
  }
}

function spawn({ argv: [program, ...args], env }: ShellCommand, cwd: string): Deno.ChildProcess {
  const options = { args, env: { ...env }, clearEnv: true, cwd } as const;
  return new Deno.Command(program!, { ...options, stdin: "null", stdout: "piped", stderr: "piped" }).spawn();
}

async function outcome(command: ShellCommand, cwd: string): Promise<Result> {
  const { code, stdout, stderr } = await spawn(command, cwd).output();
  return { code, stdout: new TextDecoder().decode(stdout), stderr: new TextDecoder().decode(stderr) };
}

bashTest("ShellSnapshots runs a profile once, and commands after it without it", async () => {
  await using home = await Home.make("export FROM_PROFILE=1");
  for (let turn = 0; turn < 3; turn++) {
    const command = await home.snapshots.prepare(home.request("echo $FROM_PROFILE"), home.run);
    assert.deepEqual(await outcome(command, home.tree.path("work")), { code: 0, stdout: "1\n", stderr: "" });
  }
  assert.equal(await home.runs(), 1);
});

bashTest("ShellSnapshots gives a command everything that a profile leaves behind", async () => {
  await using home = await Home.make(String.raw`
    export EXPORTED=1 PATH="$HOME/bin:$PATH" MULTI=$'a\nb \'"$'
    PLAIN=plain
    declare -A ASSOC=([k]="v w")
    LIST=(one "two three")
    declare -i NUMBER=7
    readonly FIXED=fixed
    unset TERM
    IFS=:
    function plainly { echo plainly "$@"; }
    exported() { echo exported; }
    export -f exported
    shopt -s extglob globstar nullglob
    extended() { [[ $1 == @(a|b) ]] && echo extended; }
    alias greet='echo hello'
    set -o pipefail -o noclobber
    umask 027
    ulimit -S -c 0
    cd /usr
  `);
  const script = String.raw`
    declare -p EXPORTED PATH MULTI PLAIN ASSOC LIST NUMBER FIXED IFS TERM
    plainly x; bash -c exported; extended a
    shopt extglob globstar nullglob expand_aliases login_shell; alias
    set -o | grep -E 'pipefail|noclobber|errexit'
    umask; ulimit -S -c; pwd; echo "$-" "$#" "$0"; trap
    FIXED=other
  `;
  const { plain, fast } = await home.both(script);
  assert.deepEqual(fast, plain);
  assert.match(plain.stdout, /exported\nextended\n/);
});

bashTest("ShellSnapshots changes nothing about how a command is called and how it ends", async () => {
  await using home = await Home.make("export X=1");
  const scripts = [
    "exit 7",
    "false",
    "",
    "# only a comment",
    "echo $?; echo $LINENO\n\nnope\necho $LINENO >&2",
    "f() {\n nope\n}\nf",
    "echo ok\nif",
    'echo "[$0] [$1] [$@] $#"',
    "kill -TERM $$",
    "cat; echo $?",
    "cat <<END\n$X\nEND",
    "set -e; false; echo not reached",
    "trap 'echo bye' EXIT; exit 3",
    "env | grep -c exec_server || compgen -v | grep exec_server || echo none",
    "ls /proc/self/fd | wc -l",
    "echo $BASH_ENV; shopt login_shell; echo $SHLVL",
  ];
  for (const script of scripts) {
    const { plain, fast } = await home.both(script);
    assert.deepEqual(fast, plain, script);
  }
});

bashTest("ShellSnapshots becomes the last program of a command, as a shell does", async () => {
  await using home = await Home.make("export X=1");
  const { plain, fast } = await home.both("cat /proc/$PPID/comm >/dev/null; exec cat /proc/self/comm");
  assert.deepEqual(fast, plain);
  const { argv } = await home.snapshots.prepare(home.request("cat /proc/self/stat"), home.run);
  const stat = async (command: ShellCommand) => {
    const child = spawn(command, home.tree.path("work"));
    const { stdout } = await child.output();
    return [child.pid, Number(new TextDecoder().decode(stdout).split(" ")[0])];
  };
  const [pid, ownPid] = await stat({ argv, env: (await home.snapshots.prepare(home.request("x"), home.run)).env });
  assert.equal(ownPid, pid, "no shell stays around the only program");
});

bashTest("ShellSnapshots expands aliases where the profile has switched them on", async () => {
  await using home = await Home.make("shopt -s expand_aliases\nalias echo='echo hello'\nuses() { echo; }");
  const { plain, fast } = await home.both("echo; uses");
  assert.deepEqual(fast, plain);
  assert.equal(fast.stdout, "hello\nhello\n", "expanded once, not twice");
});

bashTest("ShellSnapshots does not show what a profile prints", async () => {
  await using home = await Home.make("echo noise; echo more >&2");
  const { fast } = await home.both("echo result");
  assert.deepEqual(fast, { code: 0, stdout: "result\n", stderr: "" });
});

bashTest("ShellSnapshots leaves the variables of each command alone", async () => {
  await using home = await Home.make("export FROM_PROFILE=1");
  const env = (id: string) => ({ ...home.env, CODEX_TOOL_CALL_ID: id });
  const script = "echo $CODEX_TOOL_CALL_ID $FROM_PROFILE";
  for (const id of ["first", "second"]) {
    assert.equal((await home.both(script, { env: env(id) })).fast.stdout, `${id} 1\n`);
  }
  assert.equal(home.captures, 2, "one capture and its proof serve all");
  assert.equal((await home.both(script)).fast.stdout, "1\n", "nothing stays of another command");
});

bashTest("ShellSnapshots runs the profile when it reads values that change with each command", async () => {
  await using home = await Home.make('export LABEL="call $CODEX_TOOL_CALL_ID"');
  assert.equal(await home.isPlain("x", { env: { ...home.env, CODEX_TOOL_CALL_ID: "one" } }), true);
  assert.match(home.logLines.join(""), /values that change with each command/);
});

bashTest("ShellSnapshots gives a command no variable that was meant for another", async () => {
  await using home = await Home.make('export COPIED="$SECRET"');
  const withSecret = await home.both("echo [$COPIED]", { env: { ...home.env, SECRET: "s3cret" } });
  assert.equal(withSecret.fast.stdout, "[s3cret]\n");
  assert.equal((await home.both("echo [$COPIED]")).fast.stdout, "[]\n");
});

bashTest("ShellSnapshots restores options that end a shell, and where a profile has been", async () => {
  await using home = await Home.make(String.raw`
    cd /usr; cd /usr/bin
    enable -n kill
    complete -W "a b" greet
    odd-name() { echo odd; }
    ns::name.x() { local v="$1
      two lines"; echo "$v"; }
    declare -x MULTI=$'first\nsecond\r\nthird\t\'end'
    set -eu
  `);
  const script = String.raw`
    echo "$- $OLDPWD $PWD"; cd - ; type -t kill; complete -p greet; odd-name; ns::name.x 1
    declare -p MULTI; echo $(false) survives; false; echo not reached
  `;
  const { plain, fast } = await home.both(script);
  assert.deepEqual(fast, plain);
  assert.equal(fast.code, 1);
  assert.match(fast.stdout, /^\S*e\S*u\S* \/usr \/usr\/bin\n\/usr\nfile\n[^]*survives\n$/);
});

bashTest("ShellSnapshots runs the profile for a command whose own variables it would have changed", async () => {
  await using home = await Home.make('export TRACESTATE="$TRACESTATE+"');
  assert.equal(await home.isPlain("x"), false);
  assert.equal(await home.isPlain("x", { env: { ...home.env, TRACESTATE: "own" } }), true);
});

bashTest("ShellSnapshots runs BASH_ENV once, after the profile", async () => {
  const startup = 'ORDER="$ORDER,env"; echo sourced >> "$HOME/sourced"';
  await using home = await Home.make("export ORDER=profile", { "env.sh": startup });
  const env = { ...home.env, BASH_ENV: home.tree.path("env.sh") };
  const { plain, fast } = await home.both("echo $ORDER $BASH_ENV; bash -c 'echo $ORDER'", { env });
  assert.deepEqual(fast, plain);
  assert.match(fast.stdout, /^profile,env \/.*\nprofile,env,env\n$/);

  const command = await home.snapshots.prepare(home.request("true", { env }), home.run);
  await home.tree.remove("sourced");
  await outcome(command, home.tree.path("work"));
  await assert.rejects(Deno.stat(home.tree.path("sourced")), Deno.errors.NotFound);
});

bashTest("ShellSnapshots shares a state only within a scope, a directory, a sandbox and an environment", async () => {
  await using home = await Home.make("export X=1");
  await home.both("true");
  const others: Parameters<Home["request"]>[1][] = [
    { scopeId: "other" },
    { cwd: "/" },
    { confinement: { permissions: 1 } },
    { terminal: { rows: 24, cols: 80 } },
    { env: { ...home.env, TERM: "xterm" } },
  ];
  for (const [at, fields] of others.entries()) {
    await home.isPlain("true", fields);
    assert.equal(home.captures, 2 * (at + 2), JSON.stringify(fields));
  }
  await home.isPlain("true");
  assert.equal(home.captures, 2 * (others.length + 1));
});

bashTest("ShellSnapshots lets commands that start together wait for one capture", async () => {
  await using home = await Home.make("export X=1");
  const commands = await Promise.all(
    Array.from({ length: 5 }, () => home.snapshots.prepare(home.request("x"), home.run)),
  );
  assert(commands.every(({ argv }) => argv[1] === "--noprofile"));
  assert.equal(await home.runs(), 1);
});

bashTest("ShellSnapshots notices that the profile has changed", async () => {
  await using home = await Home.make("export V=old");
  assert.equal((await home.both("echo $V")).fast.stdout, "old\n");
  await home.tree.write(".bash_profile", "export V=newer");
  assert.equal((await home.both("echo $V")).fast.stdout, "newer\n");
});

bashTest("ShellSnapshots leaves other shells, other ways of calling and terminals as they are", async () => {
  await using home = await Home.make("export X=1");
  const other = (name: string, path: string) => ({ snapshot: { scopeId: "s", shell: { name, path } } });
  assert.equal(await home.isPlain("x", { argv: [BASH, "-c", "x"] }), true);
  assert.equal(await home.isPlain("x", { argv: [BASH, "-lc"] }), true);
  assert.equal(await home.isPlain("x", { argv: [BASH, "-l", "-c", "x"] }), true);
  assert.equal(await home.isPlain("x", { argv: [BASH, "-lc", "x", "zero", "one"] }), true, "a profile sees arguments");
  assert.equal(await home.isPlain("x", { argv: ["/bin/echo", "-lc", "x"] }), true);
  assert.equal(await home.isPlain("x", other("bash", "/usr/bin/bash")), true);
  assert.equal(await home.isPlain("x", other("sh", BASH)), true);
  assert.equal(await home.isPlain("x", other("zsh", BASH)), true);
  assert.equal(home.captures, 0);
});

bashTest("ShellSnapshots runs commands unchanged if a state cannot be made or not be trusted", async () => {
  const table: [string, string][] = [
    ["exit 3", "did not report"],
    ["exec true", "did not report"],
    ["exec >/dev/null", "did not report"],
    ["trap 'echo bye' EXIT", "sets traps"],
    ["trap 'echo usr' USR1", "sets traps"],
    ["exec 2>/dev/null", "changes descriptors"],
    ["exec 7>$HOME/log", "changes descriptors"],
    ["set -- one two", "arguments"],
    ["pushd /usr >/dev/null", "arguments"],
    ["export SHELLOPTS", "own variables"],
    ["return 3", ""],
    ["nonsense", ""],
    ["set -e; false", "did not report"],
    ["printf -v BIG '%*s' 600000 ''", "more than"],
    ["head -c 5000000 /dev/zero", "more than"],
    ["printf '\\377'", ""],
    ["mkdir $HOME/gone; cd $HOME/gone; rmdir $HOME/gone", "cannot be restored exactly"],
    ["export BYTES=$'\\xff'", ""],
    ["VALUE=$$; export PID_OF_SHELL=$$; declare -r SHELL_PID=$$", ""],
  ];
  for (const [profile, reason] of table) {
    await using home = await Home.make(profile);
    const isPlain = await home.isPlain("true");
    assert.equal(isPlain, reason !== "", `${profile}: ${home.logLines}`);
    if (reason !== "") assert.match(home.logLines.join(""), new RegExp(reason), profile);
  }
});

bashTest("ShellSnapshots gives up on a profile that takes too long, and does not try again at once", async () => {
  await using home = await Home.make('echo up > "$HOME/up"; read line < "$HOME/never"');
  const up = await Gate.make(home.tree.root, "up");
  await Gate.make(home.tree.root, "never");
  const giveUp = async (): Promise<void> => {
    const plain = home.isPlain("true");
    await up.readAll();
    home.clock.advance(SHELL_CAPTURE_TIMEOUT_MS);
    assert.equal(await plain, true);
    await until(() => home.logLines.length > 0, () => "the capture is not given up");
    assert.match(home.logLines.splice(0).join(""), /takes too long/);
  };
  await giveUp();
  home.clock.advance(SHELL_CAPTURE_RETRY_MS - 1);
  assert.equal(await home.isPlain("true"), true);
  assert.equal(home.captures, 1);
  home.clock.advance(1);
  await giveUp();
  assert.equal(home.captures, 2, "later it is tried again");
});

bashTest("ShellSnapshots lets commands go ahead of a slow profile, and gives it up when it is closed", async () => {
  await using home = await Home.make('echo up > "$HOME/up"; read line < "$HOME/never"');
  const up = await Gate.make(home.tree.root, "up");
  await Gate.make(home.tree.root, "never");
  const impatient = home.isPlain("x");
  await up.readAll();
  home.clock.advance(SHELL_CAPTURE_PATIENCE_MS);
  assert.equal(await impatient, true);
  assert.deepEqual(home.logLines, [], "the capture goes on");
  const patient = home.isPlain("x");
  home.snapshots.close();
  assert.equal(await patient, true);
  assert.match(home.logLines.join(""), /session has ended/);
  assert.equal(await home.isPlain("x"), true);
  assert.equal(home.captures, 1);
});

bashTest("ShellSnapshots uses the state of a slow profile once it is there", async () => {
  await using home = await Home.make('echo up > "$HOME/up"; read line < "$HOME/slow"');
  const up = await Gate.make(home.tree.root, "up");
  const slow = await Gate.make(home.tree.root, "slow");
  const impatient = home.isPlain("x");
  await up.readAll();
  home.clock.advance(SHELL_CAPTURE_PATIENCE_MS);
  assert.equal(await impatient, true);
  const second = home.isPlain("x");
  await slow.open();
  assert.equal(await second, false);
});

bashTest("ShellSnapshots runs a command as it is when the state would not fit in beside it", async () => {
  await using home = await Home.make("export X=1");
  assert.equal(await home.isPlain("true"), false);
  assert.equal(await home.isPlain(`: ${"x".repeat(120_000)}`), true);
  const large = Object.fromEntries(Array.from({ length: 12 }, (_, at) => [`LARGE${at}`, "x".repeat(100_000)]));
  assert.equal(await home.isPlain("true", { env: { ...home.env, ...large } }), true);
});

bashTest("ShellSnapshots stops capturing for a client whose environment is new each time", async () => {
  await using home = await Home.make("export X=1");
  for (let turn = 0; turn < MAX_CAPTURES_PER_PLACE + 3; turn++) {
    const isPlain = await home.isPlain("true", { env: { ...home.env, TURN: `${turn}` } });
    assert.equal(isPlain, turn >= MAX_CAPTURES_PER_PLACE);
  }
});

bashTest("ShellSnapshots keeps a large state", async () => {
  const functions = Array.from({ length: 400 }, (_, at) => `f${at}() { echo ${"x".repeat(700)}ü; }`).join("\n");
  await using home = await Home.make(functions);
  const { plain, fast } = await home.both("f0 | wc -c; f399 | wc -c; declare -F | wc -l");
  assert.deepEqual(fast, plain);
  assert.deepEqual(fast.stdout.split("\n")[2], "400");
});

bashTest("runShellOn() captures on a process backend, whatever helpers a profile leaves running", async () => {
  await using home = await Home.make("export X=1\nexport HELPER=$(sleep 60 >&2 & echo $!)");
  const backend = new PosixBackend();
  const snapshots = new ShellSnapshots({
    clock: systemClock,
    log: createLogger({ level: "error", format: "text", write: () => {} }),
  });
  const run = runShellOn(new SessionChildren(backend), ({ argv, env }) => ({
    argv,
    env,
    arg0: null,
    cwd: home.tree.path("work"),
    io: { type: "pipe", stdin: "closed" },
  }), systemClock);
  const command = await snapshots.prepare(home.request("echo $X; kill -0 $HELPER && echo alive"), run);
  assert.equal(command.argv[1], "--noprofile");
  assert.equal((await outcome(command, home.tree.path("work"))).stdout, "1\nalive\n");
  await backend.close({ graceMs: 0 });
});

/**
 * The commands against ssh, scp and a compiled program that does nothing, in one run on one machine, as ratios: absolute
 * times say more of the machine than of the program.
 *
 *   deno run --allow-all bench/commands.ts [ROUNDS] [DIRECTORY]
 *
 * Needs `dist/exec-server` (or EXEC_SERVER_BINARY), OpenSSH's client and server, python3 for a terminal, and room in
 * DIRECTORY (/dev/shm unless given): a filesystem in memory, so that copies are compared and not disks. Rivals take turns
 * within each round; the table has medians.
 */

const ROOT = new URL("..", import.meta.url).pathname;
const PROGRAM = Deno.env.get("EXEC_SERVER_BINARY") ?? `${ROOT}dist/exec-server`;
const ROUNDS = Number(Deno.args[0] ?? "7");
const SMALL_FILES = 2000;
const LARGE_BYTES = 256 * 1024 * 1024;
const READY_LIMIT_MS = 30_000;

interface Ended {
  readonly code: number;
  readonly ms: number;
}

async function timed(program: string, args: readonly string[], env: Record<string, string> = {}): Promise<Ended> {
  const begun = performance.now();
  const { code, stderr } = await new Deno.Command(program, { args: [...args], env, stdin: "null", stdout: "null" })
    .output();
  if (code !== 0) {
    throw new Error(`${program} ${args.join(" ")} ended with ${code}: ${new TextDecoder().decode(stderr)}`);
  }
  return { code, ms: performance.now() - begun };
}

function median(values: readonly number[]): number {
  return values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)]!;
}

/** Rounds in which every rival has its turn. The first round is for caches and not counted. */
async function compare(rivals: Readonly<Record<string, (round: number) => Promise<Ended>>>) {
  const times = new Map(Object.keys(rivals).map((name) => [name, [] as number[]]));
  for (let round = 0; round <= ROUNDS; round++) {
    for (const [name, run] of Object.entries(rivals)) {
      const { ms } = await run(round);
      if (round > 0) times.get(name)!.push(ms);
    }
  }
  return new Map([...times].map(([name, all]) => [name, median(all)]));
}

/** A loopback sshd with keys of its own, and the words by which ssh and scp use it. */
class Sshd implements AsyncDisposable {
  readonly words: readonly string[];
  readonly #child: Deno.ChildProcess;

  private constructor(child: Deno.ChildProcess, words: readonly string[]) {
    this.#child = child;
    this.words = words;
  }

  static async start(directory: string): Promise<Sshd> {
    for (const key of ["host", "id"]) {
      await timed("ssh-keygen", ["-q", "-t", "ed25519", "-N", "", "-f", `${directory}/${key}`]);
    }
    const probe = Deno.listen({ hostname: "127.0.0.1", port: 0 });
    const { port } = probe.addr;
    probe.close();
    await Deno.mkdir("/run/sshd", { recursive: true }).catch(() => {});
    const child = new Deno.Command("/usr/sbin/sshd", {
      args: [
        ...["-D", "-f", "/dev/null", "-h", `${directory}/host`, "-p", String(port), "-o", "ListenAddress=127.0.0.1"],
        ...["-o", `AuthorizedKeysFile=${directory}/id.pub`, "-o", "StrictModes=no", "-o", "UsePAM=no"],
        ...["-o", `PidFile=${directory}/pid`, "-o", "Subsystem=sftp internal-sftp"],
      ],
      stdin: "null",
      stdout: "null",
      stderr: "null",
    }).spawn();
    const words = [
      ...["-F", "/dev/null", "-i", `${directory}/id`, "-o", `Port=${port}`, "-o", "StrictHostKeyChecking=no"],
      ...["-o", "UserKnownHostsFile=/dev/null", "-o", "LogLevel=ERROR", "-o", "BatchMode=yes"],
    ];
    const deadline = performance.now() + READY_LIMIT_MS;
    for (;;) {
      const isThere = await Deno.connect({ hostname: "127.0.0.1", port }).then(
        (conn) => (conn.close(), true),
        () => false,
      );
      if (isThere) return new Sshd(child, words);
      if (performance.now() > deadline) throw new Error("sshd does not listen");
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.kill("SIGTERM");
    await this.#child.status;
  }
}

/** A server on a unix socket in memory, as the user's own is. */
async function startServer(socket: string): Promise<Deno.ChildProcess> {
  const child = new Deno.Command(PROGRAM, {
    args: ["--listen", `unix:${socket}`],
    stdin: "null",
    stdout: "piped",
    stderr: "null",
  }).spawn();
  const reader = child.stdout.getReader();
  await reader.read();
  await reader.cancel();
  return child;
}

/** Types at a command on a terminal of its own, one key after the other, and prints the median until it is echoed. */
const TYPIST = `
import os, pty, statistics, sys, time
pid, terminal = pty.fork()
if pid == 0:
    os.execvp(sys.argv[1], sys.argv[1:])
seen = b""
while b"ready" not in seen:
    seen += os.read(terminal, 65536)
os.read(terminal, 65536) if not seen.endswith(b"\\n") else None
times = []
for n in range(1200):
    begun = time.perf_counter()
    os.write(terminal, b"x")
    os.read(terminal, 1)
    times.append((time.perf_counter() - begun) * 1000)
os.write(terminal, b"\\n")
os.close(terminal)
os.waitpid(pid, 0)
print(statistics.median(times[200:]))
`;

async function echoed(program: string, args: readonly string[]): Promise<Ended> {
  const { code, stdout, stderr } = await new Deno.Command("python3", {
    args: ["-c", TYPIST, program, ...args],
    stdin: "null",
  }).output();
  if (code !== 0) throw new Error(`cannot type at ${program}: ${new TextDecoder().decode(stderr)}`);
  return { code, ms: Number(new TextDecoder().decode(stdout)) };
}

async function compileHello(directory: string): Promise<string> {
  await Deno.writeTextFile(`${directory}/hello.ts`, 'console.log("hello");\n');
  const { tasks } = JSON.parse(await Deno.readTextFile(`${ROOT}deno.json`));
  const flags = /--v8-flags=\S+/.exec(tasks.compile)?.[0];
  await timed(Deno.execPath(), [
    ...["compile", "--quiet", "--no-check", "--no-code-cache", ...(flags === undefined ? [] : [flags])],
    ...["--output", `${directory}/hello`, `${directory}/hello.ts`],
  ]);
  return `${directory}/hello`;
}

async function plant(directory: string): Promise<void> {
  for (let n = 0; n < SMALL_FILES; n++) {
    if (n % 100 === 0) await Deno.mkdir(`${directory}/small/d${n / 100}`, { recursive: true });
    await Deno.writeFile(`${directory}/small/d${Math.floor(n / 100)}/f${n}`, new Uint8Array(500 + n));
  }
  const piece = crypto.getRandomValues(new Uint8Array(65_536));
  using file = await Deno.open(`${directory}/large`, { write: true, create: true });
  for (let at = 0; at < LARGE_BYTES; at += piece.length) await file.write(piece);
}

if (import.meta.main) {
  const directory = await Deno.makeTempDir({ dir: Deno.args[1] ?? "/dev/shm", prefix: "exec-server-bench-" });
  try {
    await run(directory);
  } finally {
    await Deno.remove(directory, { recursive: true });
  }
}

async function run(directory: string): Promise<void> {
  await plant(directory);
  const hello = await compileHello(directory);
  await using sshd = await Sshd.start(directory);
  const socket = `${directory}/server.sock`;
  const server = await startServer(socket);
  const where = ["--url", `unix:${socket}`];
  const { words } = sshd;
  const master = [...words, "-o", `ControlPath=${directory}/master`];
  const host = `${Deno.env.get("USER") ?? "root"}@127.0.0.1`;
  await timed("ssh", [...master, "-o", "ControlMaster=yes", "-o", "ControlPersist=600", "-Nf", host]);
  try {
    const start = await compare({
      hello: () => timed(hello, []),
      ours: () => timed(PROGRAM, ["ps", ...where]),
    });
    const exec = await compare({
      ours: () => timed(PROGRAM, ["exec", ...where, "--", "true"]),
      master: () => timed("ssh", [...master, host, "true"]),
      ssh: () => timed("ssh", [...words, host, "true"]),
    });
    // The far terminal's own echo is switched off: what answers is a program.
    const echoing = "stty raw -echo; echo ready; exec cat";
    const echo = await compare({
      ours: () => echoed(PROGRAM, ["exec", "-t", ...where, "--", "sh", "-c", echoing]),
      ssh: () => echoed("ssh", [...words, "-tt", host, echoing]),
    });
    const out = (name: string, round: number) => `${directory}/${name}-${round}`;
    const fresh = async (path: string, copy: () => Promise<Ended>) => {
      const ended = await copy();
      await Deno.remove(path, { recursive: true });
      return ended;
    };
    const copies = async (what: string) => ({
      to: await compare({
        ours: (n) =>
          fresh(out("a", n), () => timed(PROGRAM, ["cp", ...where, `${directory}/${what}`, `:${out("a", n)}`])),
        scp: (n) =>
          fresh(out("b", n), () => timed("scp", ["-qrp", ...words, `${directory}/${what}`, `${host}:${out("b", n)}`])),
      }),
      from: await compare({
        ours: (n) => fresh(out("c", n), () => timed(PROGRAM, ["cp", ...where, `:${directory}/${what}`, out("c", n)])),
        scp: (n) =>
          fresh(out("d", n), () => timed("scp", ["-qrp", ...words, `${host}:${directory}/${what}`, out("d", n)])),
      }),
    });
    const large = await copies("large");
    const small = await copies("small");

    const ms = (value: number) => `${value.toFixed(value < 10 ? 2 : 0)} ms`;
    const row = (label: string, ours: number, theirs: number, rival: string) =>
      `| ${label} | ${ms(ours)} | ${rival} ${ms(theirs)} | ${(theirs / ours).toFixed(2)} |`;
    console.log(
      `${ROUNDS} rounds, medians, ${SMALL_FILES} small files, one of ${LARGE_BYTES / 1024 ** 2} MiB\n`,
    );
    console.log("| what | this | rival | rival / this |\n| --- | --- | --- | --- |");
    console.log(
      row("start of a client command (`ps`)", start.get("ours")!, start.get("hello")!, "a compiled hello-world"),
    );
    console.log(row("`exec -- true`", exec.get("ours")!, exec.get("master")!, "`ssh`, ControlMaster"));
    console.log(row("`exec -- true`", exec.get("ours")!, exec.get("ssh")!, "`ssh`"));
    console.log(row("echo of a key through `exec -t`, p50", echo.get("ours")!, echo.get("ssh")!, "`ssh -tt`"));
    console.log(row("`cp` of a large file, there", large.to.get("ours")!, large.to.get("scp")!, "`scp`"));
    console.log(row("`cp` of a large file, back", large.from.get("ours")!, large.from.get("scp")!, "`scp`"));
    console.log(row("`cp` of small files, there", small.to.get("ours")!, small.to.get("scp")!, "`scp`"));
    console.log(row("`cp` of small files, back", small.from.get("ours")!, small.from.get("scp")!, "`scp`"));
  } finally {
    await timed("ssh", [...master, "-O", "exit", host]).catch(() => {});
    server.kill("SIGTERM");
    await server.status;
  }
}

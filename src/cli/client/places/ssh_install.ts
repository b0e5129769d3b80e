/**
 * `--install`: puts this very program on another machine, over ssh, as `~/.local/bin/exec-server`.
 *
 * Nothing is sent when a file with the same digest is there. The new one is written beside the old, compared with the
 * digest there, and renamed: a start meanwhile gets the old one or the new, and a running server keeps its own.
 */

import { ConnectionRefusedError } from "../../../client/errors.ts";
import { printable } from "../../../printable.ts";
import { shellQuote } from "../../../shell_quote.ts";
import { refusal } from "../../cli_error.ts";
import type { Place } from "./place.ts";
import { REMOTE_PROGRAM, sshCommand, sshEnvironment } from "./ssh_transport.ts";

type SshPlace = Place & { kind: "ssh" };

/** What the machine is and has: two words for the first, then the digest of the file, if there is one. */
const LOOK = `uname -sm; sha256sum "$HOME/${REMOTE_PROGRAM}" 2>/dev/null || true`;

/** The digest is the argument; the program comes on standard input. */
const PUT = `set -e
umask 022
mkdir -p "$HOME/.local/bin"
new="$HOME/${REMOTE_PROGRAM}.new.$$"
trap 'rm -f "$new"' EXIT
cat >"$new"
have=$(sha256sum "$new")
test "\${have%% *}" = "$1" || { echo "the copy is damaged: its digest differs" >&2; exit 1; }
chmod 755 "$new"
mv -f "$new" "$HOME/${REMOTE_PROGRAM}"`;

const MACHINES: Readonly<Record<typeof Deno.build.arch, string>> = { x86_64: "x86_64", aarch64: "aarch64" };

/** See the head of the module. Throws a refusal for a program or machine that it cannot be done with. */
export async function installOver(place: SshPlace): Promise<void> {
  const attempted = `cannot install on ${place.destination}`;
  if (!Deno.build.standalone) throw refusal(`${attempted}: this program runs from its source; compile it first`);
  const program = await Deno.readFile(Deno.execPath());
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", program)).toHex();

  // In quotes: the remote user's shell reads it, and then `sh`.
  const [machine = "", found = ""] = (await run(place, ["sh", "-c", shellQuote(LOOK)], null)).split("\n");
  if (machine !== `Linux ${MACHINES[Deno.build.arch]}`) {
    throw refusal(
      `${attempted}: that machine is ${printable(machine)}, and this program is for Linux ${Deno.build.arch}`,
    );
  }
  if (found.startsWith(`${digest} `)) return;
  console.error(`exec-server: copying this program to ${place.destination} as ~/${REMOTE_PROGRAM}`);
  await run(place, ["sh", "-c", shellQuote(PUT), "sh", digest], program);
}

/** Returns what it printed. */
async function run(place: SshPlace, words: readonly string[], input: Uint8Array<ArrayBuffer> | null): Promise<string> {
  const [program, ...args] = sshCommand(place, { mayAsk: Deno.stdin.isTerminal() });
  const child = new Deno.Command(program!, {
    args: [...args, words.join(" ")],
    ...sshEnvironment(),
    stdin: input === null ? "null" : "piped",
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
  const output = child.output();
  if (input !== null) {
    const writer = child.stdin.getWriter();
    // ssh says on standard error why it has stopped to read.
    await writer.write(input).then(() => writer.close()).catch(() => {});
  }
  const { code, stdout } = await output;
  if (code !== 0) throw new ConnectionRefusedError(`cannot install on ${place.destination}: ssh ended with ${code}`);
  return new TextDecoder().decode(stdout);
}

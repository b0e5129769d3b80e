/**
 * `--install`: copies this program to another machine, over ssh, as `~/.local/bin/exec-server`.
 *
 * Nothing is sent if a file with the same digest is there. The new file is written beside the old one, checked there by
 * its digest, and renamed. A start meanwhile gets the old file or the new one, and a running server keeps its own.
 */

import { ConnectionRefusedError } from "../../../client/errors.ts";
import { printable } from "../../../printable.ts";
import { shellQuote } from "../../../shell_quote.ts";
import { refusal } from "../../cli_error.ts";
import type { Place } from "./place.ts";
import { REMOTE_PROGRAM, sshCommand, sshEnvironment } from "./ssh_transport.ts";

type SshPlace = Place & { kind: "ssh" };

/** Prints two words for the machine, then the digest of the file, if there is one. */
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

/** See the head of the module. Throws an error if this program or that machine does not allow it. */
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
    // ssh has said on standard error why it stopped reading.
    await writer.write(input).then(() => writer.close()).catch(() => {});
  }
  const { code, stdout } = await output;
  if (code !== 0) throw new ConnectionRefusedError(`cannot install on ${place.destination}: ssh ended with ${code}`);
  return new TextDecoder().decode(stdout);
}

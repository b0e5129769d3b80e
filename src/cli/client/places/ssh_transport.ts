/**
 * The way to a user's own server on another machine: `ssh HOST exec-server dial` speaks over its standard input and
 * output. It connects to that user's server there, and starts it if necessary. So processes survive the connection, no
 * port is open, and ssh's own configuration decides who is let in.
 *
 * At first ssh runs without permission to ask, in its own session, where a Ctrl-C for the remote command does not reach
 * it. If the login is refused and there is a terminal, ssh may ask for a password, or whether a host's key is right.
 */

import { abortedBy, ConnectionRefusedError } from "../../../client/errors.ts";
import type { OpenOptions, Transport, TransportEnd, TransportLink } from "../../../client/link/transport.ts";
import { withoutOwnCredentials } from "../../../launch/own_credentials.ts";
import { printable } from "../../../printable.ts";
import { StdioLink } from "../../../transport/stdio_link.ts";
import { VERSION } from "../../../version.ts";
import { readAnnouncement } from "./announcement.ts";
import type { Place } from "./place.ts";

type SshPlace = Place & { kind: "ssh" };

/** Where `--install` puts the program. Many logins have it in PATH; for the others this is added. */
export const REMOTE_PROGRAM = ".local/bin/exec-server";
/** Run by the user's own shell, which may be any. So it uses only quotes that all shells know. */
const DIAL = `sh -c 'PATH="$PATH:$HOME/.local/bin"; exec exec-server dial --announce'`;
/** How much of ssh's standard error is kept for the error message. */
const MAX_COMPLAINT_CHARS = 2000;
const NEEDS_ANSWER = /permission denied|host key verification failed|too many authentication failures/i;
const NO_PROGRAM = /exec-server: (not found|command not found|no such file)/i;

/** ssh and its arguments before the remote command. */
export function sshCommand(place: SshPlace, { mayAsk }: { readonly mayAsk: boolean }): string[] {
  return [
    "ssh",
    "-T",
    ...(mayAsk ? [] : ["-o", "BatchMode=yes"]),
    ...(place.port === null ? [] : ["-p", String(place.port)]),
    "--",
    place.destination,
  ];
}

/** Tokens of other servers are removed, because ssh passes on the variables that its configuration names. */
export function sshEnvironment(): { readonly clearEnv: true; readonly env: Record<string, string> } {
  return { clearEnv: true, env: withoutOwnCredentials(Deno.env.toObject()) };
}

/** See the head of the module. */
export class SshTransport implements Transport {
  readonly name: string;
  readonly canReconnect = true;
  readonly #place: SshPlace;
  #isPrepared = false;
  #hasToldSkew = false;

  constructor(place: SshPlace) {
    this.#place = place;
    this.name = `ssh://${place.destination}${place.port === null ? "" : `:${place.port}`}`;
  }

  /** See {@linkcode Transport.open}. After the first link ssh does not ask any more, because the screen is in use. */
  async open({ signal }: OpenOptions): Promise<TransportLink> {
    const isFirst = !this.#isPrepared;
    if (isFirst && this.#place.install) {
      const { installOver } = await import("./ssh_install.ts");
      await installOver(this.#place);
    }
    this.#isPrepared = true;
    try {
      return await this.#run(false, signal);
    } catch (error) {
      const mayAsk = isFirst && Deno.stdin.isTerminal() && NEEDS_ANSWER.test(String(error));
      if (!mayAsk || signal.aborted) throw error;
      return await this.#run(true, signal);
    }
  }

  async #run(mayAsk: boolean, signal: AbortSignal): Promise<TransportLink> {
    if (signal.aborted) throw abortedBy(signal, `cannot connect to ${this.name}`);
    const [program, ...args] = [...sshCommand(this.#place, { mayAsk }), DIAL];
    let child: Deno.ChildProcess;
    try {
      child = new Deno.Command(program!, {
        args,
        ...sshEnvironment(),
        stdin: "piped",
        stdout: "piped",
        stderr: "piped",
        detached: !mayAsk,
      }).spawn();
    } catch (error) {
      throw new ConnectionRefusedError(`cannot connect to ${this.name}: ssh cannot be started: ${error}`, {
        cause: error,
      });
    }
    const complaints = collect(child.stderr);
    const end = () => endChild(child);
    signal.addEventListener("abort", end, { once: true });
    try {
      const announced = await readAnnouncement(child.stdout);
      if (announced !== null) {
        this.#tellSkew(announced.version);
        return new SshLink(new StdioLink({ readable: announced.rest, writable: child.stdin }), end);
      }
    } finally {
      signal.removeEventListener("abort", end);
    }
    end();
    const { code } = await child.status;
    await child.stdin.abort().catch(() => {});
    if (signal.aborted) throw abortedBy(signal, `cannot connect to ${this.name}`);
    throw new ConnectionRefusedError(`cannot connect to ${this.name}: ${why(await complaints, code)}`);
  }

  #tellSkew(version: string): void {
    if (version === VERSION || this.#hasToldSkew) return;
    this.#hasToldSkew = true;
    console.error(
      `exec-server: ${this.name} has version ${
        printable(version)
      }, this is ${VERSION}; --install copies this one there`,
    );
  }
}

/** The reason in ssh's words, or in ours if it has none. */
function why(complaint: string, code: number): string {
  if (NO_PROGRAM.test(complaint)) return "there is no exec-server on that machine; --install copies this one there";
  const lines = complaint.split("\n").map((line) => line.trim()).filter((line) => line !== "");
  return lines.length === 0 ? `ssh ended with ${code}` : printable(lines.slice(-2).join("; "));
}

/** The last lines of standard error of ssh and the far side. */
async function collect(stream: ReadableStream<Uint8Array>): Promise<string> {
  let text = "";
  const decoder = new TextDecoder();
  for await (const bytes of stream) text = (text + decoder.decode(bytes, { stream: true })).slice(-MAX_COMPLAINT_CHARS);
  return text;
}

function endChild(child: Deno.ChildProcess): void {
  try {
    child.kill("SIGTERM");
  } catch {
    // It has ended.
  }
}

/** Ends ssh with the link. */
class SshLink implements TransportLink {
  readonly #link: StdioLink;
  readonly #onClosed: () => void;

  constructor(link: StdioLink, onClosed: () => void) {
    this.#link = link;
    this.#onClosed = onClosed;
  }

  async receive(receiver: (message: string | null) => void | Promise<void>): Promise<TransportEnd> {
    try {
      return await this.#link.receive(receiver);
    } finally {
      this.#onClosed();
    }
  }

  send(messages: readonly string[]): Promise<void> {
    return this.#link.send(messages);
  }

  close(): void {
    this.#link.close();
    this.#onClosed();
  }
}

/**
 * The hidden mode `execve-wrapper FILE ARGV…`: what a patched Bash executes in place of a program. It asks the server
 * over the socket that a variable tells it, and then becomes the program, hands its input and output over, or refuses.
 *
 * It guards nothing: any process inside could ask, or not ask. If the server hangs up or talks nonsense, nothing is run.
 * Only `sendmsg`, `recvmsg`, `read` and `write` are used on sockets: other calls fail in a sandbox without network.
 */

import { messageOf } from "../src/errors.ts";
import { type ExactWords, SOCKET_VARIABLES } from "../src/mcp/patched/wrapper_frames.ts";
import { askBeforeExec, type WrapperAnswer, WrapperLink } from "../src/mcp/patched/wrapper_link.ts";
import { becomeProgram, ownEnvironment, ownWords } from "../src/os/children/become_program.ts";
import { linkOf } from "../src/os/children/foreign_process.ts";
import { describeErrno } from "../src/os/errno.ts";
import { byteStringOf, fromByteString, lossyText } from "../src/os/files/byte_string.ts";

const EXIT_REFUSED = 1;
const EXIT_USAGE = 2;

/** What the server is not told, since it set them itself. */
const OWN_VARIABLES: readonly string[] = [...SOCKET_VARIABLES, "BASH_EXEC_WRAPPER", "EXEC_WRAPPER"];

/** Resolves with the exit code, unless it became the program. */
export async function execveWrapper(args: readonly string[]): Promise<number> {
  const [file] = args;
  if (file === undefined) {
    console.error("Usage: exec-server execve-wrapper FILE [ARGV]...");
    return EXIT_USAGE;
  }
  const socket = SOCKET_VARIABLES.map((name) => Number(Deno.env.get(name) ?? "")).find(isDescriptor);
  if (socket === undefined) {
    console.error(`exec-server execve-wrapper: ${SOCKET_VARIABLES[0]} names no descriptor: nothing was run`);
    return EXIT_REFUSED;
  }
  const env = Object.fromEntries(Object.entries(Deno.env.toObject()).filter(([name]) => !OWN_VARIABLES.includes(name)));
  let answer: WrapperAnswer;
  try {
    const cwd = linkOf(Deno.pid, "cwd");
    const workdir = cwd === null ? Deno.cwd() : lossyText(cwd);
    const question = { file, argv: args.slice(1), workdir, env, ...exactWords(args.length) };
    answer = await askBeforeExec(WrapperLink.connect(socket), question);
  } catch (error) {
    console.error(`exec-server execve-wrapper: ${messageOf(error)}: nothing was run`);
    return EXIT_REFUSED;
  }
  switch (answer.type) {
    case "run": {
      // As the kernel has them: words of a program need not be text.
      const [path, ...argv] = ownWords(args.length);
      console.error(`exec-server execve-wrapper: cannot run ${file}: ${describeErrno(becomeProgram(path!, argv))}`);
      return EXIT_REFUSED;
    }
    case "denied":
      console.error(answer.reason === null ? "Execution denied" : `Execution denied: ${answer.reason}`);
      return EXIT_REFUSED;
    case "exited":
      return answer.exitCode;
  }
}

/** Empty when everything is text. */
function exactWords(count: number): { exact?: ExactWords } {
  const [file, ...argv] = ownWords(count).map(byteStringOf);
  const env = ownEnvironment().map(byteStringOf);
  if ([file!, ...argv, ...env].every((word) => typeof fromByteString(word) === "string")) return {};
  const isOwn = (entry: string) => OWN_VARIABLES.some((name) => entry.startsWith(`${name}=`));
  return { exact: { file: file!, argv, env: env.filter((entry) => !isOwn(entry)) } };
}

/** Beyond standard input, output and errors. */
function isDescriptor(number: number): boolean {
  return Number.isInteger(number) && number > 2;
}

/**
 * Whether to ask about a command that no rule matches: yes if it deletes without asking, rewrites history, or forces.
 *
 * It covers all that the reference asks about (0.97: `rm -f`, git's reset, rm, branch -d, push -f, clean -f, through
 * sudo and `sh -c`), and what the reference misses: force flags anywhere, full paths, `env`, and scripts that are more
 * than plain words. It is a net for mistakes, not a wall: a script can hide anything. Pure.
 */

import { scriptCommands } from "./script_commands.ts";

/** `sh -c "sh -c '…'"`: nobody nests more deeply than this by mistake. */
const MAX_SCRIPT_DEPTH = 5;

const SHELLS: ReadonlySet<string> = new Set(["sh", "bash", "zsh", "dash"]);
/** Options of git itself whose value is the next word. */
const GIT_OPTIONS_WITH_VALUE: ReadonlySet<string> = new Set([
  ...["-C", "-c", "--config-env", "--exec-path", "--git-dir", "--namespace", "--super-prefix", "--work-tree"],
]);
const SUDO_OPTIONS_WITH_VALUE: ReadonlySet<string> = new Set([
  ...["--auth-type", "--chdir", "--chroot", "--close-from", "--command-timeout", "--group", "--host", "--prompt"],
  ...["--role", "--type", "--user"],
]);
/** Letters of sudo that take a value: in the same word if something follows, else the next word. */
const SUDO_LETTERS_WITH_VALUE = "aCDghpRrTtu";
const ENV_OPTIONS_WITH_VALUE: ReadonlySet<string> = new Set(["-u", "--unset", "-C", "--chdir", "-S", "--split-string"]);

export function isDangerous(command: readonly string[], depth = 0): boolean {
  const [program = "", ...args] = command;
  const name = program.slice(program.lastIndexOf("/") + 1);
  if (name === "rm") return hasFlag(args, "f", "force");
  if (name === "sudo") return isDangerous(afterSudo(args), depth);
  if (name === "env") return isDangerous(afterEnv(args), depth);
  if (name.endsWith("git")) return isDangerousGit(args);
  if (SHELLS.has(name) && depth < MAX_SCRIPT_DEPTH) {
    const script = scriptOf(args);
    return script !== null && scriptCommands(script).some((inner) => isDangerous(inner, depth + 1));
  }
  return false;
}

/** A letter in a group of short flags, or a long flag; nothing after `--` is a flag. */
function hasFlag(args: readonly string[], letter: string, long: string): boolean {
  for (const arg of args) {
    if (arg === "--") return false;
    if (arg === `--${long}` || /^-[^-]/.test(arg) && arg.includes(letter)) return true;
  }
  return false;
}

function afterSudo(args: readonly string[]): readonly string[] {
  for (let at = 0; at < args.length; at++) {
    const arg = args[at]!;
    if (arg === "--") return args.slice(at + 1);
    if (arg === "-" || !arg.startsWith("-")) return args.slice(at);
    if (SUDO_OPTIONS_WITH_VALUE.has(arg)) at++;
    else if (!arg.startsWith("--")) {
      const valued = [...arg].findIndex((letter, index) => index > 0 && SUDO_LETTERS_WITH_VALUE.includes(letter));
      if (valued === arg.length - 1) at++;
    }
  }
  return [];
}

function afterEnv(args: readonly string[]): readonly string[] {
  for (let at = 0; at < args.length; at++) {
    const arg = args[at]!;
    if (ENV_OPTIONS_WITH_VALUE.has(arg)) at++;
    else if (!arg.startsWith("-") && !arg.includes("=")) return args.slice(at);
  }
  return [];
}

/** The text after the first `-c`, alone or last in a group of letters. */
function scriptOf(args: readonly string[]): string | null {
  const at = args.findIndex((arg) => /^-[a-zA-Z]*c$/.test(arg));
  return at < 0 || args.slice(0, at).some((arg) => !arg.startsWith("-")) ? null : args[at + 1] ?? null;
}

function isDangerousGit(args: readonly string[]): boolean {
  const at = subcommandIndex(args);
  const rest = args.slice(at + 1);
  switch (args[at]) {
    case "reset":
    case "rm":
      return true;
    case "branch":
      return hasFlag(rest, "d", "delete") || hasFlag(rest, "D", "delete");
    case "push":
      return hasFlag(rest, "f", "delete") || hasFlag(rest, "d", "delete") ||
        rest.some((arg) => arg.startsWith("--force") || /^[+:]./.test(arg));
    case "clean":
      return hasFlag(rest, "f", "force");
  }
  return false;
}

/** Where the first word is that is not an option of git itself; beyond the end if there is none. */
function subcommandIndex(args: readonly string[]): number {
  let at = 0;
  while (at < args.length && args[at]!.startsWith("-")) at += GIT_OPTIONS_WITH_VALUE.has(args[at]!) ? 2 : 1;
  return at;
}

/** argv -> one mode, which alone is imported: start-up is paid per mode. */

import { CliError } from "./src/cli/cli_error.ts";
import { asksForRemote, hiddenHelp, splitCommand } from "./src/cli/command.ts";
import { CLIENT_COMMANDS } from "./src/cli/client_commands.ts";
import { loneWord } from "./src/cli/lone_word.ts";

const COMMANDS = {
  ...CLIENT_COMMANDS,
  serve: async () => (await import("./src/cli/serve/serve.ts")).serve,
  remote: async () => (await import("./src/cli/remote/remote.ts")).remote,
  forward: async () => (await import("./src/cli/remote/forward.ts")).forward,
  completions: async () => (await import("./src/cli/completions/completions.ts")).completions,
  version: async () => (await import("./src/cli/version/version.ts")).version,
  doctor: async () => (await import("./src/cli/doctor/doctor.ts")).doctor,
  token: async () => (await import("./src/cli/token/token.ts")).token,
  spec: async () => (await import("./src/cli/spec/spec.ts")).spec,
  conform: async () => (await import("./src/cli/conform/conform.ts")).conform,
  execpolicy: async () => (await import("./src/cli/rules/execpolicy.ts")).execpolicy,
  rules: async () => (await import("./src/cli/rules/rules.ts")).rules,
  mcp: async () => (await import("./src/cli/mcp/mcp.ts")).mcp,
  rendezvous: async () => (await import("./src/cli/rendezvous/rendezvous.ts")).rendezvous,
  executors: async () => (await import("./src/cli/rendezvous/executors.ts")).executors,
};

/** Started by the program itself. */
const HIDDEN = {
  "fs-helper": async () => (await import("./sandbox/fs_helper.ts")).fsHelper,
  "execve-wrapper": async () => (await import("./sandbox/execve_wrapper.ts")).execveWrapper,
};

const MODES = { ...COMMANDS, ...HIDDEN };
type Mode = keyof typeof MODES;

if (import.meta.main) {
  try {
    const answer = loneWord(Deno.args);
    if (answer !== null) Deno.exit(await answer());
    const { command: named, args } = splitCommand<Mode>(Deno.args, namesOf(COMMANDS), namesOf(HIDDEN));
    const command = named === "serve" && asksForRemote(args) ? "remote" : named;
    const run = (command in HIDDEN ? hiddenHelp(command, args) : null) ?? await MODES[command]();
    Deno.exit(await run(args));
  } catch (error) {
    if (!(error instanceof CliError)) throw error;
    console.error(`exec-server: ${error.message}`);
    Deno.exit(error.exitCode);
  }
}

function namesOf(modes: Partial<Record<Mode, unknown>>): Mode[] {
  return Object.keys(modes) as Mode[];
}

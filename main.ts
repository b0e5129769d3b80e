/** argv -> one mode, which alone is imported: start-up is paid per mode. */

import { CliError } from "./src/cli/cli_error.ts";
import { splitCommand } from "./src/cli/command.ts";

const MODES = {
  serve: async () => (await import("./src/cli/serve.ts")).serve,
  doctor: async () => (await import("./src/cli/doctor.ts")).doctor,
  "fs-helper": async () => (await import("./sandbox/fs_helper.ts")).fsHelper,
};

if (import.meta.main) {
  try {
    const { command, args } = splitCommand(Deno.args, Object.keys(MODES) as (keyof typeof MODES)[]);
    const run = await MODES[command]();
    Deno.exit(await run(args));
  } catch (error) {
    if (!(error instanceof CliError)) throw error;
    console.error(`exec-server: ${error.message}`);
    Deno.exit(error.exitCode);
  }
}

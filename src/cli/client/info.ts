/** The `info` command: what is at the other end. */

import { pathOf } from "../../client/fs/paths.ts";
import type { MethodTypes } from "../../protocol/method_types.ts";
import { VERSION } from "../../version.ts";
import { refuseSurplus } from "../cli_error.ts";
import type { FlagTable } from "../flags.ts";
import { textTable } from "../text_table.ts";
import { runClientCommand } from "./client_command.ts";
import { openBox } from "./open_box.ts";
import { JSON_FLAG, printed, printedJson } from "./output_flags.ts";
import { HELP_FLAG, type Place, placeName, WHERE_FLAGS } from "./places/place.ts";

const INTRODUCTION = `Usage: exec-server info [@NAME] [--json] [flags]

Describes the server: versions, machine, sandbox, session, and the fingerprint
of an executor that is reached through a rendezvous.

  exec-server info @devbox
  exec-server info --url ssh://devbox --json`;

export const INFO_FLAGS = { json: JSON_FLAG, ...WHERE_FLAGS, help: HELP_FLAG } as const satisfies FlagTable;

type Sandbox = MethodTypes["environment/sandbox"]["result"];

/** Resolves with the exit code. */
export function info(args: readonly string[]): Promise<number> {
  return runClientCommand(args, {
    flags: INFO_FLAGS,
    introduction: INTRODUCTION,
    async run({ positionals, ...where }) {
      refuseSurplus(positionals[0]);
      const { box, place } = await openBox(where);
      await using _closing = box;
      const { environment: machine } = box;
      const report = {
        place: placeName(place),
        clientVersion: VERSION,
        serverVersion: machine.executorVersion,
        platform: machine.platformOs,
        shell: machine.shell.path,
        home: machine.userHomeDir === null ? null : pathOf(machine.userHomeDir),
        cwd: machine.cwd === null ? null : pathOf(machine.cwd),
        sessionId: box.sessionId,
        detachTtlMs: box.detachTtlMs,
        sandbox: box.has("sandboxReport") ? await box.call<Sandbox>("environment/sandbox") : null,
        fingerprint: await fingerprintOf(place),
        capabilities: Object.keys(machine.capabilities).filter((name) => machine.capabilities[name]).sort(),
      };
      if (where.values.json) return await printedJson(report);
      const { sandbox, fingerprint, capabilities, ...rest } = report;
      return await printed(textTable([
        ["place", rest.place],
        ["this program", rest.clientVersion],
        ["server", rest.serverVersion],
        ["platform", rest.platform],
        ["shell", rest.shell],
        ["home", rest.home ?? "-"],
        ["directory", rest.cwd ?? "-"],
        ["session", `${rest.sessionId}, kept ${Math.round(rest.detachTtlMs / 1000)} s without a connection`],
        ["sandbox", sandbox === null ? "unknown" : sandboxText(sandbox)],
        ...(fingerprint === null ? [] : [["fingerprint", fingerprint]]),
        ["can", `${capabilities.length} extensions of the base protocol (--json lists them)`],
      ]));
    },
  });
}

/** Which of the ways to make a sandbox work. */
function sandboxText(sandbox: Sandbox): string {
  const works = (["bubblewrap", "landlock"] as const).filter((name) => sandbox[name].works);
  return `${works.join(", ") || "none works"} (setting ${sandbox.setting})`;
}

/** The fingerprint of an executor's key, as it is remembered here; null for all other places. */
async function fingerprintOf(place: Place): Promise<string | null> {
  if (place.kind !== "rendezvous") return null;
  const { knownExecutors } = await import("./places/known_executors.ts");
  const { pinName } = await import("../../remote/harness/pins.ts");
  return await knownExecutors(Deno.env.toObject()).get(pinName(place.url, place.executor));
}

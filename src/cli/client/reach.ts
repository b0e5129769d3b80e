/** `doctor` with a place: whether a server can be reached from here, how fast it answers, and what it lets its clients do. */

import { printable } from "../../printable.ts";
import { VERSION } from "../../version.ts";
import { refuseSurplus } from "../cli_error.ts";
import type { FlagTable } from "../flags.ts";
import { runClientCommand } from "./client_command.ts";
import { openBox } from "./open_box.ts";
import { JSON_FLAG, printed, printedJson } from "./output_flags.ts";
import { HELP_FLAG, placeName, WHERE_FLAGS } from "./places/place.ts";

const INTRODUCTION = `Usage: exec-server doctor @NAME|--url URL [--json]

Says whether a server can be reached from here, how fast it answers, and what
it lets its clients do. Without a place doctor checks this machine. Exit
status: 0 when it was reached, 255 when not.

  exec-server doctor @devbox
  exec-server doctor --url ssh://devbox --json`;

/** How many round trips are measured: enough that one slow answer does not change the median. */
const ROUND_TRIPS = 5;

const REACH_FLAGS = { json: JSON_FLAG, ...WHERE_FLAGS, help: HELP_FLAG } as const satisfies FlagTable;

/** What a place should offer, by the server's flags. */
const ABILITIES: Readonly<Record<string, string>> = {
  processAttach: "attach to processes of other sessions",
  processDetails: "usage and ports of processes",
  netConnect: "tunnels (--allow-tunnel)",
  fsList: "copies with modes, times and links",
  sandboxReport: "report on sandboxes",
};

/** Resolves with the exit code. */
export function reach(args: readonly string[]): Promise<number> {
  return runClientCommand(args, {
    flags: REACH_FLAGS,
    introduction: INTRODUCTION,
    async run({ positionals, ...where }) {
      refuseSurplus(positionals[0]);
      const begun = performance.now();
      const { box, place } = await openBox(where);
      await using _closing = box;
      const connectMs = performance.now() - begun;
      const times: number[] = [];
      for (let n = 0; n < ROUND_TRIPS; n++) {
        const asked = performance.now();
        await box.call("environment/status");
        times.push(performance.now() - asked);
      }
      const roundTripMs = times.toSorted((one, other) => one - other)[Math.floor(ROUND_TRIPS / 2)]!;
      const { executorVersion } = box.environment;
      const report = {
        place: placeName(place),
        connectMs: Math.round(connectMs),
        roundTripMs: Math.round(roundTripMs * 100) / 100,
        clientVersion: VERSION,
        serverVersion: executorVersion,
        abilities: Object.fromEntries(Object.keys(ABILITIES).map((flag) => [flag, box.has(flag)])),
      };
      if (where.values.json) return await printedJson(report);
      const isSame = executorVersion.endsWith(VERSION);
      return await printed([
        `  ok  reached ${report.place} in ${report.connectMs} ms; it answers in ${report.roundTripMs} ms`,
        `  ${isSame ? "ok" : "--"}  server ${printable(executorVersion)}, this program ${VERSION}`,
        ...Object.entries(ABILITIES).map(([flag, text]) => `  ${box.has(flag) ? "ok" : "--"}  ${text}`),
        "",
      ].join("\n"));
    },
  });
}

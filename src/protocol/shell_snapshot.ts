/** `shellSnapshot` of `process/start`: the wish that the state of a login shell be kept and reused. Shapes only. */

import * as z from "zod/mini";
import { noted } from "./wire_notes.ts";

/** In UTF-8; the reference's figure. Clients use a thread's id and an environment's name. */
export const MAX_SNAPSHOT_SCOPE_BYTES = 256;

const SHELL_NAMES = ["bash", "zsh", "sh"];

export const ShellSnapshotParam = z.object({
  /** Commands that may share a state; others never see it. */
  scopeId: noted(
    z.string().check(z.refine(
      (scope) => scope !== "" && new TextEncoder().encode(scope).length <= MAX_SNAPSHOT_SCOPE_BYTES,
      { error: `shell snapshot scope must be non-empty and at most ${MAX_SNAPSHOT_SCOPE_BYTES} bytes` },
    )),
    { constraints: ["snapshotScope"], json: { minLength: 1 } },
  ),
  shell: z.object({
    name: z.string(),
    /** Must be the program of the command, or there is nothing to reuse. */
    path: z.string(),
  }),
});
export type ShellSnapshotParam = z.output<typeof ShellSnapshotParam>;

/** The reference's refusal of a shell it has never heard of; null when there is none, or the command is another's. */
export function shellRefusal({ shell: { name, path } }: ShellSnapshotParam, argv: readonly string[]): string | null {
  if (argv[0] !== path || SHELL_NAMES.includes(name)) return null;
  return `shell snapshots are unsupported for shell \`${name}\``;
}

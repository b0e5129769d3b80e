/** A shell script that handles signals, each in a way that can be told from all others. */

import { Gate } from "./gate.ts";
import type { SupervisedScene } from "./supervised_scene.ts";

/** The code that it ends with. */
export const SIGNAL_CODES = [["TERM", 5], ["USR1", 6], ["HUP", 7]] as const;

/**
 * The command that runs it with this shell: it prints the name of the signal and ends with its code. `ready` resolves
 * when it runs and handles them, once for each run.
 */
export async function signalHandling(
  scene: SupervisedScene,
  shell = "sh",
): Promise<{ readonly program: string; readonly ready: () => Promise<void> }> {
  const [gate, never] = [await Gate.make(scene.out, "ready"), await Gate.make(scene.out, "never")];
  const traps = SIGNAL_CODES.map(([name, code]) => `trap "echo ${name}; exit ${code}" ${name}`);
  const program = `${shell} -c '${traps.join("; ")}; echo > ${gate.path}; read -r line <> ${never.path}'`;
  return { program, ready: async () => void await gate.readAll() };
}

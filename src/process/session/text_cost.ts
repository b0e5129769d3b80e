/** What remembered texts cost in memory. Measured: a set of many short ones. */

/** Of each text besides its characters: its own head, and the place in the list or the set that holds it. */
const TEXT_OVERHEAD_BYTES = 48;

/** Two bytes a character, because only texts of Latin letters take less. */
export function textCost(text: string): number {
  return TEXT_OVERHEAD_BYTES + 2 * text.length;
}

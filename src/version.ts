/** This program's version, the same as in `deno.json` and on top of the changelog. */
export const VERSION = "0.1.0";

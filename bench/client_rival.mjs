/** The library in the client benchmark, on Deno or on Node: a round for each line that is read, its figures as JSON. */

import { createInterface } from "node:readline";
import process from "node:process";
import { libraryRound } from "./client_round.ts";

// By a path that is given: the package is not there until somebody has built it, and types are checked before.
const [library, url, mib] = process.argv.slice(2);
const { connect } = await import(new URL(library, import.meta.url).href);
for await (const _line of createInterface({ input: process.stdin })) {
  console.log(JSON.stringify(await libraryRound(connect, url, Number(mib))));
}

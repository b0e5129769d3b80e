/**
 * Runs the conformance suite on `examples/embed.ts`, a program with a `Deno.serve` of its own, and compares what fails with
 * the list in docs/embedding.md.
 *
 *   deno run -A tests/conformance/embedded.ts SUITE [option of the suite…]
 *
 * SUITE is the suite's `run.ts`.
 */

import { compareFailures, suiteWords } from "./expected_failures.ts";

const ROOT = new URL("../..", import.meta.url).pathname;

const page = await Deno.readTextFile(`${ROOT}docs/embedding.md`);
const list = /<!-- failing cases: begin[^>]*-->([\s\S]*?)<!-- failing cases: end -->/.exec(page)?.[1];
if (list === undefined) throw new Error("docs/embedding.md has no list of failing cases");
const listed = new Set(Array.from(list.matchAll(/^- `([^`]+)`/gm), (match) => match[1]!));

const program = ["{deno}", "run", "--quiet", "-P=serve", `${ROOT}examples/embed.ts`];
// A case that asks for authentication names it in its own words, of which the last counts.
const server = [...program, "--listen", "ws://127.0.0.1:{port}", "--ws-auth", "none", "{args}"];
Deno.exit(await compareFailures({ ...suiteWords(), server, listed }));

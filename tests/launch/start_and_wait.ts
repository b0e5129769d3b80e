/** A program for tests: a server that starts one sandboxed script and lives until it is killed. */

import { Box, TOOL } from "./sandboxed.ts";

const [root, script] = Deno.args;
const run = await new Box(root!, TOOL!).start("read /, write ws", script!);
await run.seen("up");
console.log("up");
await run.finished();

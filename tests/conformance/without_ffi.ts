/**
 * Runs the conformance suite on a server that may not call the C library, and compares what fails with the list beside
 * this file.
 *
 *   deno run -A tests/conformance/without_ffi.ts SUITE [option of the suite…]
 *
 * SUITE is the suite's `run.ts`. It starts servers with the permissions of `deno task serve` but for `--allow-ffi`.
 */

import { serverCommand, withoutPermissions } from "../support/test_server.ts";
import { compareFailures, suiteWords } from "./expected_failures.ts";

const listed = new Set(
  (await Deno.readTextFile(new URL("without_ffi.txt", import.meta.url))).split("\n")
    .filter((line) => line !== "" && !line.startsWith("#")),
);
const words = withoutPermissions(["ffi"], serverCommand().args);
const server = ["{deno}", ...words, "--listen", "ws://127.0.0.1:{port}", "{args}"];
Deno.exit(await compareFailures({ ...suiteWords(), server, listed }));

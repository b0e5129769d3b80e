/** For `rendezvous.ts`: a client of a process that never stops printing. It says when it has got some, and is then stopped. */

import { connect } from "../src/client/mod.ts";

/** 20 MB/s: fills every buffer on the way in a second, and leaves the processors to the others. */
const FLOOD = "while :; do head -c 1000000 /dev/zero; sleep 0.05; done";

const box = await connect(JSON.parse(Deno.args[0]!), { token: Deno.env.get("TOKEN") });
const flood = await box.spawn(["bash", "-c", FLOOD], { output: "latest" });
for await (const _ of flood.stdout) console.log("some");

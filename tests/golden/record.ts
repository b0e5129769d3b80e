/** Writes the answers of a real server into all pages, or into those named: `deno task golden [PAGE …]`. */

import { pageNames, pageUrl, replay } from "./replay.ts";

for (const name of Deno.args.length > 0 ? Deno.args : pageNames()) {
  const url = pageUrl(name);
  const page = await Deno.readTextFile(url);
  const replayed = await replay(page);
  await Deno.writeTextFile(url, replayed);
  console.log(`${name}: ${replayed === page ? "as it was" : "changed"}`);
}

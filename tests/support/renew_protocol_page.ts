/** `deno task docs`: writes the reference part of `docs/protocol.md` anew, from the code. */

import { specDocument } from "../../src/protocol/spec.ts";
import { referenceMarkdown, withReference } from "../../src/protocol/spec/markdown.ts";

const PAGE = new URL("../../docs/protocol.md", import.meta.url);

await Deno.writeTextFile(PAGE, withReference(await Deno.readTextFile(PAGE), referenceMarkdown(await specDocument())));
const { success } = await new Deno.Command(Deno.execPath(), { args: ["fmt", "--quiet", PAGE.pathname] }).output();
if (!success) throw new Error(`cannot format ${PAGE.pathname}`);

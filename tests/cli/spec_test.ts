import assert from "node:assert/strict";
import { specDocument } from "../../src/protocol/spec.ts";
import { referenceMarkdown, withReference } from "../../src/protocol/spec/markdown.ts";

const PAGE = Deno.readTextFileSync(new URL("../../docs/protocol.md", import.meta.url));

Deno.test("docs/protocol.md says what the code does", async () => {
  const renewed = withReference(PAGE, referenceMarkdown(await specDocument()));
  assert.equal(
    unformatted(PAGE),
    unformatted(renewed),
    "docs/protocol.md is not what the code says. Texts of methods are in src/protocol/spec/ (CONTRIBUTING.md: How a " +
      "method is added); the page is renewed by `deno task docs`.",
  );
});

Deno.test("withReference() replaces only what is between the markers, and insists on them", () => {
  const [before, after] = ["before\n", "\nafter\n"];
  const begin = /<!-- reference: begin[^\n]*-->/.exec(PAGE)![0];
  const page = `${before}${begin}\nold\n<!-- reference: end -->${after}`;
  assert.equal(withReference(page, "new\n"), `${before}${begin}\n\nnew\n\n<!-- reference: end -->${after}`);
  for (const broken of ["", begin, `<!-- reference: end -->${begin}`]) {
    assert.throws(() => withReference(broken, "new"), RangeError);
  }
});

/** Without what the formatter decides: line breaks and the widths of tables. */
function unformatted(text: string): string {
  return text.replace(/-{3,}/g, "---").replace(/\s+/g, " ").trim();
}

/** Skills as a whole server reads them: on the compiled one this shows that bundled packages find what they load. */

import assert from "node:assert/strict";
import { inScratchDirectory } from "../support/scratch_directory.ts";
import { TestServer } from "../support/test_server.ts";

/** Needs a whole YAML parser: a folded text, a quoted one, a comment and nested members. */
const SKILL = `---
name: "release: notes" # quoted, since it holds a colon
description: >-
  Writes the notes
  of a release.
metadata:
  short-description: 'Writer''s help'
---
Instructions.
`;

Deno.test("server reads the YAML of a SKILL.md, and goes on after one that is broken", async () => {
  await inScratchDirectory(async (directory) => {
    for (const [name, text] of [["good", SKILL], ["broken", "---\nname: [unclosed\n---\n"]] as const) {
      await Deno.mkdir(`${directory}/skills/${name}`, { recursive: true });
      await Deno.writeTextFile(`${directory}/skills/${name}/SKILL.md`, text);
    }
    await using server = await TestServer.start({ env: { HOME: directory, CODEX_HOME: directory } });
    await using client = await server.connect();
    const { skills, warnings } = await client.call("capabilities/discoverV2", { cwd: directory });
    assert.deepEqual(
      skills.map(({ name, description, shortDescription }) => ({ name, description, shortDescription })),
      [
        { name: "release: notes", description: "Writes the notes of a release.", shortDescription: "Writer's help" },
      ],
    );
    assert.equal(warnings.length, 1);
  });
});

/** Paths, directories, words and variables that are not UTF-8: nothing is changed, and what was decided is what runs. */

import assert from "node:assert/strict";
import { ESCALATE, type SceneOptions, supervisedTest } from "../support/supervised_scene.ts";

const SHELLS: readonly { name: string; options: SceneOptions; ask: (path: string, name: string) => string }[] = [
  { name: "stock", options: {}, ask: (path) => path },
  { name: "stock, strict", options: { strictExec: true }, ask: (path) => path },
  {
    name: "wrapper",
    options: { patchedBash: { bash: "/bin/bash" } },
    ask: (path, name) => `"$BASH_EXEC_WRAPPER" ${path} ${name}`,
  },
];
const PLACE = `d=$'d\\xff'; mkdir "$d"; printf '#!/bin/sh\\necho ran $1 | cat\\n' > "$d/p"; chmod 755 "$d/p"`;

for (const { name, options, ask } of SHELLS) {
  supervisedTest(`${name}: a program runs inside, whatever its path and its directory are called`, async (scene) => {
    const command = `${PLACE}; ${ask('"$PWD/$d/p"', "p")} absolute; ${ask('"./$d/p"', "p")} relative; cd "$d"
${ask("./p", "p")} there; ${ask("/bin/echo", "echo")} inside`;
    const { stdout, stderr, calls } = await scene.run(command, options);
    assert.equal(stdout, "ran absolute\nran relative\nran there\ninside\n", stderr);
    const asked = calls.filter(({ file }) => file.endsWith("/p")).map(({ file, cwd }) => [file, cwd]);
    const there = `${scene.ws}/d\ufffd`;
    assert.deepEqual(asked, [[`${there}/p`, scene.ws], [`${there}/p`, scene.ws], [`${there}/p`, there]]);
  });

  supervisedTest(
    `${name}: such a program, and one in such a directory, does not leave, and it is said why`,
    async (scene) => {
      const reasons: unknown[] = [];
      const rules = { p: { kind: "escalate", pathIsNamed: true }, echo: ESCALATE } as const;
      const { stdout, stderr, escalations } = await scene.run(
        `${PLACE}; ${ask('"$PWD/$d/p"', "p")} x; cd "$d"; ${ask("/bin/echo", "echo")} outside`,
        {
          ...options,
          decide: async (call) => {
            const verdict = rules[call.file.split("/").at(-1) as "p" | "echo"];
            if (verdict === undefined) return { kind: "run" };
            reasons.push(await call.whyItStays?.(true));
            return verdict;
          },
        },
      );
      assert.equal(stdout, "");
      const told = ["its path is not valid UTF-8 text", "its working directory is not valid UTF-8 text"];
      assert.deepEqual(
        stderr.split("\n").slice(0, 2),
        told.map((why) => `Execution denied: cannot leave the sandbox: ${why}`),
      );
      assert.deepEqual(reasons, told);
      assert.deepEqual(escalations.map(({ type }) => type), ["refused", "refused"]);
    },
  );

  supervisedTest(
    `${name}: words and variables of a program that leaves are the caller's, byte for byte`,
    async (scene) => {
      const program = ask("/bin/sh", "sh");
      const command =
        `export V=$'v\\xff' EMPTY=; ${program} -c 'printf %s "$1$V$EMPTY$PWD"' sh $'\\xfe\\x80 \\xef\\xbb\\xbfz' > seen`;
      const { stderr, calls, counters } = await scene.run(command, { ...options, rules: { sh: ESCALATE } });
      assert.deepEqual([counters.escalated, counters.refused], [1, 0], stderr);
      const bytes = Array.from(await Deno.readFile(`${scene.ws}/seen`), (byte) => String.fromCharCode(byte)).join("");
      assert.equal(bytes, `\xfe\x80 \xef\xbb\xbfzv\xff${scene.ws}`);
      const asked = calls.find(({ file }) => file === "/bin/sh")!;
      assert.equal(asked.argv.at(-1), "\ufffd\ufffd \ufeffz");
      assert.equal(asked.env.V, "v\ufffd");
    },
  );

  supervisedTest(`${name}: a byte order mark is part of a word when it is decided`, async (scene) => {
    const { calls } = await scene.run(`${ask("/bin/true", "true")} $'\\xef\\xbb\\xbfpush'`, options);
    assert.equal(calls.at(-1)!.argv.at(-1), "\ufeffpush");
  });
}

/**
 * The client library on the reference's own server, which has none of our extensions: what it cannot do is said, and
 * everything else works, also after a cut. `CODEX_DIR` is where codex is installed.
 */

import assert from "node:assert/strict";
import { connect, ServerError } from "../../src/client/mod.ts";
import { Relay } from "../support/relay.ts";
import { inScratchDirectory } from "../support/scratch_directory.ts";

Deno.test("the library works on codex exec-server, as far as that goes", () =>
  inScratchDirectory(async (directory) => {
    const home = await Deno.makeTempDir({ dir: Deno.env.get("HOME")! });
    const child = new Deno.Command(codexBinary(), {
      args: ["exec-server", "--listen", "ws://127.0.0.1:0"],
      env: { CODEX_HOME: home },
      stdout: "piped",
      stderr: "null",
    }).spawn();
    try {
      const reader = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
      const { value } = await reader.read();
      await using relay = new Relay(Number(new URL(value!.trim()).port));
      await using box = await connect(`ws://127.0.0.1:${relay.port}`, { maxBackOff: 200 });

      const { code, stdoutText, stderrText } = await box.run(["sh", "-c", "echo out; echo err >&2; exit 3"]);
      assert.deepEqual([code, stdoutText, stderrText], [3, "out\n", "err\n"]);

      const head = await box.spawn(["head", "-n", "2"], { stdin: "piped" });
      await head.write("one\n");
      relay.cut();
      await head.write("two\n");
      assert.equal(await head.stdout.text(), "one\ntwo\n");
      assert.equal((await head.status).code, 0);

      const counting = await box.spawn(["seq", "100000"]);
      let lines = 0;
      for await (const line of counting.stdout.lines()) assert.equal(line, String(++lines));
      assert.equal(lines, 100_000);

      const terminal = await box.spawn(["sh", "-c", "read x; echo got $x"], { tty: true });
      await terminal.write("it\n");
      await terminal.waitForText("got it");
      assert.equal((await terminal.status).code, 0);

      await box.fs.writeTextFile(`${directory}/a b`, "text");
      assert.equal(await box.fs.readTextFile(`${directory}/a b`), "text");
      const writer = box.fs.writeStream(`${directory}/streamed`).getWriter();
      await writer.write("streamed");
      // There is no rename, so nothing appears under the name.
      await assert.rejects(writer.close(), ServerError);

      const sleeping = await box.spawn(["sleep", "1000"]);
      await sleeping.terminate();
      assert.equal((await sleeping.status).signal, "SIGKILL");
      await assert.rejects(box.run(["true"], { timeout: 5 }), /this server does not support it; use an AbortSignal/);
      await assert.rejects(head.closeStdin(), /cannot close the input/);
      await reader.cancel();
    } finally {
      child.kill("SIGTERM");
      await child.status;
      await Deno.remove(home, { recursive: true });
    }
  }));

function codexBinary(): string {
  const modules = `${Deno.env.get("CODEX_DIR")}/node_modules/@openai`;
  for (const { name } of Deno.readDirSync(modules)) {
    for (const triple of ["x86_64-unknown-linux-musl", "aarch64-unknown-linux-musl"]) {
      const path = `${modules}/${name}/vendor/${triple}/bin/codex`;
      try {
        if (Deno.statSync(path).isFile) return path;
      } catch {
        // Another package, or another machine's.
      }
    }
  }
  throw new Error(`there is no codex below ${modules}`);
}

/** A rendezvous whose listening socket belongs to a service manager: while it is replaced, nobody is refused. */

import assert from "node:assert/strict";
import { formatTokenFile } from "../../src/transport/tokens/token_file.ts";
import { areInstalled } from "../support/installed.ts";
import { ServiceManager } from "../support/service_manager.ts";
import { inScratchDirectory } from "../support/scratch_directory.ts";

const NAME = "a rendezvous that is killed refuses nobody while a service manager holds its socket";

Deno.test({
  name: NAME,
  ignore: !areInstalled(["perl"], NAME),
  fn: () =>
    inScratchDirectory(async (directory) => {
      const tokens = `${directory}/tokens.json`;
      await Deno.writeTextFile(tokens, formatTokenFile([]), { mode: 0o600 });
      await using manager = await ServiceManager.open(["--tokens", tokens, "--listen", "ws://127.0.0.1:PORT"]);
      // Nobody listens yet: the request waits in the socket.
      for (let round = 1; round <= 2; round++) {
        const early = fetch(`${manager.url}/healthz`);
        await manager.start();
        assert.equal(await (await early).text(), "");
        await manager.logged("rendezvous is listening", round);
        await manager.kill();
      }
    }),
});

Deno.test({
  name: "a rendezvous that is handed a socket of another address says so, and does not listen there",
  ignore: !areInstalled(["perl"], "a rendezvous that is handed a socket"),
  fn: () =>
    inScratchDirectory(async (directory) => {
      const tokens = `${directory}/tokens.json`;
      await Deno.writeTextFile(tokens, formatTokenFile([]), { mode: 0o600 });
      await using manager = await ServiceManager.open(["--tokens", tokens, "--listen", "ws://127.0.0.2:PORT"]);
      await manager.start();
      await manager.logged(
        `cannot listen on ws://127.0.0.2:${manager.port}: the service manager has handed over 127.0.0.1:${manager.port}`,
      );
    }),
});

import assert from "node:assert/strict";
import { METHODS } from "../../src/protocol/methods.ts";
import { sourceFiles } from "../support/source_files.ts";

/** Methods that the client library leaves to `box.call`. */
const WITHOUT_CLIENT = {
  "what the handshake has told already": ["environment/info"],
  "for who looks at a server, not for who works with it": ["rpc.discover", "environment/sandbox"],
  "for the agents that the reference serves": [
    "environmentConfig/read",
    "capabilityRoots/discoverV1",
    "capabilities/discoverV2",
    "fs/watchMissing",
    "http/request",
  ],
  "notifications say it": ["process/wait"],
  "only the commands attach": ["process/attach", "process/detach"],
};

/** Methods that `conform` calls nowhere; what its reports say instead is `NOT_TESTED`. */
const WITHOUT_CHECK = {
  "depends on what the machine has": ["environment/sandbox"],
  "for the agents that the reference serves": [
    "environmentConfig/read",
    "capabilityRoots/discoverV1",
    "capabilities/discoverV2",
    "fs/watchMissing",
  ],
  "no check yet": ["fs/unwatch"],
};

Deno.test("every method is called by the client library and by a check, except those that are named here", () => {
  const names = Object.values(METHODS).map(({ name }) => name);
  const table = {
    "src/client": WITHOUT_CLIENT,
    "src/conform/checks": WITHOUT_CHECK,
  };
  for (const [folder, exceptions] of Object.entries(table)) {
    const files = sourceFiles(folder).filter(({ file }) => file !== "src/client/session/repeatable.ts");
    const missing = names.filter((name) => !files.some(({ text }) => text.includes(`"${name}"`)));
    assert.deepEqual(missing.sort(), Object.values(exceptions).flat().sort(), folder);
  }
});

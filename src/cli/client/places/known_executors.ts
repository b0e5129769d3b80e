/**
 * The keys of executors that commands have seen, in a file of the state directory, so that no rendezvous can put another
 * machine in an executor's place. Removing its line forgets a key.
 */

import { filePins } from "../../../client/link/file_pins.ts";
import type { PinStore } from "../../../client/link/rendezvous_transport.ts";
import type { Environment } from "../../flags.ts";
import { prepareStateDirectory, stateDirectory } from "./state_directory.ts";

export function knownExecutors(env: Environment): PinStore {
  const directory = stateDirectory(env);
  const pins = filePins(`${directory}/known_executors`);
  // Also before a look: in a directory of another user's the keys would be of that user's choice.
  return {
    get(name) {
      prepareStateDirectory(directory);
      return pins.get(name);
    },
    set(name, fingerprint) {
      prepareStateDirectory(directory);
      return pins.set(name, fingerprint);
    },
  };
}

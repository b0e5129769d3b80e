/** `environmentConfig/read` and capability discovery: the host's facts and the asked-for file system, put together. */

import { internalError } from "../../errors.ts";
import { discoverCapabilities } from "../../environment/discovery/capabilities_v2.ts";
import { discoverCapabilityRoots } from "../../environment/discovery/capability_roots.ts";
import { ConfigDocuments } from "../../environment/discovery/config_documents.ts";
import {
  findCodexHome,
  readEnvironmentConfig,
  SYSTEM_CONFIG_DIRECTORY,
} from "../../environment/discovery/config_layers.ts";
import { homeOf, type HostFacts } from "../../environment/info.ts";
import type { Surroundings } from "../../environment/discovery/answer_room.ts";
import type { FileSystem } from "../../fs/file_system.ts";
import { sharedPacer } from "../../os/loop/pacer.ts";
import type { CapabilitiesDiscoverParams, CapabilityRootsDiscoverParams } from "../../protocol/capability_discovery.ts";
import type { EnvironmentConfigReadParams } from "../../protocol/environment_config.ts";
import type { CallContext } from "../call_context.ts";

type Context = Pick<CallContext<unknown>, "owned" | "outlet" | "signal" | "promise" | "withdraw">;

export function createDiscoveryMethods(host: HostFacts, filesFor: (sandbox: unknown, context: Context) => FileSystem) {
  const place = () => {
    const userHome = homeOf(host);
    const codexHome = findCodexHome(host.env, userHome);
    if (codexHome === null) throw internalError("neither CODEX_HOME nor a home directory is known");
    return { userHome, codexHome, systemDirectory: SYSTEM_CONFIG_DIRECTORY };
  };

  const documents = new ConfigDocuments();
  const surroundings = (context: Context): Surroundings => ({
    signal: context.signal,
    reserve: (answerBytes) => context.promise(answerBytes, context.signal),
    pace: sharedPacer().slice(context.signal),
  });

  return {
    readConfig: (params: EnvironmentConfigReadParams, context: Context) => {
      const files = filesFor(null, context);
      return readEnvironmentConfig(
        params,
        { ...place(), files, hostname: host.hostname, documents },
        surroundings(context),
      );
    },
    discoverRoots: ({ roots }: CapabilityRootsDiscoverParams, context: Context) => {
      return discoverCapabilityRoots(roots, (sandbox) => filesFor(sandbox, context), surroundings(context));
    },
    discoverCapabilities: ({ sandbox }: CapabilitiesDiscoverParams, context: Context) => {
      return discoverCapabilities({ ...place(), files: filesFor(sandbox, context) }, surroundings(context));
    },
  };
}

/** `environmentConfig/read` and capability discovery: the host's facts and the asked-for file system, put together. */

import { internalError } from "../../errors.ts";
import { discoverCapabilities } from "../../environment/capabilities_v2.ts";
import { discoverCapabilityRoots } from "../../environment/capability_roots.ts";
import { findCodexHome, readEnvironmentConfig, SYSTEM_CONFIG_DIRECTORY } from "../../environment/config_layers.ts";
import { homeOf, type HostFacts } from "../../environment/info.ts";
import type { FileSystem } from "../../fs/file_system.ts";
import type { CapabilitiesDiscoverParams, CapabilityRootsDiscoverParams } from "../../protocol/capability_discovery.ts";
import type { EnvironmentConfigReadParams } from "../../protocol/environment_config.ts";
import type { CallContext } from "../connection.ts";

type Context = Pick<CallContext<unknown>, "signal">;

export function createDiscoveryMethods(host: HostFacts, filesFor: (sandbox: unknown) => FileSystem) {
  const place = () => {
    const userHome = homeOf(host);
    const codexHome = findCodexHome(host.env, userHome);
    if (codexHome === null) throw internalError("neither CODEX_HOME nor a home directory is known");
    return { userHome, codexHome, systemDirectory: SYSTEM_CONFIG_DIRECTORY };
  };

  return {
    readConfig: (params: EnvironmentConfigReadParams) => {
      return readEnvironmentConfig(params, { ...place(), files: filesFor(null), hostname: host.hostname });
    },
    discoverRoots: ({ roots }: CapabilityRootsDiscoverParams, { signal }: Context) => {
      return discoverCapabilityRoots(roots, filesFor, signal);
    },
    discoverCapabilities: ({ sandbox }: CapabilitiesDiscoverParams, { signal }: Context) => {
      return discoverCapabilities({ ...place(), files: filesFor(sandbox) }, signal);
    },
  };
}

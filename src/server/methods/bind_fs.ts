/** Binds the rows of `fs/*`, and of what reads configuration, to functions that are loaded with the first of them. */

import type { HostFacts } from "../../environment/info.ts";
import { METHODS } from "../../protocol/methods.ts";
import type { RunnableRow } from "../../protocol/method_row.ts";
import { lazily, type MethodHandler, type MethodTable } from "../method_table.ts";
import type { CallContext } from "../call_context.ts";
import type { SessionState } from "../session_state.ts";
import type { createDiscoveryMethods } from "./discovery.ts";
import type { FsMethods, FsMethodsOptions } from "./fs.ts";

type DiscoveryMethods = ReturnType<typeof createDiscoveryMethods>;

type Context = CallContext<SessionState>;

/** The returned function makes the methods ready before anything asks for them. */
export function bindFsMethods(
  table: MethodTable<Context>,
  { host, ...options }: FsMethodsOptions & { host: HostFacts },
): () => Promise<unknown> {
  let loading: Promise<FsMethods> | null = null;
  const load = () => loading ??= import("./fs.ts").then(({ createFsMethods }) => createFsMethods(options));
  const bind = <Params, Result>(
    row: RunnableRow<Params, unknown, Result>,
    pick: (methods: FsMethods) => MethodHandler<Params, Context, NoInfer<Result>>,
  ): void => {
    table.bind(row, lazily(async () => pick(await load())));
  };

  let loadingDiscovery: Promise<DiscoveryMethods> | null = null;
  const loadDiscovery = () =>
    loadingDiscovery ??= Promise.all([import("./discovery.ts"), load()])
      .then(([{ createDiscoveryMethods }, { filesFor }]) => createDiscoveryMethods(host, filesFor));
  table.bind(METHODS.environmentConfigRead, lazily(async () => (await loadDiscovery()).readConfig));
  table.bind(METHODS.capabilityRootsDiscover, lazily(async () => (await loadDiscovery()).discoverRoots));
  table.bind(METHODS.capabilitiesDiscover, lazily(async () => (await loadDiscovery()).discoverCapabilities));

  bind(METHODS.fsReadFile, (methods) => methods.readFile);
  bind(METHODS.fsWriteFile, (methods) => methods.writeFile);
  bind(METHODS.fsGetMetadata, (methods) => methods.getMetadata);
  bind(METHODS.fsCanonicalize, (methods) => methods.canonicalize);
  bind(METHODS.fsCreateDirectory, (methods) => methods.createDirectory);
  bind(METHODS.fsReadDirectory, (methods) => methods.readDirectory);
  bind(METHODS.fsList, (methods) => methods.list);
  bind(METHODS.fsWalk, (methods) => methods.walk);
  bind(METHODS.fsRemove, (methods) => methods.remove);
  bind(METHODS.fsCopy, (methods) => methods.copy);
  bind(METHODS.fsRename, (methods) => methods.rename);
  bind(METHODS.fsChmod, (methods) => methods.chmod);
  bind(METHODS.fsSetTimes, (methods) => methods.setTimes);
  bind(METHODS.fsSymlink, (methods) => methods.symlink);
  bind(METHODS.fsOpen, (methods) => methods.open);
  bind(METHODS.fsReadBlock, (methods) => methods.readBlock);
  bind(METHODS.fsWriteBlock, (methods) => methods.writeBlock);
  bind(METHODS.fsClose, (methods) => methods.close);
  bind(METHODS.fsWatchMissing, (methods) => methods.watchMissing);
  bind(METHODS.fsWatch, (methods) => methods.watch);
  bind(METHODS.fsUnwatch, (methods) => methods.unwatch);
  return async () => await (await load()).warmUp();
}

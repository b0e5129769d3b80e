/** The commands that use a server, one line each. A command is loaded only when it is used. */

/** Resolves with the exit code. */
type Run = (args: readonly string[]) => Promise<number>;

export const CLIENT_COMMANDS = {
  exec: async (): Promise<Run> => (await import("./client/exec.ts")).exec,
  shell: async (): Promise<Run> => (await import("./client/shell.ts")).shell,
  attach: async (): Promise<Run> => (await import("./client/attach.ts")).attach,
  dial: async (): Promise<Run> => (await import("./client/dial.ts")).dial,
  ps: async (): Promise<Run> => (await import("./client/ps.ts")).ps,
  logs: async (): Promise<Run> => (await import("./client/logs.ts")).logs,
  kill: async (): Promise<Run> => (await import("./client/kill.ts")).kill,
  cp: async (): Promise<Run> => (await import("./client/cp.ts")).cp,
  cat: async (): Promise<Run> => (await import("./client/cat.ts")).cat,
  ls: async (): Promise<Run> => (await import("./client/ls.ts")).ls,
  rm: async (): Promise<Run> => (await import("./client/rm.ts")).rm,
  ports: async (): Promise<Run> => (await import("./client/ports.ts")).ports,
  tunnel: async (): Promise<Run> => (await import("./client/tunnel.ts")).tunnel,
  info: async (): Promise<Run> => (await import("./client/info.ts")).info,
};

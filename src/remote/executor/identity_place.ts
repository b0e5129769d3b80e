/** Where the executor's identity is by default. */

/** Null: there is no home directory. */
export function defaultIdentityFile(env: Readonly<Record<string, string | undefined>>): string | null {
  const state = env.XDG_STATE_HOME ?? "";
  if (state.startsWith("/")) return `${state}/exec-server/identity`;
  const home = env.HOME ?? "";
  return home.startsWith("/") ? `${home}/.local/state/exec-server/identity` : null;
}

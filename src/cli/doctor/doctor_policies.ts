/** The policies agents commonly ask for, as the sandbox objects they send. */

export interface TypicalPolicy {
  readonly name: string;
  /** A sandbox object of the wire. */
  readonly sandbox: unknown;
}

/** `workspace` is an existing directory that holds a file `notes`. */
export function typicalPolicies(workspace: string): TypicalPolicy[] {
  const everything = { path: { type: "special", value: { kind: "root" } }, access: "read" };
  const at = (path: string, access: string) => ({ path: { type: "path", path }, access });
  const secrets = { path: { type: "glob_pattern", pattern: `${workspace}/**/*.env` }, access: "deny" };
  const managed = (entries: unknown[], network = "restricted") => ({
    permissions: { type: "managed", file_system: { type: "restricted", entries }, network },
    windowsSandboxLevel: "disabled",
  });
  const unconfined = (permissions: unknown) => ({ permissions, windowsSandboxLevel: "disabled" });
  const workspaceWrite = [everything, at(workspace, "write")];
  return [
    { name: "read-only", sandbox: managed([everything]) },
    { name: "workspace-write", sandbox: managed(workspaceWrite) },
    { name: "workspace-write with network", sandbox: managed(workspaceWrite, "enabled") },
    { name: "workspace-write with denied files", sandbox: managed([...workspaceWrite, secrets]) },
    { name: "workspace only, nothing else readable", sandbox: managed([minimal(), at(workspace, "write")]) },
    { name: "read-only but for a single file", sandbox: managed([everything, at(`${workspace}/notes`, "write")]) },
    { name: "all files, no network", sandbox: unconfined({ type: "external", network: "restricted" }) },
    { name: "full-access", sandbox: unconfined({ type: "disabled" }) },
  ];
}

/** Only what programs need to run. */
function minimal() {
  return { path: { type: "special", value: { kind: "minimal" } }, access: "read" };
}

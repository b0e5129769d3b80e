/** Types with a name of their own that clients send. */

import type * as z from "zod/mini";
import { CapabilityRootParam } from "../capability_discovery.ts";
import { FsWalkOptions } from "../fs.ts";
import { HttpHeaderParam } from "../http.ts";
import * as process from "../process.ts";
import * as sandbox from "../sandbox.ts";
import { ShellSnapshotParam } from "../shell_snapshot.ts";
import type { NamedType } from "./json_schema.ts";
import type { Sentences } from "./text_types.ts";

function sent<S extends z.ZodMiniType>(schema: S, about: string, members: Sentences<z.input<S>>): NamedType {
  return { schema, about, members };
}

/** One whose members the compiler cannot list, because a member selects its form. */
function tagged(schema: object, about: string, members: Readonly<Record<string, string>>): NamedType {
  return { schema, about, members };
}

export const SENT_TYPES = {
  ProcessIo: sent(process.ProcessIoField, "How a child is connected: by pipes, or by a terminal.", {
    type: "`pipe` or `pty`.",
    stdin: "Whether there is an input to write to. `closed`: the child reads from `/dev/null`.",
    rows: "Height of the terminal.",
    cols: "Width of the terminal.",
  }),
  EnvPolicy: sent(
    process.EnvPolicy,
    "How the child's variables derive from the server's. In this order: inherit, drop the default excludes, drop " +
      "`exclude`, add `set`, keep only `includeOnly`, add `env` of the request. In patterns `*` is any run of " +
      "characters and `?` any one; they match whole names, in either case.",
    {
      inherit: "What to begin with: `all` of the server's variables, `core` (PATH, SHELL, TMPDIR, TEMP, TMP, HOME, " +
        "LANG, LC_ALL, LC_CTYPE, LOGNAME, USER), or `none`.",
      ignoreDefaultExcludes:
        "True keeps names that match `*KEY*`, `*SECRET*` or `*TOKEN*`, which are otherwise dropped.",
      exclude: "Patterns of names to drop.",
      set: "Variables to add.",
      includeOnly: "Patterns of names to keep, also of those in `set`. Empty: all.",
    },
  ),
  ProcessMetadata: sent(process.ProcessMetadata, "What the process is for, in the client's words. Logged only.", {
    threadId: "A UUID.",
    toolCallId: "Any text.",
  }),
  ManagedNetwork: sent(process.ManagedNetwork, "What a managed network would leave open. Accepted, without effect.", {
    loopbackPorts: "Ports of this machine.",
    allowLocalBinding: "Whether ports may be listened on.",
  }),
  ShellSnapshot: sent(
    ShellSnapshotParam,
    "The wish that the state of a login shell be captured once and reused, so that later commands start faster.",
    {
      scopeId: "Commands of the same scope and session share a state.",
      shell: "Name (`bash`, `zsh`, `sh`) and path of the shell. The path has to be `argv[0]` for anything to happen.",
    },
  ),
  PreparedCommand: sent(process.PreparedCommand, "What to run, exactly as given.", {
    argv: "Program and arguments.",
    cwd: "Working directory.",
    env: "All variables of the child.",
    arg0: "What the child sees as its first argument, in place of `argv[0]`.",
  }),
  TerminateMode: sent(process.TerminateMode, "How a process is ended.", {
    type: "`force`: SIGKILL at once. `graceful`: SIGTERM first.",
    timeoutMs: "With `graceful`: how long until SIGKILL.",
  }),
  FsWalkOptions: sent(FsWalkOptions, "The bounds of a walk.", {
    maxDepth: "How many levels below the path are listed besides its own; at most 64. 0 lists the path's children.",
    maxDirectories: "How many directories are entered, the path itself counted; 1 to 10000.",
    maxEntries: "How many names are looked at; 1 to 50000.",
    followDirectorySymlinks: "Whether links to directories are listed and entered, each real directory once.",
    pruneHiddenDirectories: "True lists directories whose name begins with a dot and does not enter them.",
  }),
  HttpHeader: sent(HttpHeaderParam, "A header field to send.", {
    name: "Its name.",
    value: "Its value, or the beginning of it.",
    valueEnvVar: "A variable of the server's environment whose value is put behind `value`, so that a secret need " +
      "not travel.",
  }),
  CapabilityRoot: sent(CapabilityRootParam, "A directory to look into.", {
    id: "Chosen by the client, and answered.",
    path: "The directory.",
    sandbox: "The sandbox for looking at this root.",
    sandboxPolicy: "A named policy in place of `sandbox`.",
  }),
  Sandbox: sent(
    sandbox.SandboxParam,
    "What a request may do. It has `permissions` and `windowsSandboxLevel`, or `sandboxPolicy`. Unknown members " +
      "beside `permissions` are ignored and logged; beside `sandboxPolicy` they are refused.",
    {
      permissions: "A permission profile.",
      sandboxPolicy: "A named policy, in place of `permissions`.",
      cwd: "Where the permissions apply: the base of relative patterns, the writable directory of the policy " +
        "`workspace-write`.",
      workspaceRoots:
        "What `project_roots` stands for. Left out, with a native `cwd`: that directory; with a URI: none.",
      policyContext: "Where the permissions apply, when that is not where the command runs. It then counts in place " +
        "of `cwd` and `workspaceRoots`.",
      windowsSandboxLevel: "Required beside `permissions`; without effect here.",
      windowsSandboxPrivateDesktop: "Without effect here.",
      windowsSandboxProxySettingsMode: "Without effect here.",
      useLegacyLandlock: "Without effect here.",
      sandboxOverride: "Without effect here: what the client has done before it asked.",
      userHomeDir: "Checked to be a path; without effect here.",
      temporaryDirectories: "Checked to be paths; without effect here.",
    },
  ),
  PolicyContext: sent(sandbox.PolicyContextField, "Where permissions apply.", {
    cwd: "The working directory they were written for.",
    workspaceRoots: "What `project_roots` stands for.",
  }),
  Permissions: tagged(
    sandbox.PermissionsField,
    "A permission profile. `disabled`: nothing is confined. `external`: somebody else confines the files. `managed`: " +
      "the server does.",
    {
      type: "Selects the form.",
      file_system: "What may be read and written.",
      network: "`restricted`: no internet sockets, not even to this machine. `enabled`: the machine's network.",
    },
  ),
  FileSystemPermissions: tagged(
    sandbox.FileSystemField,
    "Which files may be read and written. `restricted`: only what the entries grant. The narrower entry counts below " +
      "it, whatever their order; for the same path write beats read, and deny beats both.",
    {
      type: "Selects the form.",
      entries: "What is granted and denied.",
      glob_scan_max_depth: "How many levels below its fixed part a pattern is looked for. Null: all.",
    },
  ),
  SandboxEntry: tagged(sandbox.SandboxEntryField, "One grant or denial.", {
    path: "What it is about.",
    access: "`read`, `write` (which includes reading) or `deny`. `none` is an older word for `deny`.",
    missing_path_behavior: "Accepted, without effect.",
  }),
  EntryPath: tagged(sandbox.EntryPathField, "What an entry is about.", {
    type: "Selects the form.",
    path: "A file, or a directory with all that is below it.",
    pattern:
      "A glob pattern, for `deny`: `*`, `**`, `?`, `[…]`, `{a,b}`. It covers what exists when the request begins.",
    value: "A place with a name.",
  }),
  SpecialPath: tagged(
    sandbox.SpecialPathField,
    "A place with a name. `root`: the whole disk. `minimal`: the system's directories that programs need. " +
      "`project_roots`: the workspace roots (`current_working_directory` is an older word for it). `tmpdir`: the " +
      "command's TMPDIR. `slash_tmp`: `/tmp`. `unknown`: accepted, grants and denies nothing.",
    {
      kind: "Selects the place.",
      subpath: "The same place below each root.",
      path: "For `unknown`: what the place is called elsewhere.",
    },
  ),
  NamedPolicy: tagged(
    sandbox.NamedPolicy,
    "A policy by its name. `read-only`: everything may be read, nothing written. `workspace-write`: besides, the " +
      "sandbox's `cwd`, `writable_roots`, TMPDIR and `/tmp` may be written. `danger-full-access`: nothing is confined.",
    {
      type: "The policy's name, in one of its spellings.",
      network_access: "Whether the machine's network may be used.",
      writable_roots: "Directories that may be written besides.",
      exclude_tmpdir_env_var: "True leaves TMPDIR out.",
      exclude_slash_tmp: "True leaves `/tmp` out.",
    },
  ),
};

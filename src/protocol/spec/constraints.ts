/**
 * Why parameters that fit the JSON Schema can still be refused as -32602: what a schema cannot say, in words.
 *
 * A schema names what applies to it (`wire_notes.ts`); what only the work of a method finds out is named in its text
 * (`METHOD_TEXTS`). `refusal` is a regular expression for the message of the error, so that a client, and the tests, can
 * tell which constraint was missed.
 */

export interface Constraint {
  /** The rule, as a sentence. */
  readonly rule: string;
  readonly refusal: string;
}

export const CONSTRAINTS = {
  absolutePath: {
    rule: "A path is absolute: a `file:` URI without query and fragment, or a native path that starts with `/`. " +
      "It holds no NUL character, not even as `%00`.",
    refusal: "^(path must |file: URI must )",
  },
  localPath: {
    rule: "The path is one of the server's machine: no `file:` URI with another host, and no drive letter.",
    refusal: "^path is not usable on this host: ",
  },
  base64: {
    rule: "Bytes are standard base64 with padding, without white space and with unused bits zero.",
    refusal: "Invalid base64: ",
  },
  oneConfinement: {
    rule:
      "A request is confined by `sandbox`, or by `sandboxPolicy` beside its own members, not by both; and a sandbox " +
      "by `permissions` or by `sandboxPolicy`. Other words for the same (`sandboxProfile`, `sandboxMode`, " +
      "`sandboxContext`, `permissionProfile`, and `permissions` beside the request's members) are refused unless null, " +
      "and so is any of these words in snake_case or with other capitals, so that nothing runs with less confinement " +
      "than was meant.",
    refusal: "^(`[\\w-]+` is not accepted here: |give either `\\w+` or `sandboxPolicy`, not both$)",
  },
  notConfinable: {
    rule: "The request cannot be confined by itself: `sandbox`, `sandboxPolicy` and other words for it are refused " +
      "unless null.",
    refusal: "^`[\\w-]+` is not accepted here: ",
  },
  policyMembers: {
    rule: "Beside `sandboxPolicy` and inside it only the listed members are accepted.",
    refusal: "^unknown field `",
  },
  oneSpelling: {
    rule: "A member of a named policy is given once: in snake_case or in camelCase.",
    refusal: "^sandbox policy `[\\w-]+` has `\\w+` in two spellings$",
  },
  sandboxPlace: {
    rule:
      "The policy `workspace-write`, `project_roots` and relative patterns apply to a place: the sandbox names its " +
      "`cwd` (or a `policyContext`), and for the policy that is a path of the server's machine.",
    refusal: "(requires cwd$|^glob pattern is relative, and the cwd is not on this host: )",
  },
  utf8SandboxPath: {
    rule: "Paths in a sandbox are UTF-8.",
    refusal: "^sandbox paths must be UTF-8$",
  },
  sandboxPaths: {
    rule: "A sandbox names at most 4096 paths, with one for each root where it speaks of roots. They have at most " +
      "1048576 characters together.",
    refusal: "^sandbox has more than ",
  },
  globPattern: {
    rule:
      "A pattern is absolute, relative to the sandbox's `cwd`, or in `codex-project-roots://`. It has no NUL, no `..`, " +
      "closed brackets and braces, at most 256 alternatives and 12288 characters, and nothing ends in a backslash. All " +
      "patterns together, with their alternatives, have some hundred thousand characters.",
    refusal: "^glob pattern (must|has|is neither|ends) ",
  },
  environmentPatterns: {
    rule: "Matching the patterns of `envPolicy` against the variables takes at most 8 million steps.",
    refusal: "^envPolicy has too many patterns, or too long ones, ",
  },
  snapshotShell: {
    rule: "Where the command is the shell of `shellSnapshot`, that shell is `bash`, `zsh` or `sh`.",
    refusal: "^shell snapshots are unsupported for shell `",
  },
  snapshotScope: {
    rule: "`scopeId` of `shellSnapshot` has 1 to 256 bytes of UTF-8.",
    refusal: "^shell snapshot scope must be non-empty and at most 256 bytes$",
  },
  someKeyPath: {
    rule: "`configPaths` and `requirementsPaths` are not both empty.",
    refusal: "^at least one config or requirements path is required$",
  },
  linkTarget: {
    rule: "The target of a link is not empty and holds no NUL character.",
    refusal: "^target must not be empty or contain a NUL character$",
  },
  listPlace: {
    rule: "`after` is the `nextAfter` of an earlier answer.",
    refusal: "^after must be a `nextAfter` of an earlier answer$",
  },
  acknowledgedSeq: {
    rule: "Only numbers of events that there have been are acknowledged.",
    refusal: "^seq \\d+ was never sent: ",
  },
  oneSharedName: {
    rule: "A process is attached to by `uid` or by `name`, and not by both.",
    refusal: "^a process is attached to by uid or by name: ",
  },
  loopbackHost: {
    rule: "`host` is `localhost` or a loopback address: 127.0.0.0/8 or ::1.",
    refusal: "^host must be localhost or a loopback address ",
  },
  tunnelBytes: {
    rule: "Only bytes that were sent are acknowledged.",
    refusal: "^\\d+ bytes were never sent: ",
  },
  httpMethod: {
    rule: "`method` is a token of HTTP.",
    refusal: "^http/request method is invalid: ",
  },
  httpUrl: {
    rule: "`url` is an absolute URL of the scheme `http` or `https` with a host, and has at most 65536 characters.",
    refusal: "^http/request (url is invalid: |only supports http and https URLs, got )",
  },
  httpHeaders: {
    rule: "Names of header fields are tokens of HTTP, and values hold no control characters.",
    refusal: "^http/request header (name is invalid: |value is invalid for )",
  },
  httpHeaderVariable: {
    rule: "The variable that `valueEnvVar` names exists in the server's environment and is not empty.",
    refusal: "^http/request header .* requires (a non-empty )?executor environment variable ",
  },
  httpStreamId: {
    rule: "A streamed request has a `requestId` that no open stream of the connection has.",
    refusal: "^http/request streamResponse requestId `.*` is already active$",
  },
} as const satisfies Readonly<Record<string, Constraint>>;

export type ConstraintName = keyof typeof CONSTRAINTS;

/** Types with a name of their own that the server sends. */

import type * as z from "zod/mini";
import * as discovery from "../discovery_results.ts";
import * as environment from "../environment_results.ts";
import * as files from "../fs_results.ts";
import { HttpHeaderField } from "../http_results.ts";
import * as processResults from "../process_results.ts";
import type { NamedType } from "./json_schema.ts";
import { MACHINE_MEMBERS } from "./shared_texts.ts";
import type { Sentences } from "./text_types.ts";

function made<S extends z.ZodMiniType>(schema: S, about: string, members: Sentences<z.output<S>>): NamedType {
  return { schema, about, members };
}

export const MADE_TYPES = {
  EnvironmentInfo: made(environment.EnvironmentInfo, "The server's machine. Paths are `file:` URIs.", MACHINE_MEMBERS),
  SandboxBackend: made(environment.SandboxBackendReport, "One way to make sandboxes.", {
    works: "A trial process was confined by it.",
    path: "Of the program; null for a part of the kernel.",
    version: "Its version, if known.",
    reason: "Why it does not work, for people.",
    problem: "The kind of reason, where it is a known one. `replaceable`: others than root could replace the program.",
  }),
  ConfigLayer: made(discovery.ConfigLayerField, "One configuration file.", {
    source: "Which, for people: `user (/home/dev/.codex/config.toml)`.",
    baseDir: "What relative paths in it are relative to, as a URI.",
    toml: "The keys that were asked for, as TOML.",
  }),
  ConfigLayerStack: made(discovery.ConfigLayerStackField, "Configuration files; a later one overrides an earlier.", {
    layers: "The files.",
    cloudInsertionIndex: "Where a client puts layers of its own.",
  }),
  CapabilityFile: made(discovery.CapabilityFileField, "The text of a file.", {
    path: "Its URI.",
    contents: "Its text.",
  }),
  PluginFiles: made(discovery.PluginFilesField, "The files that make a plugin.", {
    manifest: "Its `plugin.json`.",
    mcpConfig: "Its MCP servers.",
    appsConfig: "Its apps.",
  }),
  SkillFiles: made(discovery.SkillFilesField, "The files of a skill.", {
    instructions: "`SKILL.md`.",
    metadata: "`agents/openai.yaml` beside it.",
  }),
  FoundRoot: made(discovery.CapabilityRootField, "What was found below a root.", {
    id: "As asked.",
    path: "URI of the root.",
    plugin: "What the root itself is, if it is a plugin.",
    skills: "Skills below it, in the order of their paths.",
    namespaceManifests: "Manifests of plugins around and below the root, which give skills their namespace.",
    warnings: "What had to be left out, for people.",
    error: "Why there is no result for the root.",
  }),
  SkillTool: made(discovery.SkillToolField, "A tool that a skill needs.", {
    type: "Kind of tool.",
    value: "Its name.",
    description: "What it is for.",
    transport: "How it is reached.",
    command: "The program to run.",
    url: "Where it is.",
    oauthCallbackPort: "The port for its login.",
  }),
  Skill: made(discovery.SkillField, "A skill without its instructions.", skillMembers()),
  StandaloneSkill: made(discovery.StandaloneSkillField, "A skill that belongs to no plugin.", {
    ...skillMembers(),
    discoveryRoot: "Where it was found: `id` and `path` of the directory.",
  }),
  Plugin: made(discovery.PluginField, "An installed plugin.", {
    id: "Name and marketplace: `github@openai`.",
    displayName: "For people.",
    remotePluginId: "What its marketplace calls it.",
    version: "Its version.",
    root: "URI of its directory.",
    files: "Its own files.",
    skills: "Its skills.",
  }),
  OutputChunk: made(processResults.OutputChunkField, "Something a process has written.", {
    seq: "Its number among all events of the process.",
    stream: "`stdout` or `stderr`; `pty` for all output of a terminal.",
    chunk: "The bytes, in base64. Chunks do not respect lines or characters.",
  }),
  NetworkDenial: made(processResults.NetworkDenialField, "Something a sandbox refused for the sake of the network.", {
    call: "`socket(AF_INET, SOCK_STREAM)`, `connect(/run/docker.sock)`.",
    program: "Path of the program that tried; null when it could not be learnt.",
  }),
  ListeningPort: made(processResults.ListeningPort, "A port that a process listens on.", {
    address: "The local address: `127.0.0.1`, `::`.",
    port: "Its number.",
    pid: "The operating system's number of the process that listens.",
  }),
  ProcessDetails: made(
    processResults.ProcessDetails,
    "What a process uses with everything that descends from it. Numbers are null when it has ended, or cannot be told.",
    {
      startedAtMs: "When it was started, in milliseconds since 1970.",
      lastOutputAtMs: "When it wrote something last; null: never.",
      cpuMs: "Processor time so far.",
      memoryBytes: "Resident memory.",
      processCount: "How many processes of the operating system there are.",
      ports: "TCP ports they listen on; at most 32.",
    },
  ),
  ProcessListEntry: made(processResults.ProcessListEntry, "A process that this session can reach.", {
    processId: "The id its client gave it.",
    uid: "Its name in the whole server.",
    pid: "The operating system's number; null while the child is being started.",
    argv: "As it was started.",
    cwd: "URI of the directory it was started in.",
    tty: "It has a terminal.",
    ageMs: "Since the start was asked for.",
    exited: "Its exit status is known.",
    exitCode: "The exit status, or 128 and the number of the signal. Null while it runs.",
    closed: "It has exited and all its output has come.",
    nextSeq: "The number its next event will have.",
    kept: "It outlived the session that started it.",
    keepOnSessionEnd: "It will outlive its session, or has.",
    own: "This session started it: `processId` means it here.",
    name: "The name that it was given, or null. Only with `processName`.",
    details: "What it uses with everything that descends from it. Only with `details` of the request.",
    output: "`latest` or `acknowledged`. Only with `acknowledgedOutput`, as the next two.",
    unacknowledgedBytes:
      "Output that waits to be acknowledged, as the window counts it: each chunk with its bytes and 200 more.",
    waitsForAck: "The window is full: the child waits.",
  }),
  FsDirectoryEntry: made(files.FsDirectoryEntry, "A name in a directory. A link is described by what it leads to.", {
    fileName: "Its name. Bytes that are not UTF-8 are replaced; `fs/walk` gives exact URIs.",
    isDirectory: "It is a directory.",
    isFile: "It is a regular file.",
  }),
  FsListEntry: made(files.FsListEntry, "A name in a directory. A link is described itself.", {
    fileName: "Its name. Bytes that are not UTF-8 are replaced; `fs/walk` gives exact URIs.",
    kind: "`file`, `directory`, `symlink` or `other`.",
    size: "In bytes.",
    mode: "Permission, set-id and sticky bits.",
    modifiedAtMs: "Milliseconds since 1970.",
    uid: "The owner's number.",
    gid: "The group's number.",
    nlink: "How many names it has.",
    target: "Where a link leads, as it is written in it. Only for links.",
  }),
  FsWalkEntry: made(files.FsWalkEntry, "A file or directory below the path.", {
    path: "Its URI.",
    kind: "`file` or `directory`.",
  }),
  FsChange: made(files.FsChange, "What happened to a path since the last notification about it.", {
    path: "Its URI.",
    kind:
      "`created`, `modified`, `removed` (a rename is a removal and a creation); `overflow`: changes below the path " +
      "were missed, look again; `unwatched`: changes below the path are not told (any more).",
  }),
  HttpHeaderField: made(HttpHeaderField, "A header field that came.", {
    name: "Its name in lower case.",
    value: "Its value.",
  }),
};

function skillMembers() {
  return {
    name: "With the plugin's name and a colon in front, if it belongs to one.",
    description: "What it is for.",
    shortDescription: "The same in short.",
    path: "URI of its `SKILL.md`.",
    dependencies: "`tools` that it needs.",
    policy: "`allowImplicitInvocation`, and the `products` it is for.",
  };
}

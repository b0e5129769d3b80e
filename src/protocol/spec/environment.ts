/** Texts and examples: the server's machine. */

import type { MethodTexts } from "./text_types.ts";
import { CONFINED, EXAMPLE_MACHINE, MACHINE_MEMBERS } from "./shared_texts.ts";

export const ENVIRONMENT_TEXTS: MethodTexts<
  | "environment/info"
  | "environment/status"
  | "environment/sandbox"
  | "environmentConfig/read"
  | "capabilityRoots/discoverV1"
  | "capabilities/discoverV2"
> = {
  "environment/info": {
    params: {},
    result: MACHINE_MEMBERS,
    example: {
      params: null,
      result: EXAMPLE_MACHINE,
      varies: [
        "shell",
        "executorVersion",
        "cwd",
        "userHomeDir",
        "platformOs",
        "temporaryDirectories",
        "tempDir",
        "capabilities",
      ],
    },
  },
  "environment/status": {
    params: {},
    result: { status: "`ready`." },
    notes: ["A cheap request to see that the connection and the server live."],
    example: { params: {}, result: { status: "ready" } },
  },
  "environment/sandbox": {
    params: {},
    result: {
      setting: "What the operator chose: `auto` is bubblewrap, else Landlock; `refuse` is neither.",
      bubblewrap: "The program.",
      landlock: "The kernel's own.",
    },
    notes: [
      "The first such request, or the first sandbox, takes about ten milliseconds for a trial. What works is " +
      "remembered; what does not is tried again after 30 s.",
    ],
    example: {
      params: null,
      result: {
        setting: "auto",
        bubblewrap: { works: true, path: "/usr/bin/bwrap", version: "0.8.0", reason: null, problem: null },
        landlock: { works: true, path: null, version: "7", reason: null, problem: null },
      },
      varies: ["bubblewrap", "landlock"],
    },
  },
  "environmentConfig/read": {
    params: {
      cwd: "Where the project's configuration is looked for: from here up to the project's root.",
      configPaths: 'Keys of `config.toml`, each as the list of its parts: `["mcp_servers","github"]`.',
      requirementsPaths: "Keys of `requirements.toml`, in the same form.",
    },
    result: {
      userHomeDir: "URI of the user's home directory.",
      codexHomeDir: "URI of the directory of codex: `CODEX_HOME`, else `.codex` in the home directory.",
      hostname: "Of the machine.",
      config: "What the configuration files say.",
      requirements: "What the files with the operator's requirements say.",
    },
    example: {
      params: { cwd: "/tmp/demo", configPaths: [["model"]], requirementsPaths: [] },
      result: {
        userHomeDir: "file:///home/dev",
        codexHomeDir: "file:///home/dev/.codex",
        hostname: "devbox",
        config: { layers: [], cloudInsertionIndex: 0 },
        requirements: { layers: [], cloudInsertionIndex: 0 },
      },
      varies: ["userHomeDir", "codexHomeDir", "hostname", "config", "requirements"],
    },
  },
  "capabilityRoots/discoverV1": {
    params: { roots: "Directories to look into. What goes wrong with one is told in its answer." },
    result: { roots: "One for each root asked for, in that order." },
    example: {
      params: { roots: [{ id: "a", path: "/tmp/demo" }] },
      result: {
        roots: [{
          id: "a",
          path: "file:///tmp/demo",
          plugin: null,
          skills: [],
          namespaceManifests: [],
          warnings: [],
          error: null,
        }],
      },
    },
  },
  "capabilities/discoverV2": {
    params: { cwd: "Where the client works. What is installed does not depend on it.", ...CONFINED },
    result: {
      plugins: "Installed plugins.",
      skills: "Skills that belong to no installed plugin.",
      warnings: "What had to be left out, for people.",
    },
    example: {
      params: { cwd: "/tmp/demo" },
      result: { plugins: [], skills: [], warnings: [] },
      varies: ["plugins", "skills", "warnings"],
    },
  },
};

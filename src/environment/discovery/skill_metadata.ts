/** `agents/openai.yaml` beside a skill: what it depends on, and when it may be used. Pure, once the text is parsed. */

import type { SkillField, SkillToolField } from "../../protocol/capability_discovery.ts";
import { MAX_TOOL_TEXT_LENGTH, MAX_TOOL_WORD_LENGTH } from "../limits.ts";
import { isYamlMap, parseYaml, type YamlMap, yamlText, type YamlValue } from "./yaml_document.ts";

export type SkillMetadata = Pick<SkillField, "dependencies" | "policy">;

const NONE: SkillMetadata = { dependencies: null, policy: null };

const PRODUCTS = ["chatgpt", "codex", "atlas"];

/** A field has an impossible type: then nothing of the file counts. */
class Malformed extends Error {}

/** Metadata is optional, so a file that cannot be understood says nothing. */
export async function parseSkillMetadata(text: string): Promise<SkillMetadata> {
  const document = await parseYaml(text);
  if (!isYamlMap(document)) return NONE;
  try {
    return {
      dependencies: readDependencies(mapAt(document, "dependencies")),
      policy: readPolicy(mapAt(document, "policy")),
    };
  } catch (error) {
    if (error instanceof Malformed) return NONE;
    throw error;
  }
}

function readPolicy(policy: YamlMap | null): SkillField["policy"] {
  if (policy === null) return null;
  const products = listAt(policy, "products").map((product) => {
    const name = yamlText(product)?.toLowerCase() ?? "";
    if (!PRODUCTS.includes(name)) throw new Malformed();
    return name;
  });
  return { allowImplicitInvocation: booleanOf(policy.get("allow_implicit_invocation")), products };
}

function readDependencies(dependencies: YamlMap | null): SkillField["dependencies"] {
  const tools = listAt(dependencies, "tools").map(readTool).filter((tool) => tool !== null);
  return tools.length === 0 ? null : { tools };
}

/** Null for a tool without type or value: it would be of no use. */
function readTool(tool: YamlValue): SkillToolField | null {
  if (!isYamlMap(tool)) throw new Malformed();
  const text = (name: string, maxLength: number): string | null => {
    const found = yamlText(tool.get(name));
    if (found === undefined) throw new Malformed();
    return found === null || found === "" || [...found].length > maxLength ? null : found;
  };
  const type = text("type", MAX_TOOL_WORD_LENGTH);
  const value = text("value", MAX_TOOL_TEXT_LENGTH);
  const details = {
    description: text("description", MAX_TOOL_TEXT_LENGTH),
    transport: text("transport", MAX_TOOL_WORD_LENGTH),
    command: text("command", MAX_TOOL_TEXT_LENGTH),
    url: text("url", MAX_TOOL_TEXT_LENGTH),
    oauthCallbackPort: portOf(mapAt(tool, "oauth")?.get("callback_port")),
  };
  return type === null || value === null ? null : { type, value, ...details };
}

function mapAt(map: YamlMap, name: string): YamlMap | null {
  const value = map.get(name) ?? null;
  if (value !== null && !isYamlMap(value)) throw new Malformed();
  return value;
}

function listAt(map: YamlMap | null, name: string): YamlValue[] {
  const value = map?.get(name) ?? null;
  if (value !== null && !Array.isArray(value)) throw new Malformed();
  return value ?? [];
}

function booleanOf(value: YamlValue | undefined): boolean | null {
  const text = plainText(value);
  if (text === null) return null;
  if (/^(?:true|True|TRUE)$/.test(text)) return true;
  if (/^(?:false|False|FALSE)$/.test(text)) return false;
  throw new Malformed();
}

function portOf(value: YamlValue | undefined): number | null {
  const text = plainText(value);
  if (text === null) return null;
  const port = /^\d{1,5}$/.test(text) ? Number(text) : NaN;
  if (!(port <= 0xffff)) throw new Malformed();
  return port;
}

/** The text of a scalar that must not be in quotes. */
function plainText(value: YamlValue | undefined): string | null {
  if (value === undefined || value === null) return null;
  if (Array.isArray(value) || isYamlMap(value) || !value.isPlain) throw new Malformed();
  return value.text;
}

/** What a `SKILL.md` says of itself between its first two `---` lines. */

import { MAX_SKILL_NAME_LENGTH } from "./limits.ts";
import { isYamlMap, parseYaml, yamlText } from "./yaml_document.ts";

export interface SkillFrontmatter {
  readonly name: string;
  readonly description: string;
  readonly shortDescription: string | null;
}

/** Null when there is none, or it lacks what a skill must have. `defaultName` is for one that does not name itself. */
export async function parseSkillFrontmatter(text: string, defaultName: string): Promise<SkillFrontmatter | null> {
  const header = extractHeader(text);
  if (header === null) return null;
  const fields = await parseYaml(header) ?? await parseYaml(withQuotes(header));
  if (!isYamlMap(fields)) return null;
  const metadata = fields.get("metadata") ?? null;
  if (metadata !== null && !isYamlMap(metadata)) return null;

  const texts = [fields.get("name"), fields.get("description"), metadata?.get("short-description")].map(yamlText);
  if (texts.includes(undefined)) return null;
  const [name, description, shortDescription] = texts;
  const finalName = name || defaultName;
  if (!description || [...finalName].length > MAX_SKILL_NAME_LENGTH) return null;
  return { name: finalName, description, shortDescription: shortDescription || null };
}

function extractHeader(text: string): string | null {
  const [first, ...rest] = text.split(/\r?\n/);
  const end = rest.findIndex(isFence);
  return first !== undefined && isFence(first) && end > 0 ? rest.slice(0, end).join("\n") : null;
}

/** Blanks around it do not matter; a byte order mark is no blank. */
function isFence(line: string): boolean {
  return /^[^\S\ufeff]*---[^\S\ufeff]*$/.test(line);
}

/**
 * Many skills are written as if all that follows `key: ` were text: `description: Build for AWS: ECS`. Puts such values
 * into quotes; used only when the header is no YAML as it stands.
 */
function withQuotes(header: string): string {
  /** Indentation of the key whose value is a block of lines, which are text already. */
  let blockIndent: number | null = null;
  return header.split("\n").map((line) => {
    const indent = line.length - line.trimStart().length;
    if (blockIndent !== null && (line.trim() === "" || indent > blockIndent)) return line;
    blockIndent = null;
    const [, key, value, comment = ""] = /^([^:]*[^:\s]\s*:\s+)(.*?)(\s+#.*)?$/.exec(line) ?? [];
    if (key === undefined || value === undefined || value === "") return line;
    if (/^[|>]/.test(value)) blockIndent = indent;
    return needsQuotes(value) ? `${key}'${value.trimEnd().replaceAll("'", "''")}'${comment}` : line;
  }).join("\n");
}

/** Text that YAML takes for a mapping, or for the beginning of a collection that does not end on this line. */
function needsQuotes(value: string): boolean {
  if (/^['"|>]/.test(value)) return false;
  return /:\s/.test(value) || value.endsWith(":") || /^[@`]/.test(value) || isOpenCollection(value);
}

function isOpenCollection(value: string): boolean {
  return (value.startsWith("[") && !value.endsWith("]")) || (value.startsWith("{") && !value.endsWith("}"));
}

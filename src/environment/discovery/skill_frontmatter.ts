/** What a `SKILL.md` says of itself between its first two `---` lines. */

import { MAX_SKILL_NAME_LENGTH, MAX_YAML_LENGTH } from "../limits.ts";
import { isYamlMap, parseYaml, yamlText } from "./yaml_document.ts";

export interface SkillFrontmatter {
  readonly name: string;
  readonly description: string;
  readonly shortDescription: string | null;
}

/** Null when there is none, or it lacks what a skill must have. `defaultName` is for a skill without a name. */
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

/** A header that does not end within the maximum length counts as none. */
const HEADER_SIGHT = MAX_YAML_LENGTH + 1024;

/** The lines between the fences; null when there are none. */
export function extractHeader(text: string): string | null {
  const [first, ...rest] = text.slice(0, HEADER_SIGHT).split(/\r?\n/);
  const end = rest.findIndex(isFence);
  return first !== undefined && isFence(first) && end > 0 ? rest.slice(0, end).join("\n") : null;
}

/** Blanks around it do not matter; a byte order mark is not a blank. */
function isFence(line: string): boolean {
  return /^[^\S\ufeff]*---[^\S\ufeff]*$/.test(line);
}

/**
 * Many skills are written as if everything after `key: ` were text: `description: Build for AWS: ECS`. This puts such
 * values into quotes. Used only when the header is not valid YAML as it stands.
 */
function withQuotes(header: string): string {
  /** Indentation of the key whose value is a block of lines, which are already text. */
  let blockIndent: number | null = null;
  return header.split("\n").map((line) => {
    const indent = line.length - line.trimStart().length;
    if (blockIndent !== null && (line.trim() === "" || indent > blockIndent)) return line;
    blockIndent = null;
    const { key, value, comment } = splitLine(line) ?? { key: "", value: "", comment: "" };
    if (value === "") return line;
    if (/^[|>]/.test(value)) blockIndent = indent;
    return needsQuotes(value) ? `${key}'${value.trimEnd().replaceAll("'", "''")}'${comment}` : line;
  }).join("\n");
}

/**
 * `key: value # comment` in three parts; white space goes to the part before the value and to the comment. Null for any
 * other line. By hand, because a regular expression would go back and forth over long white space.
 */
function splitLine(line: string): { key: string; value: string; comment: string } | null {
  const colon = line.indexOf(":");
  if (colon === -1 || line.slice(0, colon).trim() === "" || /[\r\u2028\u2029]/.test(line)) return null;
  const rest = line.slice(colon + 1);
  const content = rest.trimStart();
  if (content.length === rest.length) return null;
  const key = line.slice(0, line.length - content.length);
  for (let at = content.indexOf("#", 1); at !== -1; at = content.indexOf("#", at + 1)) {
    if (content[at - 1]!.trim() !== "") continue;
    const value = content.slice(0, at).trimEnd();
    return { key, value, comment: content.slice(value.length) };
  }
  return { key, value: content, comment: "" };
}

/** Text that YAML reads as a mapping, or as the beginning of a collection that does not end on this line. */
function needsQuotes(value: string): boolean {
  if (/^['"|>]/.test(value)) return false;
  return /:\s/.test(value) || value.endsWith(":") || /^[@`]/.test(value) || isOpenCollection(value);
}

function isOpenCollection(value: string): boolean {
  return (value.startsWith("[") && !value.endsWith("]")) || (value.startsWith("{") && !value.endsWith("}"));
}

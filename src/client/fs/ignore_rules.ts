/**
 * Which files a transfer leaves out, by patterns as in `.gitignore`: `*`, `?` and `[ab]` within a name, `**` across
 * directories, a leading or inner `/` ties a pattern to the top, a trailing `/` means directories, `!` takes back.
 */

/** Whether a path is left out. */
export type IgnoreTest = (relativePath: string, isDirectory: boolean) => boolean;

interface Rule {
  readonly pattern: RegExp;
  readonly isDirectoryOnly: boolean;
  readonly isIgnored: boolean;
}

/** A test for relative paths, with `/` between names. The last rule that matches decides. */
export function ignoreTest(patterns: readonly string[]): IgnoreTest {
  const rules = patterns.flatMap((pattern) => ruleOf(pattern) ?? []);
  return (path, isDirectory) => {
    let isIgnored = false;
    for (const rule of rules) {
      if ((isDirectory || !rule.isDirectoryOnly) && rule.pattern.test(path)) isIgnored = rule.isIgnored;
    }
    return isIgnored;
  };
}

function ruleOf(line: string): Rule | null {
  let text = line.trim();
  if (text === "" || text.startsWith("#")) return null;
  const isIgnored = !text.startsWith("!");
  if (!isIgnored) text = text.slice(1);
  const isDirectoryOnly = text.endsWith("/");
  if (isDirectoryOnly) text = text.slice(0, -1);
  const isTied = text.includes("/");
  if (text.startsWith("/")) text = text.slice(1);
  const body = text.replace(/\*\*\/|\/\*\*$|\*\*|\*|\?|\[[^\]]+\]|[.+^${}()|\\/[\]]/g, (part) => {
    if (part === "**/") return "(?:.*/)?";
    if (part === "/**") return "/.*";
    if (part === "**") return ".*";
    if (part === "*") return "[^/]*";
    if (part === "?") return "[^/]";
    if (part.length > 1) return part.replace(/^\[!/, "[^").replaceAll("\\", "\\\\");
    return `\\${part}`;
  });
  return { pattern: new RegExp(isTied ? `^${body}$` : `(?:^|/)${body}$`), isDirectoryOnly, isIgnored };
}

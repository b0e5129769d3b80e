/**
 * The document as Markdown for people: the reference part of `docs/protocol.md`, between two markers. `deno task docs`
 * renews it, and a test compares.
 */

import { COMMON_ERRORS } from "../methods.ts";
import { ERROR_CODES } from "../error_codes.ts";
import type { JsonSchema, SpecConstraint, SpecDocument, SpecMethod } from "../spec.ts";
import { FLAG_TEXTS, OPTIONAL_FIELD_TEXTS, OPTIONAL_NOTIFICATION_TEXTS } from "./flags.ts";
import { METHOD_TEXTS, NOTIFICATION_TEXTS } from "./texts.ts";

const BEGIN = "<!-- reference: begin (written by `deno task docs`) -->";
const END = "<!-- reference: end -->";

/** The page with the present reference between its markers. */
export function withReference(page: string, reference: string): string {
  const begin = page.indexOf(BEGIN);
  const end = page.indexOf(END);
  if (begin < 0 || end < begin) throw new RangeError(`page lacks ${BEGIN} followed by ${END}`);
  return `${page.slice(0, begin)}${BEGIN}\n\n${reference}\n${page.slice(end)}`;
}

interface Part {
  readonly tag: string;
  readonly title: string;
  /** What it is for. */
  readonly about: string;
}

const PARTS: readonly Part[] = [
  {
    tag: "initialize",
    title: "Handshake and session",
    about:
      "Every connection begins with `initialize` and `initialized`. The session that it opens, or takes up, owns " +
      "processes and outlives the connection for a while.",
  },
  {
    tag: "process",
    title: "Processes",
    about: "Start programs, follow and read their output, write to them, end them; at the end of this part what the " +
      "server tells of them by itself.",
  },
  {
    tag: "fs",
    title: "Files",
    about:
      "Whole files, trees, and blocks of files too large for one message. All of them can be confined by a sandbox, " +
      "except those that act on something opened before.",
  },
  {
    tag: "environment",
    title: "The server's machine",
    about: "What the machine is, how sandboxes are made there, and what is configured and installed for agents.",
  },
  {
    tag: "http",
    title: "Web requests",
    about: "Requests to web servers that the server's machine reaches and the client need not.",
  },
  {
    tag: "net",
    title: "Tunnels",
    about: "Connections to ports of the server's machine, where its operator allows them.",
  },
];

/** Tags that belong to another's part. */
const PART_OF: Readonly<Record<string, string>> = {
  session: "initialize",
  rpc: "initialize",
  initialized: "initialize",
  environmentConfig: "environment",
  capabilityRoots: "environment",
  capabilities: "environment",
};

/** Ends with a newline. */
export function referenceMarkdown(document: SpecDocument): string {
  const partOf = (method: SpecMethod) => PART_OF[method.tags[0]!.name] ?? method.tags[0]!.name;
  const rest = [...new Set(document.methods.map(partOf))].filter((tag) => !PARTS.some((part) => part.tag === tag));
  const parts: Part[] = [...PARTS, ...rest.map((tag) => ({ tag, title: tag, about: `Methods of \`${tag}/*\`.` }))];
  const blocks = [
    ...parts.flatMap(({ tag, title, about }) => [
      `### ${title}`,
      about,
      ...document.methods.filter((method) => partOf(method) === tag).flatMap(methodBlocks),
    ]),
    "### Types",
    "Types that several methods use, or that are too long for a table's cell. Unknown members are ignored unless it says " +
    "otherwise.",
    ...Object.entries(document.components.schemas).flatMap(([name, schema]) => typeBlocks(name, schema)),
    "### Constraints",
    "Reasons for -32602 that a schema cannot express. Each method lists those that apply to it.",
    table(
      ["constraint", "rule"],
      constraintsOf(document).map(({ name, rule }) => [`<a id="c-${name}"></a>\`${name}\``, rule]),
    ),
    "### Flags",
    "Flags of `environmentInfo.capabilities`. One that is missing is false: do not rely on what it stands for.",
    table(["flag", "stands for"], Object.entries(FLAG_TEXTS).map(([name, text]) => [`\`${name}\``, text])),
    "Words for `optionalFields` of `initialize`. Existing clients compare whole objects, so these members are sent only to " +
    "clients that ask for them:",
    table(["word", "adds"], Object.entries(OPTIONAL_FIELD_TEXTS).map(([name, text]) => [`\`${name}\``, text])),
    "Words for `notifications` of `initialize`:",
    table(["word", "told"], Object.entries(OPTIONAL_NOTIFICATION_TEXTS).map(([name, text]) => [`\`${name}\``, text])),
  ];
  return `${blocks.join("\n\n")}\n`;
}

function methodBlocks(method: SpecMethod): string[] {
  const { name, summary, description, params, result, "x-capability": flag } = method;
  const isRequest = result !== undefined;
  const kind = isRequest ? "Request" : `Notification of the ${method["x-from"]}`;
  const facts = `${kind}. ${flag === null ? "Every server has it." : `Flag: \`${flag}\`.`}`;
  return [
    `#### ${name}`,
    `${summary} ${facts}`,
    ...(description === undefined ? [] : [description]),
    params.length === 0
      ? isRequest ? "Parameters: none (`params` is left out, null or `{}`)." : "Parameters: none, or anything."
      : table(
        ["parameter", "type", "meaning"],
        params.map((param) => [
          `${param.required ? "**" : ""}\`${param.name}\`${param.required ? "**" : ""}`,
          typeText(param.schema),
          param.description ?? "",
        ]),
      ),
    ...(isRequest ? resultBlocks(result.schema) : []),
    ...errorBlocks(method),
    ...exampleBlocks(method),
  ];
}

function resultBlocks(schema: JsonSchema): string[] {
  if (schema.properties === undefined && "$ref" in schema) return [`Result: ${typeText(schema)}.`];
  const members = Object.entries(schema.properties ?? {});
  if (members.length === 0) return ["Result: `{}`."];
  return [
    table(
      ["result", "type", "meaning"],
      members.map(([name, member]) => [
        `\`${name}\`${schema.required?.includes(name) ? "" : " (optional)"}`,
        typeText(member),
        member.description ?? "",
      ]),
    ),
  ];
}

function errorBlocks({ errors = [], "x-constraints": constraints = [] }: SpecMethod): string[] {
  const common = new Map(Object.entries(COMMON_ERRORS).map(([kind, text]) => [codeOf(kind), text as string]));
  const own = errors.flatMap(({ code, message }) => {
    const text = message.replace(common.get(code) ?? "\0", "").trim();
    return text === "" ? [] : [`${code}: ${text}`];
  });
  const links = constraints.map((constraint) => `[\`${constraint.name}\`](#c-${constraint.name})`);
  return [
    ...(own.length === 0 ? [] : [`Errors of its own: ${own.join(" ")}`]),
    ...(links.length === 0 ? [] : [`-32602 also for: ${links.join(", ")}.`]),
  ];
}

function codeOf(kind: string): number {
  return ERROR_CODES[kind as keyof typeof ERROR_CODES];
}

function exampleBlocks({ name, result }: SpecMethod): string[] {
  const text = result === undefined ? NOTIFICATION_TEXTS[name] : METHOD_TEXTS[name];
  if (text === undefined) return ['```\n> {"method":"initialized"}\n```'];
  const { params, varies = [] } = text.example;
  const lines = "result" in text.example
    ? [
      `> ${JSON.stringify({ id: 1, method: name, ...(params === null ? {} : { params }) })}`,
      `< ${JSON.stringify({ id: 1, result: text.example.result })}`,
    ]
    : [`< ${JSON.stringify({ method: name, params })}`];
  const places = varies.map((place) => `\`${place}\``).join(", ");
  return [
    `\`\`\`\n${lines.join("\n")}\n\`\`\``,
    ...(varies.length === 0 ? [] : [`Differs from run to run: ${places}.`]),
  ];
}

// ---------------------------------------------------------------- types

function typeBlocks(name: string, schema: JsonSchema): string[] {
  const forms = schema.properties === undefined ? schema.oneOf ?? [] : [schema];
  const rows = forms.flatMap((form) => {
    const tag = Object.entries(form.properties ?? {}).find(([, member]) => "const" in member || isSpellings(member));
    const word = forms.length > 1 && tag !== undefined ? `${typeText(tag[1]).split(", ")[0]}: ` : "";
    return Object.entries(form.properties ?? {})
      .filter(([member]) => !isCamelCopy(member, form))
      .map(([member, type]) => {
        const isRequired = form.required?.includes(member) ?? false;
        return [
          `${word}${isRequired ? "**" : ""}\`${member}\`${isRequired ? "**" : ""}`,
          typeText(type),
          type.description ?? "",
        ];
      });
  });
  return [`#### ${name}`, schema.description ?? "", table(["member", "type", "meaning"], rows)];
}

/** The spellings of a policy's name. */
function isSpellings(schema: JsonSchema): boolean {
  return Array.isArray(schema.enum) && schema.enum[0]?.includes("-");
}

/** A member of a named policy in its other spelling. */
function isCamelCopy(name: string, form: JsonSchema): boolean {
  const snake = name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  return snake !== name && form.properties?.[snake] !== undefined;
}

/** A type in a few words: `string`, `integer ≥ 0 or null`, `"a" or "b"`, a list, or a link to a named one. */
function typeText(schema: JsonSchema): string {
  if (typeof schema.$ref === "string") return link(schema.$ref);
  if (schema.allOf?.length === 1) return typeText(schema.allOf[0]!);
  const alternatives = schema.anyOf ?? schema.oneOf;
  if (alternatives !== undefined) return [...new Set(alternatives.map(typeText))].join(" or ");
  if ("const" in schema) return `\`${JSON.stringify(schema.const)}\``;
  const standard = "default" in schema ? `, default \`${JSON.stringify(schema.default)}\`` : "";
  if (Array.isArray(schema.enum)) return schema.enum.map((word) => `\`${JSON.stringify(word)}\``).join(", ") + standard;
  if (Array.isArray(schema.type)) return schema.type.join(" or ");
  switch (schema.type) {
    case "array":
      return `list of ${typeText(schema.items ?? {})}${schema.minItems === 1 ? ", not empty" : ""}${standard}`;
    case "integer":
      return `integer${range(schema)}${standard}`;
    case "object":
      return objectText(schema);
    case undefined:
      return "anything";
    default:
      return `${schema.type}${schema.contentEncoding === "base64" ? " (base64)" : ""}${standard}`;
  }
}

function objectText({ properties, additionalProperties }: JsonSchema): string {
  const members = Object.entries(properties ?? {});
  if (members.length > 0) {
    return `object: ${members.map(([name, type]) => `\`${name}\` (${typeText(type)})`).join(", ")}`;
  }
  const values = additionalProperties as JsonSchema | undefined;
  return values?.type === undefined ? "object" : `object of ${typeText(values)}s`;
}

/** Bounds that mean something: not those of the numbers that JSON can tell exactly. */
function range({ minimum, maximum }: JsonSchema): string {
  const [low, high] = [minimum, maximum].map((bound) => Math.abs(Number(bound)) < 2 ** 53 - 1 ? Number(bound) : null);
  if (low !== null && high !== null) return ` ${low}…${high}`;
  return low === null ? "" : ` ≥ ${low}`;
}

function link(reference: string): string {
  const name = reference.split("/").at(-1)!;
  return `[${name}](#${name.toLowerCase()})`;
}

function constraintsOf(document: SpecDocument): SpecConstraint[] {
  const all = document.methods.flatMap((method) => method["x-constraints"] ?? []);
  return [...new Map(all.map((constraint) => [constraint.name, constraint])).values()]
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
  return [line(head), line(head.map(() => "---")), ...rows.map(line)].join("\n");
}

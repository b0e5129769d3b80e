/**
 * Named places: `[places.NAME]` of `${XDG_CONFIG_HOME:-~/.config}/exec-server/config.toml`, which its user writes. Loaded
 * only when a place is named.
 */

import { parse } from "smol-toml";
import { messageOf } from "../../../errors.ts";
import { isObject } from "../../../json_object.ts";
import { nearestWord } from "../../../nearest_word.ts";
import { quoted, refusal } from "../../cli_error.ts";
import type { Environment } from "../../flags.ts";

/** A place from the file, with absolute paths. */
export interface NamedPlace {
  readonly url: string;
  readonly tokenFile: string | null;
  readonly executor: string | null;
}

const KEYS = ["url", "token-file", "executor"] as const;

/** Throws an error that says what is wrong, and where. */
export async function namedPlace(name: string, env: Environment): Promise<NamedPlace> {
  const path = configPath(env);
  const attempted = `cannot go to @${name}`;
  let text: string;
  try {
    text = await Deno.readTextFile(path);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw refusal(`${attempted}: ${error}`, error);
    throw refusal(`${attempted}: there is no ${path}; write [places.${name}] with url = "…" into it`);
  }
  return readPlace(text, name, { path, env });
}

/** The same, from the file's text. */
export function readPlace(
  text: string,
  name: string,
  { path, env }: { readonly path: string; readonly env: Environment },
): NamedPlace {
  const attempted = `cannot go to @${name}`;
  const places = table(parsed(text, path)["places"] ?? {}, `${path}: places`);
  const entry = Object.hasOwn(places, name) ? places[name] : undefined;
  if (entry === undefined) {
    const nearest = nearestWord(name, Object.keys(places));
    const hint = nearest === null ? `write [places.${name}] into it` : `did you mean @${nearest}?`;
    throw refusal(`${attempted}: ${path} has no such place: ${hint}`);
  }
  const place = table(entry, `${path}: places.${name}`);
  for (const key of Object.keys(place)) {
    if ((KEYS as readonly string[]).includes(key)) continue;
    throw refusal(`${attempted}: ${path} has the unknown key ${quoted(key)} (known are ${KEYS.join(", ")})`);
  }
  const word = (key: (typeof KEYS)[number]): string | null => {
    const value = place[key] ?? null;
    if (value === null || (typeof value === "string" && value !== "")) return value;
    throw refusal(`${attempted}: ${key} in ${path} must be a string`);
  };
  const url = word("url");
  if (url === null) throw refusal(`${attempted}: the place in ${path} has no url`);
  const file = word("token-file");
  const directory = path.replace(/\/[^/]*$/, "");
  const tokenFile = file === null || file.startsWith("/") ? file : fromHome(file, env) ?? `${directory}/${file}`;
  return { url, tokenFile, executor: word("executor") };
}

function configPath(env: Environment): string {
  const base = env["XDG_CONFIG_HOME"];
  if (base?.startsWith("/")) return `${base}/exec-server/config.toml`;
  const home = env["HOME"];
  if (!home?.startsWith("/")) throw refusal("cannot find config.toml: HOME is not set");
  return `${home}/.config/exec-server/config.toml`;
}

function fromHome(file: string, env: Environment): string | null {
  return file.startsWith("~/") && env["HOME"] !== undefined ? `${env["HOME"]}/${file.slice(2)}` : null;
}

function parsed(text: string, path: string): Record<string, unknown> {
  try {
    return parse(text);
  } catch (error) {
    const [reason] = messageOf(error).split("\n");
    throw refusal(`cannot read ${path}: ${reason}`, error);
  }
}

function table(value: unknown, what: string): Record<string, unknown> {
  if (isObject(value)) return value;
  throw refusal(`cannot read ${what}: it must be a table`);
}

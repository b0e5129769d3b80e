/**
 * What a program is told as its own name (`argv[0]`), beside the file that was decided. The caller chooses it freely, and
 * rules do not see it. But some programs do another thing under another name (`git-init` is `git init`, busybox is every
 * command that it has), and some look for their parts beside the file that it names (gcc, python).
 */

import { bytesOf, type ByteString, byteStringOf } from "../../os/files/byte_string.ts";
import { lastName } from "../../text_path.ts";
import type { ExecRequest } from "./exec_request.ts";

/** What a login shell has before its name: `-bash`, `-/bin/bash`. */
const LOGIN_MARK = "-";

/**
 * The words for a program that leaves its sandbox. Null when it is called under another name than its file: that name was
 * not decided. The file is the one that the caller named, because what a link leads to may do another thing under the
 * link's name. If there is a directory before the name, it becomes that of the file: it was not decided either.
 */
export function wordsOutside({ file, argv }: Pick<ExecRequest, "file" | "argv">): ExecRequest["argv"] | null {
  const [first, ...others] = argv;
  if (first === undefined) return null;
  const [mark, name] = withoutMark(byteStringOf(first), lastName(file));
  if (lastName(name) !== lastName(file)) return null;
  return name.includes("/") ? [bytesOf(`${mark}${file}` as ByteString), ...others] : argv;
}

function withoutMark(name: string, ownName: string): [mark: string, name: string] {
  const rest = name.slice(LOGIN_MARK.length);
  const isMarked = name.startsWith(LOGIN_MARK) && name !== ownName && (rest.startsWith("/") || !rest.includes("/"));
  return isMarked ? [LOGIN_MARK, rest] : ["", name];
}

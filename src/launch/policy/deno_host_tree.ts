/**
 * The real disk as a `HostTree` and a `DirectoryLister`: thin calls, no policy decisions.
 *
 * Synchronous: a policy asks a few dozen questions of some microseconds each, and answers from one moment are worth
 * more than that time.
 */

import { type DomainError, invalidRequest } from "../../errors.ts";
import type { DirectoryLister, ListedName } from "./glob_scan.ts";
import type { HostEntry, HostTree } from "./host_tree.ts";
import { looksLikePlaceholder } from "./placeholders.ts";

/** Enough for a `.git` file, which holds one path. */
const MAX_START_BYTES = 8 * 1024;

/** What Deno shows for bytes that are not UTF-8. */
const REPLACEMENT_CHARACTER = "\uFFFD";

export class DenoHostTree implements HostTree, DirectoryLister {
  /** Only Linux is known to have these. */
  isMadeUp(_path: string): boolean {
    return false;
  }

  look(path: string): HostEntry | "missing" | "blocked" {
    let info: Deno.FileInfo;
    try {
      info = Deno.lstatSync(path);
    } catch (error) {
      if (error instanceof Deno.errors.NotFound) return "missing";
      if (isObstacle(error)) return "blocked";
      throw error;
    }
    const id = `${info.dev}:${info.ino}`;
    if (info.isSymlink) return { type: "symlink", id };
    if (info.uid === Deno.uid() && looksLikePlaceholder(info) && isEmpty(path, info)) {
      return { type: "placeholder", id };
    }
    return { type: info.isDirectory ? "directory" : "file", id };
  }

  readLink(path: string): string {
    return Deno.readLinkSync(path);
  }

  readStart(path: string): string | null {
    try {
      using file = Deno.openSync(path, { read: true });
      const bytes = new Uint8Array(MAX_START_BYTES);
      return new TextDecoder().decode(bytes.subarray(0, file.readSync(bytes) ?? 0));
    } catch {
      return null; // It cannot be read, which is what null says.
    }
  }

  async list(path: string): Promise<readonly ListedName[]> {
    const names: ListedName[] = [];
    const inexact = new Set<string>();
    try {
      for await (const { name, isDirectory } of Deno.readDir(path)) {
        const isInexact = name.includes(REPLACEMENT_CHARACTER);
        // A name may really contain that character; then the file can be found under it. Of two equal names only one
        // can be real.
        const isUsable = !isInexact || (!inexact.has(name) && this.look(`${path}/${name}`) !== "missing");
        if (isInexact) inexact.add(name);
        names.push({ name, isDirectory, isUsable });
      }
    } catch (error) {
      if (error instanceof Deno.errors.NotFound || error instanceof Deno.errors.NotADirectory) return names;
      if (!isObstacle(error)) throw error;
      // The runtime forbids it, and the kernel might let our children.
      if (error instanceof Deno.errors.NotCapable) throw cannotBeListed(path);
      // We cannot read it, so our children cannot either. But a child could open a directory of our own by changing its
      // mode.
      if (Deno.lstatSync(path).uid === Deno.uid()) throw cannotBeListed(path);
    }
    return names;
  }
}

function cannotBeListed(path: string): DomainError {
  return invalidRequest(`Cannot deny glob matches: ${path} cannot be listed`);
}

function isObstacle(error: unknown): boolean {
  return error instanceof Deno.errors.PermissionDenied || error instanceof Deno.errors.NotADirectory ||
    error instanceof Deno.errors.FilesystemLoop || error instanceof Deno.errors.NotCapable;
}

/** A directory with content is not ours any more, even if we made the directory. */
function isEmpty(path: string, info: Deno.FileInfo): boolean {
  if (!info.isDirectory) return info.size === 0;
  for (const _ of Deno.readDirSync(path)) return false;
  return true;
}

/** The user this program runs as; null when it may not know (`--allow-sys`), or the system has no such thing. */
export function ownUid(): number | null {
  try {
    return Deno.uid();
  } catch {
    return null; // Not permitted: then everything counts as somebody else's.
  }
}

/** The group this program runs as; null in the same cases. */
export function ownGid(): number | null {
  try {
    return Deno.gid();
  } catch {
    return null;
  }
}

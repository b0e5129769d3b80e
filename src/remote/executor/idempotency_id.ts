/** Tells the registry which registrations come from the same process. Made as by the reference. */

/** The same for all registrations of this process, and different in the next process. */
export async function idempotencyId(executorId: string, name: string): Promise<string> {
  const text = new TextEncoder().encode(`${executorId}\0${name}\0codex-exec-server-v1\0`);
  const bytes = new Uint8Array(text.length + 16);
  bytes.set(text);
  crypto.getRandomValues(bytes.subarray(text.length));
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  return `codex-exec-server-${Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}

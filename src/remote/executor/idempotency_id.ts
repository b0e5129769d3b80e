/** Tells the registry that registrations come from one and the same process, as the reference makes it up. */

/** The same for every registration of this process, and another in the next. */
export async function idempotencyId(executorId: string, name: string): Promise<string> {
  const text = new TextEncoder().encode(`${executorId}\0${name}\0codex-exec-server-v1\0`);
  const bytes = new Uint8Array(text.length + 16);
  bytes.set(text);
  crypto.getRandomValues(bytes.subarray(text.length));
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  return `codex-exec-server-${Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}

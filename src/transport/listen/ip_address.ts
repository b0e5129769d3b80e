/**
 * Literal IP addresses as text: which strings are addresses, and which of those can be reached only from this machine.
 *
 * Strict on purpose. Shorthands that resolvers accept (`127.1`, `0x7f000001`, `010.0.0.1`, zone ids) are not addresses
 * here, because a check and the later system call could read them differently.
 */

/** The 4 or 16 bytes of a literal address without brackets, or null when `text` is not one. */
export function parseIpAddress(text: string): Uint8Array | null {
  const bytes = text.includes(":") ? parseV6(text) : parseV4(text);
  return bytes === null ? null : Uint8Array.from(bytes);
}

/** Whether only this machine can reach a listener on this address. False for text that is not a literal address. */
export function isLoopbackAddress(text: string): boolean {
  const bytes = parseIpAddress(text);
  if (bytes === null) return false;
  if (bytes.length === 4) return bytes[0] === 127;
  const isMappedV4 = bytes.subarray(0, 10).every((byte) => byte === 0) && bytes[10] === 0xff && bytes[11] === 0xff;
  if (isMappedV4) return bytes[12] === 127;
  return bytes.subarray(0, 15).every((byte) => byte === 0) && bytes[15] === 1;
}

function parseV4(text: string): number[] | null {
  const parts = text.split(".");
  const isDottedQuad = parts.length === 4 && parts.every((part) => /^(0|[1-9]\d{0,2})$/.test(part));
  const bytes = parts.map(Number);
  return isDottedQuad && bytes.every((byte) => byte <= 255) ? bytes : null;
}

function parseV6(text: string): number[] | null {
  const halves = text.split("::");
  if (halves.length > 2) return null;
  const isCompressed = halves.length === 2;
  const front = parseGroups(halves[0]!, { mayEndInV4: !isCompressed });
  const back = isCompressed ? parseGroups(halves[1]!, { mayEndInV4: true }) : [];
  if (front === null || back === null) return null;

  const zeros = 16 - front.length - back.length;
  // "::" stands for at least one group; without it nothing may be missing.
  if (isCompressed ? zeros < 2 : zeros !== 0) return null;
  return [...front, ...new Array<number>(zeros).fill(0), ...back];
}

function parseGroups(text: string, options: { mayEndInV4: boolean }): number[] | null {
  if (text === "") return [];
  const bytes: number[] = [];
  const groups = text.split(":");
  for (const [index, group] of groups.entries()) {
    if (/^[0-9A-Fa-f]{1,4}$/.test(group)) {
      const value = parseInt(group, 16);
      bytes.push(value >> 8, value & 0xff);
      continue;
    }
    const v4 = options.mayEndInV4 && index === groups.length - 1 ? parseV4(group) : null;
    if (v4 === null) return null;
    bytes.push(...v4);
  }
  return bytes;
}

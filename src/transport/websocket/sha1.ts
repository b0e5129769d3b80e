/**
 * SHA-1 of a short text, computed synchronously. RFC 6455 requires it in every handshake, where it protects nothing.
 * The runtime's own (`crypto.subtle`) works on another thread, and the way there and back takes fifty times as long as
 * the work. Never use this for security.
 */

const BLOCK_BYTES = 64;
/** One byte ends the text, and eight hold its length. */
const ENDING_BYTES = 9;
const START = [0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0] as const;
/** Added in the four quarters of the 80 rounds. */
const ADDED = [0x5a827999, 0x6ed9eba1, 0x8f1bbcdc, 0xca62c1d6] as const;

/** The 20 bytes of the digest of a text's UTF-8 form. */
export function sha1(text: string): Uint8Array<ArrayBuffer> {
  const view = padded(new TextEncoder().encode(text));
  const hash = new Int32Array(START);
  const words = new Int32Array(80);
  for (let at = 0; at < view.byteLength; at += BLOCK_BYTES) addBlock(hash, words, view, at);
  const digest = new DataView(new ArrayBuffer(20));
  hash.forEach((word, index) => digest.setInt32(index * 4, word));
  return new Uint8Array(digest.buffer);
}

function padded(bytes: Uint8Array): DataView {
  const blocks = Math.ceil((bytes.length + ENDING_BYTES) / BLOCK_BYTES);
  const message = new Uint8Array(blocks * BLOCK_BYTES);
  message.set(bytes);
  message[bytes.length] = 0x80;
  const view = new DataView(message.buffer);
  view.setUint32(message.length - 4, bytes.length * 8);
  return view;
}

function addBlock(hash: Int32Array, words: Int32Array, view: DataView, at: number): void {
  for (let i = 0; i < 16; i++) words[i] = view.getInt32(at + i * 4);
  for (let i = 16; i < 80; i++) {
    words[i] = rotated(words[i - 3]! ^ words[i - 8]! ^ words[i - 14]! ^ words[i - 16]!, 1);
  }
  let [a, b, c, d, e] = hash as unknown as [number, number, number, number, number];
  for (let i = 0; i < 80; i++) {
    const mixed = i < 20 ? (b & c) | (~b & d) : i >= 40 && i < 60 ? (b & c) | (b & d) | (c & d) : b ^ c ^ d;
    const next = (rotated(a, 5) + mixed + e + ADDED[Math.floor(i / 20)]! + words[i]!) | 0;
    e = d;
    d = c;
    c = rotated(b, 30);
    b = a;
    a = next;
  }
  [a, b, c, d, e].forEach((word, index) => hash[index]! += word);
}

function rotated(word: number, bits: number): number {
  return (word << bits) | (word >>> (32 - bits));
}

/**
 * Names of processes that are valid in the whole server: random, so that nobody has to agree on them, and short enough
 * to type. 60 bits: among ten million processes of one server the chance of two equal ones is below one in 20000, and
 * the caller makes sure that none is taken by a process it knows.
 */

/** No letters that look like digits or like each other. */
const ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz";
const LENGTH = 12;

/** Random bytes are fetched for this many at once: fetching takes longer than everything else. */
const FETCHED = 64;

const random = new Uint8Array(FETCHED * LENGTH);
let used = random.length;

export function randomUid(): string {
  if (used === random.length) {
    crypto.getRandomValues(random);
    used = 0;
  }
  let uid = "";
  for (const end = used + LENGTH; used < end; used++) uid += ALPHABET[random[used]! % ALPHABET.length];
  return uid;
}

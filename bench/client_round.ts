/**
 * One round of the client benchmark with the library. Runs on Deno and on Node, which strips the types: so it imports
 * nothing, and is given `connect`.
 */

import type { connect as Connected } from "../src/client/mod.ts";

type Connect = typeof Connected;

/** MB/s of output and of input, and the middle echo in milliseconds. */
export interface Round {
  "output MB/s": number;
  "input MB/s": number;
  "echo p50 ms": number;
}

export const ECHOES = 1000;

/** What is moved, and by which commands. */
export function size(mib: number) {
  const bytes = mib * 1024 * 1024;
  const block = 65536;
  const count = `count=${bytes / block}`;
  return {
    bytes,
    block,
    output: ["dd", "if=/dev/zero", `bs=${block}`, count, "status=none"],
    input: ["dd", "iflag=fullblock", `bs=${block}`, count, "of=/dev/null", "status=none"],
  };
}

/** One round with the library, in whichever runtime. */
export async function libraryRound(connect: Connect, url: string, mib: number): Promise<Round> {
  const { bytes: BYTES, block: BLOCK, output: OUTPUT, input: INPUT } = size(mib);
  const box = await connect(url);
  let begun = performance.now();
  const output = await box.spawn(OUTPUT);
  let seen = 0;
  for await (const chunk of output.stdout) seen += chunk.length;
  if (seen !== BYTES) throw new Error(`${seen} bytes`);
  const outputRate = rate(BYTES, begun);

  begun = performance.now();
  const input = await box.spawn(INPUT, { stdin: "piped" });
  const writer = input.stdin.getWriter();
  const block = new Uint8Array(BLOCK).fill(97);
  for (let i = 0; i < BYTES / BLOCK; i++) await writer.write(block);
  await input.wait({ until: "closed" });
  const inputRate = rate(BYTES, begun);

  const cat = await box.spawn(["cat"], { stdin: "piped" });
  const reader = cat.stdout.getReader();
  const line = new TextEncoder().encode("ping-pong\n");
  const times: number[] = [];
  for (let i = 0; i < ECHOES; i++) {
    const sent = performance.now();
    const written = cat.write(line);
    await reader.read();
    times.push(performance.now() - sent);
    await written;
  }
  await reader.cancel();
  await box.close();
  return { "output MB/s": outputRate, "input MB/s": inputRate, "echo p50 ms": median(times) };
}

export function rate(bytes: number, begun: number): number {
  return bytes / 1e6 / ((performance.now() - begun) / 1000);
}

export function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)]!;
}

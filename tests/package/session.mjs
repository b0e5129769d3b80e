/**
 * One session with a box, as a user of the npm package would write it: plain JavaScript, in any runtime. Its connection
 * breaks several times on the way. Returns what was seen, for the test to compare.
 */

import { connect, ServerError } from "exec-server/client";
import { MAX_FRAME_BYTES } from "exec-server/protocol";

/** @param {string | { rendezvous: string, executor: string }} url @param {{ token?: string, directory: string }} options */
export async function session(url, { token, directory }) {
  let losses = 0;
  const box = await connect(url, {
    token,
    heartbeat: "1s",
    heartbeatTimeout: "1s",
    maxBackOff: 50,
    onConnectionChange: ({ state }) => state === "reconnecting" && losses++,
  });

  const counting = await box.spawn(["seq", "200000"]);
  let lines = 0;
  for await (const line of counting.stdout.lines()) if (line === String(lines + 1)) lines++;
  const { code } = await counting.status;

  const cat = await box.spawn(["cat"], { stdin: "piped" });
  const writer = cat.stdin.getWriter();
  const typed = Array.from({ length: 200 }, (_, i) => `line ${i} ${"x".repeat(i)}\n`).join("");
  for (let at = 0; at < typed.length; at += 97) await writer.write(typed.slice(at, at + 97));
  await writer.close();
  const echoed = await cat.stdout.text() === typed;

  const bytes = Uint8Array.from({ length: 3_000_000 }, (_, i) => i % 251);
  const file = box.fs.writeStream(`${directory}/written`).getWriter();
  for (let at = 0; at < bytes.length; at += 100_000) await file.write(bytes.slice(at, at + 100_000));
  await file.close();
  const back = await box.fs.readStream(`${directory}/written`).bytes();
  const same = back.length === bytes.length && back.every((byte, i) => byte === bytes[i]);

  const quoted = await box.$`printf %s ${"it's $HOME"}`.text();
  const missing = await box.fs.readFile(`${directory}/none`).catch((error) => error);
  await box.close();
  return {
    lines,
    code,
    echoed,
    same,
    quoted,
    isTyped: missing instanceof ServerError && missing.isNotFound,
    wasLost: losses > 0,
    maxFrameBytes: MAX_FRAME_BYTES,
  };
}

/** Shows bytes where the runtime shows things: on its own standard streams, or line by line on the console. */

interface StandardStream {
  write(bytes: Uint8Array): unknown;
}

/** A writer to one of the two. */
export function consoleWriter(name: "stdout" | "stderr"): (bytes: Uint8Array) => void {
  const { process } = globalThis as { process?: Partial<Record<typeof name, StandardStream>> };
  const stream = process?.[name];
  if (stream !== undefined) return (bytes) => void stream.write(bytes);
  const decoder = new TextDecoder();
  let rest = "";
  return (bytes) => {
    const lines = (rest + decoder.decode(bytes, { stream: true })).split("\n");
    rest = lines.pop()!;
    for (const line of lines) {
      if (name === "stderr") console.error(line);
      else console.log(line);
    }
  };
}

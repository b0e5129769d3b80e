import assert from "node:assert/strict";
import { type ByteSource, sourceOf } from "../../src/bytes.ts";
import { StreamedMessage, writeStreamed } from "../../src/rpc/streamed_message.ts";

const content = (length: number) => Uint8Array.from({ length }, (_, index) => index * 31);

/** What is written, in pieces of at most `bufferBytes`, each copied before the buffer is used again. */
async function write(message: StreamedMessage, bufferBytes: number, filled = 0): Promise<string> {
  const buffer = new Uint8Array(bufferBytes).fill(0x2b, 0, filled);
  let text = "";
  await writeStreamed(message, {
    buffer,
    filled,
    write: async (piece) => {
      const part = new TextDecoder().decode(piece);
      await Promise.resolve();
      text += part;
    },
  });
  return text;
}

/** A source that has announced `length` bytes. */
function announced(length: number, source: ByteSource): ByteSource & { isClosed: boolean } {
  return {
    length,
    heldBytes: 0,
    next: () => source.next(),
    isClosed: false,
    close() {
      this.isClosed = true;
    },
  };
}

Deno.test("writeStreamed() writes exactly the text and its announced length, however the buffer cuts it", async () => {
  for (const length of [0, 1, 2, 3, 299, 300, 98_304, 98_305, 300_000]) {
    const bytes = content(length);
    const expected = `{"data":"${bytes.toBase64()}"}`;
    for (const bufferBytes of [length < 1000 ? 16 : 1000, 4096, 131_072]) {
      const message = new StreamedMessage('{"data":"', sourceOf([bytes.slice()]), '"}');
      assert.equal(message.length, expected.length);
      assert.equal(await write(message, bufferBytes), expected, `${length} in ${bufferBytes}`);
    }
  }
});

Deno.test("writeStreamed() joins pieces whose lengths are multiples of three, behind what is in the buffer", async () => {
  const bytes = content(150_001);
  const pieces = [bytes.slice(0, 3), bytes.slice(3, 120_000), bytes.slice(120_000, 150_000), bytes.slice(150_000)];
  const text = await write(new StreamedMessage("<", sourceOf(pieces), ">"), 4096, 10);
  assert.equal(text, `${"+".repeat(10)}<${bytes.toBase64()}>`);
});

Deno.test("writeStreamed() writes spaces for bytes that a source announced and does not have", async () => {
  for (const [length, has] of [[300, 0], [300, 1], [300, 299], [900_000, 96 * 1024 + 1], [900_000, 899_999]] as const) {
    const source = announced(length, sourceOf([content(has)]));
    const message = new StreamedMessage('{"data":"', source, '"}');
    const text = await write(message, 4096);
    assert.equal(text.length, message.length);
    assert.deepEqual(JSON.parse(text), { data: content(has).toBase64() });
    assert.equal(source.isClosed, true);
  }
});

Deno.test("writeStreamed() closes a source that fails, and one that nobody takes, and says why", async () => {
  const failing = announced(9, {
    length: 9,
    heldBytes: 0,
    next: () => Promise.reject(new Error("device is gone")),
    close: () => {},
  });
  await assert.rejects(write(new StreamedMessage("<", failing, ">"), 16), /device is gone/);
  assert.equal(failing.isClosed, true);

  const untaken = announced(9, sourceOf([content(9)]));
  const refuse = () => Promise.reject(new Error("peer is gone"));
  const streaming = writeStreamed(new StreamedMessage("<", untaken, ">"), {
    buffer: new Uint8Array(4),
    filled: 0,
    write: refuse,
  });
  await assert.rejects(streaming, /peer is gone/);
  assert.equal(untaken.isClosed, true);
});

/**
 * What comes from a rendezvous is not to be trusted: frames and handshakes made of valid ones with bytes changed, cut,
 * repeated and inserted, and of nothing but noise. Nothing but the expected errors may come of them, and nothing may grow.
 */

import assert from "node:assert/strict";
import { type Bytes, concatBytes } from "../../src/bytes.ts";
import { AeadKey } from "../../src/remote/noise/aead.ts";
import { Initiator, Responder } from "../../src/remote/noise/handshake.ts";
import { generateKeyPair, parsePublicKey } from "../../src/remote/noise/keys.ts";
import { NoiseError } from "../../src/remote/noise/noise_error.ts";
import { RecordReader } from "../../src/remote/noise/record_reader.ts";
import { MalformedMessage } from "../../src/remote/relay/protobuf.ts";
import { decodeRelayFrame, RelayFrameEncoder } from "../../src/remote/relay/relay_frame.ts";
import { proof } from "../support/proof.ts";
import type { Random } from "../support/random.ts";

const INPUTS = 200_000;
/** Far above the noise of a collector, far below what leaking one input in ten would take. */
const MAX_GROWTH_MB = 64;

proof({ name: "any frame of a relay is read or throws the expected error", tries: INPUTS, unit: "frames" }, (run) => {
  const { random } = run;
  const frames = new RelayFrameEncoder("01234567-89ab-4cde-8f01-23456789abcd");
  const valid = [
    frames.resume(7),
    frames.reset("why"),
    frames.ack(70_000),
    frames.handshake(bytesOf(random, 200)),
    frames.data(3, bytesOf(random, 100)),
    frames.data(70_000, bytesOf(random, 3)),
  ];
  let decoded = 0;
  return withoutGrowth(run, () => {
    const input = mutated(random, random.pick(valid));
    try {
      const { body } = decodeRelayFrame(input);
      decoded++;
      // Whatever was read lies within what came.
      if (body !== null && "payload" in body) assert.ok(body.payload.length <= input.length);
    } catch (error) {
      assert.ok(error instanceof MalformedMessage, `${error}`);
    }
  }, () => `${decoded} were frames after all`);
});

proof(
  { name: "only the right first message of a handshake can be opened", tries: INPUTS, unit: "messages" },
  async (run) => {
    const { random } = run;
    const [identity, harness] = [generateKeyPair(), generateKeyPair()];
    const context = { environmentId: "e", executorRegistrationId: "r", streamId: "s" };
    const { message } = await Initiator.start({
      identity: harness,
      responder: identity.publicKey,
      context,
      authorization: "let me in",
    });
    // Most are of a wrong length and cost nothing; those that are not cost a millisecond each.
    await withoutGrowth(run, async () => {
      const input = mutated(random, message);
      if (equal(input, message)) return;
      await assert.rejects(Responder.read({ identity, context, message: input }), NoiseError);
    }, () => "");
  },
);

proof(
  { name: "only the right second message of a handshake can be opened", tries: INPUTS / 20, unit: "messages" },
  async (run) => {
    const { random } = run;
    const [identity, harness] = [generateKeyPair(), generateKeyPair()];
    const context = { environmentId: "e", executorRegistrationId: "r", streamId: "s" };
    const start = () =>
      Initiator.start({ identity: harness, responder: identity.publicKey, context, authorization: "" });
    const first = await start();
    const { message } = await (await Responder.read({ identity, context, message: first.message })).answer();
    await withoutGrowth(run, async () => {
      const input = mutated(random, message);
      // A handshake is read once: of the right length nothing but the first one's own answer could open.
      await assert.rejects((input.length === message.length ? await start() : first).finish(input), NoiseError);
    }, () => "");
  },
);

proof({ name: "only the next record can be opened", tries: INPUTS, unit: "records" }, async (run) => {
  const { random } = run;
  const raw = bytesOf(random, 32);
  const plain = concatBytes([Uint8Array.of(0, 0, 0, 2), new TextEncoder().encode("{}")]);
  const sealed = await new AeadKey(raw).seal(plain);
  await withoutGrowth(run, async () => {
    let messages = 0;
    const reader = new RecordReader({ key: new AeadKey(raw), onMessage: () => messages++ });
    const input = mutated(random, sealed);
    const seq = random.int(70);
    try {
      await reader.take(seq, input);
    } catch (error) {
      assert.ok(error instanceof NoiseError, `${error}`);
    }
    assert.equal(messages, seq === 0 && equal(input, sealed) ? 1 : 0);
  }, () => "");
});

proof({ name: "only a valid public key is read", tries: INPUTS, unit: "values" }, (run) => {
  const { random } = run;
  const pieces = [
    "suite",
    "x25519_public_key",
    "mlkem768_public_key",
    "more",
    "Noise_hybridIK_X25519+MLKEM768_AESGCM_SHA256",
  ];
  const value = (depth: number): unknown => {
    const kind = random.int(7);
    if (kind === 0 || depth === 0) return bytesOf(random, random.int(40)).toBase64();
    if (kind === 1) return random.pick(pieces);
    if (kind === 2) return random.int(5);
    if (kind === 3) return null;
    if (kind === 4) return [value(depth - 1)];
    return Object.fromEntries(pieces.slice(0, 1 + random.int(4)).map((name) => [name, value(depth - 1)]));
  };
  return withoutGrowth(run, () => {
    assert.throws(() => parsePublicKey(value(3)), NoiseError);
  }, () => "");
});

/** Tries all, and looks at memory before and after. */
async function withoutGrowth(
  run: { tries: number; remark(text: string): void },
  attempt: () => void | Promise<void>,
  remark: () => string,
): Promise<void> {
  const warmUp = Math.min(1000, run.tries);
  for (let count = 0; count < warmUp; count++) await attempt();
  const before = usedMb();
  for (let count = warmUp; count < run.tries; count++) await attempt();
  const growth = usedMb() - before;
  assert.ok(growth < MAX_GROWTH_MB, `memory grew by ${growth.toFixed(1)} MB`);
  run.remark([`grew by ${Math.max(0, growth).toFixed(1)} MB`, remark()].filter(Boolean).join(", "));
}

function usedMb(): number {
  const { heapUsed, external } = Deno.memoryUsage();
  return (heapUsed + external) / 2 ** 20;
}

/** The input as it is now and then, and else with something wrong with it. */
function mutated(random: Random, valid: Bytes): Bytes {
  const copy = valid.slice();
  switch (random.int(7)) {
    case 0:
      return bytesOf(random, random.int(400));
    case 1:
      return copy.slice(0, random.int(copy.length));
    case 2:
      return concatBytes([copy, bytesOf(random, 1 + random.int(20))]);
    case 3: {
      const at = random.int(copy.length);
      return concatBytes([copy.subarray(0, at), bytesOf(random, 1 + random.int(4)), copy.subarray(at)]);
    }
    case 4: {
      const [from, to] = [random.int(copy.length), random.int(copy.length)];
      copy.copyWithin(to, from, from + random.int(50));
      return copy;
    }
    default:
      for (let count = 1 + random.int(4); count > 0; count--) copy[random.int(copy.length)] = random.int(256);
      return copy;
  }
}

function bytesOf(random: Random, count: number): Bytes {
  return Uint8Array.from({ length: count }, () => random.int(256));
}

function equal(one: Bytes, other: Bytes): boolean {
  return one.length === other.length && one.every((byte, index) => byte === other[index]);
}

import assert from "node:assert/strict";
import { Initiator, Responder } from "../../../src/remote/noise/handshake.ts";
import {
  encodePublicKey,
  fingerprint,
  generateKeyPair,
  type KeyPair,
  parsePublicKey,
} from "../../../src/remote/noise/keys.ts";
import { MAX_AUTHORIZATION_BYTES, MESSAGE_1_BYTES, MESSAGE_2_BYTES } from "../../../src/remote/noise/limits.ts";
import { NoiseError } from "../../../src/remote/noise/noise_error.ts";
import { RecordReader } from "../../../src/remote/noise/record_reader.ts";
import { countingRandom } from "../../support/counting_random.ts";

const VECTORS = JSON.parse(Deno.readTextFileSync(new URL("../../fixtures/noise/vectors.json", import.meta.url)));
const CONTEXT = { environmentId: "env-1", executorRegistrationId: "reg-1" };
const context = { ...CONTEXT, streamId: "stream" };

Deno.test("the responder opens what codex sent, and answers what codex accepted", async () => {
  const { streamId, message1, message2, data } = VECTORS.asExecutor;
  const identity = generateKeyPair(countingRandom(1));
  const responder = await Responder.read({
    identity,
    context: { ...CONTEXT, streamId },
    message: Uint8Array.fromBase64(message1),
  });
  assert.equal(responder.authorization, "auth-1");
  const { message, keys } = await responder.answer(countingRandom(2));
  assert.equal(message.toBase64(), message2);
  const [initialize] = await messagesIn(keys.receive, data);
  assert.equal(initialize.method, "initialize");
});

Deno.test("the initiator writes what codex accepted, and opens what codex answered", async () => {
  const { streamId, executorKey, message1, message2, data } = VECTORS.asHarness;
  const initiator = await Initiator.start({
    identity: generateKeyPair(countingRandom(3)),
    responder: parsePublicKey(executorKey),
    context: { ...CONTEXT, streamId },
    authorization: "auth-1",
    random: countingRandom(4),
  });
  assert.equal(initiator.message.toBase64(), message1);
  const { receive } = await initiator.finish(Uint8Array.fromBase64(message2));
  const [answer] = await messagesIn(receive, data);
  assert.equal(answer.id, 1);
  assert.equal(typeof answer.result.sessionId, "string");
});

Deno.test("a changed bit anywhere in message 1 or 2 ends the handshake", async () => {
  const [harness, executor] = [generateKeyPair(), generateKeyPair()];
  const start = () =>
    Initiator.start({ identity: harness, responder: executor.publicKey, context, authorization: "let me in" });
  const initiator = await start();
  assert.equal(initiator.message.length, MESSAGE_1_BYTES + 9);
  for (const at of everyPart(initiator.message.length)) {
    await assert.rejects(
      Responder.read({ identity: executor, context, message: flipped(initiator.message, at) }),
      NoiseError,
    );
  }
  const responder = await Responder.read({ identity: executor, context, message: initiator.message });
  assert.deepEqual(responder.initiator, harness.publicKey);
  const { message } = await responder.answer();
  assert.equal(message.length, MESSAGE_2_BYTES);
  for (const at of everyPart(message.length)) {
    // Reading it mixes it in, so each try needs a handshake of its own to change a bit of.
    const again = await start();
    const answer = await (await Responder.read({ identity: executor, context, message: again.message })).answer();
    await assert.rejects(again.finish(flipped(answer.message, at)), NoiseError);
  }
});

Deno.test("another executor, environment, registration or stream opens nothing", async () => {
  const [harness, executor] = [generateKeyPair(), generateKeyPair()];
  const { message } = await Initiator.start({
    identity: harness,
    responder: executor.publicKey,
    context,
    authorization: "auth",
  });
  const wrong: [KeyPair, typeof context][] = [
    [generateKeyPair(), context],
    [executor, { ...context, environmentId: "env-2" }],
    [executor, { ...context, executorRegistrationId: "reg-2" }],
    [executor, { ...context, streamId: "other" }],
    // The lengths before the texts keep these apart.
    [executor, { ...context, environmentId: "env-1r", executorRegistrationId: "eg-1" }],
  ];
  for (const [identity, context] of wrong) {
    await assert.rejects(Responder.read({ identity, context, message }), NoiseError);
  }
});

Deno.test("messages of a wrong length, a long authorization and keys of small order are refused", async () => {
  const identity = generateKeyPair();
  const read = (bytes: number) => Responder.read({ identity, context, message: new Uint8Array(bytes) });
  for (const bytes of [0, 1, MESSAGE_1_BYTES - 1, MESSAGE_1_BYTES + MAX_AUTHORIZATION_BYTES + 1]) {
    await assert.rejects(read(bytes), /handshake message 1 has/);
  }
  const start = (authorization: string, responder = identity.publicKey) =>
    Initiator.start({ identity, responder, context, authorization });
  await assert.rejects(start("x".repeat(MAX_AUTHORIZATION_BYTES + 1)), /authorization is longer/);
  const { message } = await start("x".repeat(MAX_AUTHORIZATION_BYTES));
  assert.equal((await Responder.read({ identity, context, message })).authorization.length, MAX_AUTHORIZATION_BYTES);
  const zeros = { ...identity.publicKey, x25519: new Uint8Array(32) };
  await assert.rejects(start("auth", zeros), /not valid for key agreement/);
  // Coefficients beyond the field's modulus: no key has them.
  const none = { ...identity.publicKey, mlkem768: new Uint8Array(1184).fill(0xff) };
  await assert.rejects(start("auth", none), /ML-KEM key is not valid/);
});

Deno.test("public keys are read strictly, and have a fingerprint", () => {
  const { publicKey } = generateKeyPair(countingRandom(1));
  const wire = encodePublicKey(publicKey);
  assert.deepEqual(parsePublicKey(wire), publicKey);
  assert.match(fingerprint(publicKey), /^SHA256:[A-Za-z0-9+/]{43}$/);
  assert.notEqual(fingerprint(publicKey), fingerprint(generateKeyPair(countingRandom(2)).publicKey));
  const wrong: unknown[] = [
    null,
    [],
    "key",
    { ...wire, suite: "other" },
    { ...wire, more: 1 },
    { ...wire, x25519_public_key: 5 },
    { ...wire, x25519_public_key: "!" },
    { ...wire, x25519_public_key: wire.x25519_public_key.replace(/=+$/, "") },
    { ...wire, x25519_public_key: ` ${wire.x25519_public_key}` },
    { ...wire, mlkem768_public_key: wire.x25519_public_key },
  ];
  for (const value of wrong) assert.throws(() => parsePublicKey(value), NoiseError, JSON.stringify(value));
});

// deno-lint-ignore no-explicit-any
async function messagesIn(key: ConstructorParameters<typeof RecordReader>[0]["key"], data: string): Promise<any[]> {
  const messages: unknown[] = [];
  const reader = new RecordReader({
    key,
    onMessage: (bytes) => messages.push(JSON.parse(new TextDecoder().decode(bytes))),
  });
  await reader.take(0, Uint8Array.fromBase64(data));
  return messages;
}

/** A place in each part of a message, and its ends. */
function everyPart(length: number): number[] {
  return [0, 500, 1088, 1100, 1130, 2000, 2310, 2350, 3000, 3400, length - 1];
}

function flipped(message: Uint8Array<ArrayBuffer>, at: number): Uint8Array<ArrayBuffer> {
  const copy = message.slice();
  copy[at]! ^= 1;
  return copy;
}

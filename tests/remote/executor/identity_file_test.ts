import assert from "node:assert/strict";
import { loadIdentity, readIdentity } from "../../../src/remote/executor/identity_file.ts";
import { defaultIdentityFile } from "../../../src/remote/executor/identity_place.ts";
import { fingerprint } from "../../../src/remote/noise/keys.ts";
import { inScratchDirectory } from "../../support/scratch_directory.ts";

Deno.test("an identity is made once, private, and the same ever after, however many ask for it at once", () =>
  inScratchDirectory(async (directory) => {
    const path = `${directory}/deep/below/identity`;
    assert.equal(await readIdentity(path), null);
    const made = await Promise.all(Array.from({ length: 8 }, () => loadIdentity(path)));
    const again = await loadIdentity(path);
    assert.deepEqual(
      new Set(made.map(({ publicKey }) => fingerprint(publicKey))),
      new Set([fingerprint(again.publicKey)]),
    );
    assert.equal(Deno.statSync(path).mode! & 0o777, 0o600);
    assert.deepEqual(Array.from(Deno.readDirSync(`${directory}/deep/below`), ({ name }) => name), ["identity"]);
  }));

Deno.test("an identity that others may read, or that cannot be read, is refused with what to do", () =>
  inScratchDirectory(async (directory) => {
    const path = `${directory}/identity`;
    await loadIdentity(path);
    await Deno.chmod(path, 0o644);
    await assert.rejects(loadIdentity(path), /is open to others \(mode 644\): set its mode to 600/);
    const secret = "what is in it is not for a message";
    for (const text of ["", secret, "{}", '{"version":1,"seed":"AAAA"}', '{"version":2,"seed":"AAAA"}']) {
      await Deno.writeTextFile(path, text);
      await Deno.chmod(path, 0o600);
      await assert.rejects(loadIdentity(path), (error: Error) => {
        assert.match(error.message, /holds no identity: move it away/);
        return !error.message.includes(secret);
      });
    }
    await Deno.writeTextFile(path, "x".repeat(5000));
    await assert.rejects(loadIdentity(path), /larger than 4095 bytes/);
    await assert.rejects(loadIdentity(directory), /is not a regular file|Is a directory/);
    await assert.rejects(loadIdentity(`${path}/below`), /cannot (read|write) --identity-file/);
  }));

Deno.test("the identity is below the directory for state, or there is no place for it", () => {
  assert.equal(defaultIdentityFile({ XDG_STATE_HOME: "/s", HOME: "/h" }), "/s/exec-server/identity");
  assert.equal(defaultIdentityFile({ XDG_STATE_HOME: "relative", HOME: "/h" }), "/h/.local/state/exec-server/identity");
  assert.equal(defaultIdentityFile({}), null);
});

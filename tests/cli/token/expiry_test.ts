import assert from "node:assert/strict";
import { CliError } from "../../../src/cli/cli_error.ts";
import { expiryOf } from "../../../src/cli/token/expiry.ts";

const NOW = new Date("2026-11-17T12:00:00Z");

Deno.test("expiryOf() takes durations and times with a zone", () => {
  assert.equal(expiryOf("30m", NOW).toISOString(), "2026-11-17T12:30:00.000Z");
  assert.equal(expiryOf("12h", NOW).toISOString(), "2026-11-18T00:00:00.000Z");
  assert.equal(expiryOf("90d", NOW).toISOString(), "2027-02-15T12:00:00.000Z");
  assert.equal(expiryOf("2027-01-31T12:00:00+02:00", NOW).toISOString(), "2027-01-31T10:00:00.000Z");
});

Deno.test("expiryOf() refuses what leaves the time open, and the past", () => {
  for (const text of ["", "90", "1w", "-1d", "2027-01-31", "2027-01-31T12:00:00", "2027-13-01T00:00:00Z", "soon"]) {
    assert.throws(() => expiryOf(text, NOW), (error) => error instanceof CliError && error.exitCode === 2, text);
  }
  assert.throws(() => expiryOf("2026-11-17T11:59:59Z", NOW), /not in the future/);
  assert.throws(() => expiryOf("0d", NOW), /not in the future/);
});

import assert from "node:assert/strict";
import { CapabilitiesDiscoverParams, CapabilityRootsDiscoverParams } from "../../src/protocol/capability_discovery.ts";

Deno.test("CapabilityRootsDiscoverParams takes places in either form, and those of another machine for what they are", () => {
  const roots = ["file:///a%20b/../c", "/native", "file://host/x"].map((path, at) => ({ id: `${at}`, path }));
  assert.deepEqual(CapabilityRootsDiscoverParams.parse({ roots }).roots.map(({ path }) => path), [
    { uri: "file:///c", native: "/c" },
    { uri: "file:///native", native: "/native" },
    { uri: "file://host/x", native: null },
  ]);
});

Deno.test("CapabilityRootsDiscoverParams hands the sandbox on as it is", () => {
  const sandbox = { permissions: { type: "disabled" } };
  const roots = [{ id: "a", path: "/a", sandbox }, { id: "b", path: "/b", sandbox: null }, { id: "c", path: "/c" }];
  assert.deepEqual(CapabilityRootsDiscoverParams.parse({ roots }).roots.map((root) => root.sandbox), [
    sandbox,
    null,
    undefined,
  ]);
});

Deno.test("discovery refuses what names no place at all", () => {
  assert.equal(CapabilityRootsDiscoverParams.safeParse({}).success, false);
  assert.equal(CapabilityRootsDiscoverParams.safeParse({ roots: [{ id: "a", path: "relative" }] }).success, false);
  assert.equal(CapabilityRootsDiscoverParams.safeParse({ roots: [{ path: "/a" }] }).success, false);
  assert.equal(CapabilitiesDiscoverParams.safeParse({}).success, false);
  assert.equal(CapabilitiesDiscoverParams.safeParse({ cwd: "file://host/x", sandbox: null }).success, true);
});

import assert from "node:assert/strict";
import { CapabilitiesDiscoverParams, CapabilityRootsDiscoverParams } from "../../src/protocol/capability_discovery.ts";

Deno.test("CapabilityRootsDiscoverParams takes paths in either form, and recognises those of another machine", () => {
  const roots = ["file:///a%20b/../c", "/native", "file://host/x"].map((path, at) => ({ id: `${at}`, path }));
  assert.deepEqual(CapabilityRootsDiscoverParams.parse({ roots }).roots.map(({ path }) => path), [
    { uri: "file:///c", native: "/c" },
    { uri: "file:///native", native: "/native" },
    { uri: "file://host/x", native: null },
  ]);
});

Deno.test("CapabilityRootsDiscoverParams passes the sandbox on as it is", () => {
  const sandbox = { permissions: { type: "disabled" } };
  const roots = [{ id: "a", path: "/a", sandbox }, { id: "b", path: "/b", sandbox: null }, { id: "c", path: "/c" }];
  assert.deepEqual(CapabilityRootsDiscoverParams.parse({ roots }).roots.map((root) => root.sandbox), [
    sandbox,
    null,
    undefined,
  ]);
});

Deno.test("discovery refuses texts that are not paths", () => {
  assert.equal(CapabilityRootsDiscoverParams.safeParse({}).success, false);
  assert.equal(CapabilityRootsDiscoverParams.safeParse({ roots: [{ id: "a", path: "relative" }] }).success, false);
  assert.equal(CapabilityRootsDiscoverParams.safeParse({ roots: [{ path: "/a" }] }).success, false);
  assert.equal(CapabilitiesDiscoverParams.safeParse({}).success, false);
  assert.equal(CapabilitiesDiscoverParams.safeParse({ cwd: "file://host/x", sandbox: null }).success, true);
});

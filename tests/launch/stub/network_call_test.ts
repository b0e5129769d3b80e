import assert from "node:assert/strict";
import { describeAddress, networkCall } from "../../../src/launch/stub/network_call.ts";
import { type SyscallName, syscallNumber } from "../../../src/launch/stub/syscalls.ts";

const ARCHITECTURES = ["x86_64", "aarch64"] as const;

function call(name: SyscallName, args: readonly bigint[], architecture: typeof ARCHITECTURES[number] = "x86_64") {
  return networkCall({ number: syscallNumber(name, architecture)!, args }, architecture);
}

Deno.test("networkCall() names families and types of sockets, without the flags and the upper half", () => {
  const cases: [SyscallName, bigint[], string][] = [
    ["socket", [2n, 1n, 6n], "socket(AF_INET, SOCK_STREAM)"],
    ["socket", [10n, 2n], "socket(AF_INET6, SOCK_DGRAM)"],
    ["socket", [16n, 0x80803n], "socket(AF_NETLINK, SOCK_RAW)"],
    ["socket", [0xdeadbeef00000028n, 1n], "socket(AF_VSOCK, SOCK_STREAM)"],
    ["socket", [17n, 10n], "socket(AF_PACKET, SOCK_PACKET)"],
    ["socket", [999n, 12n], "socket(family 999, type 12)"],
    ["socket", [0xffffffffn, 1n], "socket(family -1, SOCK_STREAM)"],
    ["socketpair", [1n, 2n], "socketpair(AF_UNIX, SOCK_DGRAM)"],
  ];
  for (const architecture of ARCHITECTURES) {
    for (const [name, args, text] of cases) {
      const described = call(name, args, architecture);
      assert.ok(described?.type === "described");
      assert.deepEqual([described.text, described.isProbe], [text, /NETLINK|INET6/.test(text)]);
    }
  }
});

Deno.test("networkCall() tells where the address of a connection lies, and never asks for more than one can be", () => {
  assert.deepEqual(call("connect", [3n, 0x7ffe00001000n, 24n]), {
    type: "addressed",
    name: "connect",
    address: 0x7ffe00001000n,
    addressBytes: 24,
  });
  for (const length of [110n, 4096n, 0xffffffffn, 0xdeadbeef0000ffffn]) {
    const described = call("connect", [3n, 1n, length]);
    assert.ok(described?.type === "addressed");
    assert.equal(described.addressBytes, 110);
  }
});

Deno.test("networkCall() is null for calls that do not concern the network", () => {
  for (const name of ["write", "execve", "ptrace"] as const) assert.equal(call(name, [2n, 1n]), null);
});

/** `struct sockaddr_un` and what may come in its place. */
function address(family: number, name: string): Uint8Array {
  return Uint8Array.of(family, 0, ...new TextEncoder().encode(name));
}

Deno.test("describeAddress() tells paths up to their end, abstract names, and families", () => {
  const cases: [Uint8Array, string | null][] = [
    [address(1, "/run/docker.sock"), "/run/docker.sock"],
    [address(1, "/run/docker.sock\0rubbish"), "/run/docker.sock"],
    [address(1, "relative"), "relative"],
    [address(1, "\0/tmp/.X11-unix/X0"), "@/tmp/.X11-unix/X0"],
    [address(1, "\0a\0b"), "@a@b"],
    [address(1, ""), "AF_UNIX"],
    [address(2, "\0\x50\x7f\0\0\x01"), "AF_INET"],
    [Uint8Array.of(0x34, 0x12), "family 4660"],
    [Uint8Array.of(1, 0, 0x2f, 0xff, 0xfe), "/\ufffd\ufffd"],
    [Uint8Array.of(1), null],
    [Uint8Array.of(), null],
  ];
  for (const [bytes, expected] of cases) assert.equal(describeAddress(bytes), expected);
});

Deno.test("describeAddress() leaves out the C library's own lookups, and nothing that resembles them", () => {
  const services = ["/var/run/nscd/socket", "/run/nscd/socket", "/run/systemd/userdb/io.x", "/var/lib/sss/pipes/nss"];
  for (const path of services) {
    assert.equal(describeAddress(address(1, path)), null);
    assert.equal(describeAddress(address(1, `${path}\0\0\0`)), null);
    assert.equal(describeAddress(address(1, `\0${path}`)), `@${path}`);
  }
  for (const path of ["/var/run/nscd/socket2", "/run/systemd/private", "/x/run/nscd/socket"]) {
    assert.equal(describeAddress(address(1, path)), path);
  }
});

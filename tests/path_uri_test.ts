import assert from "node:assert/strict";
import { DomainError } from "../src/errors.ts";
import {
  ForeignPathError,
  MAX_PATH_BYTES,
  type NativePath,
  parsePath,
  parsePeerPath,
  PathTooLongError,
  toFileUri,
} from "../src/path_uri.ts";

const bytes = (...parts: (string | number)[]): Uint8Array<ArrayBuffer> =>
  Uint8Array.from(parts.flatMap((part) => typeof part === "number" ? [part] : [...new TextEncoder().encode(part)]));

const URIS: [string, NativePath][] = [
  ["file:///a/b", "/a/b"],
  ["file:/a/b", "/a/b"],
  ["FILE:///a/b", "/a/b"],
  ["File://LOCALHOST/a/b", "/a/b"],
  ["file://localhost/a/b", "/a/b"],
  ["file://localhost", "/"],
  ["file:rel", "/rel"],
  ["file:rel/x", "/rel/x"],
  ["file:///", "/"],
  ["file://", "/"],
  ["file:", "/"],
  ["file:////a//b", "/a/b"],
  ["file:///a%20b", "/a b"],
  ["file:///a b", "/a b"],
  ["file:///ü/%C3%BC", "/ü/ü"],
  ["file:///%66.txt", "/f.txt"],
  ["file:///a%2Fb", "/a/b"],
  ["file:///a%2fb%2F..%2Fc", "/a/c"],
  ["file:///a/%2e%2e/b", "/b"],
  ["file:///a/%2E/b", "/a/b"],
  ["file:///%zz", "/%zz"],
  ["file:///100%", "/100%"],
  ["file:///a%2", "/a%2"],
  ["file:///a%%20", "/a% "],
  ["file:///%2520", "/%20"],
  ["file:///a%3Fb%23c", "/a?b#c"],
  ["file:///a/../../b", "/b"],
  ["file:///a/./b/.", "/a/b"],
  ["file:///a/b/..", "/a"],
  ["file:///a/b/", "/a/b"],
  ["file:///a/.../b", "/a/.../b"],
  ["file:///a/.hidden/..x", "/a/.hidden/..x"],
  ["file:///a\\b", "/a\\b"],
  ["file:///c:x", "/c:x"],
  ["file:///C%3A/x", "/C:/x"],
  ["file:///a/C:/x", "/a/C:/x"],
  ["file:///%EF%BB%BFbom", "/\uFEFFbom"],
  ["file:///%ff", bytes("/", 0xff)],
  ["file:///a%ff%20ü/../b%fe/", bytes("/b", 0xfe)],
  ["file:///a/%ff/%2e%2e/%fe", bytes("/a/", 0xfe)],
  ["file:///%C3", bytes("/", 0xc3)],
];

for (const [uri, native] of URIS) {
  Deno.test(`parsePath() takes ${uri} for ${typeof native === "string" ? native : `bytes ${native}`}`, () => {
    assert.deepEqual(parsePath(uri), { native, form: "uri" });
  });
}

const NATIVE: [string, string][] = [
  ["/", "/"],
  ["//", "/"],
  ["/a/b", "/a/b"],
  ["/a/b/", "/a/b"],
  ["/a//b", "/a/b"],
  ["/a/./b", "/a/b"],
  ["/a/q/../b", "/a/b"],
  ["/..", "/"],
  ["/a/..", "/"],
  ["/sp ace%20#?ü", "/sp ace%20#?ü"],
  ["/%2e%2e/a", "/%2e%2e/a"],
  ["/C:/x", "/C:/x"],
  ["/a..b/...", "/a..b/..."],
  ["/file:/x", "/file:/x"],
];

for (const [input, native] of NATIVE) {
  Deno.test(`parsePath() takes the native path ${input} literally, normalised to ${native}`, () => {
    assert.deepEqual(parsePath(input), { native, form: "native" });
  });
}

const INVALID: [string, RegExp][] = [
  ["", /absolute/],
  ["a", /absolute/],
  ["./a", /absolute/],
  ["../a", /absolute/],
  ["~/a", /absolute/],
  [" /a", /absolute/],
  [" file:///a", /absolute/],
  ["file", /absolute/],
  ["http://x/tmp", /file: URI, not `http:`/],
  ["C:/x", /file: URI, not `C:`/],
  ["filex:///a", /file: URI/],
  ["file:///tmp?x=1", /query/],
  ["file:///tmp?", /query/],
  ["file:///tmp#x", /fragment/],
  ["file:///a%00b", /NUL/],
  ["file:///a%00%ff", /NUL/],
  ["file:///a\0b", /NUL/],
  ["/a\0b", /NUL/],
];

for (const [input, message] of INVALID) {
  Deno.test(`parsePath() refuses ${JSON.stringify(input)} as invalid parameters`, () => {
    assert.throws(() => parsePath(input), (error: unknown) => {
      assert(error instanceof DomainError);
      assert.equal(error.kind, "invalidParams");
      assert.match(error.message, message);
      return true;
    });
  });
}

for (
  const input of [
    "file://host/x",
    "file://host",
    "file:///C:/x",
    "file:///c:",
    "file:/C:/x",
    "file:C:/x",
    "file:///C|/x",
    "file://localhost:80/x",
  ]
) {
  Deno.test(`parsePath() names ${input} as a path of another machine`, () => {
    assert.throws(() => parsePath(input), (error: unknown) => {
      assert(error instanceof ForeignPathError);
      assert.equal(error.kind, "invalidRequest");
      assert.equal(error.message, `path is not usable on this host: ${input}`);
      return true;
    });
  });
}

const TO_URI: [NativePath, string][] = [
  ["/", "file:///"],
  ["/d/f.txt", "file:///d/f.txt"],
  ["/d/sp ace%#?ü", "file:///d/sp%20ace%25%23%3F%C3%BC"],
  ["/a b%20c é#?", "file:///a%20b%2520c%20%C3%A9%23%3F"],
  ["/-._~!$&'()*+,;=", "file:///-._~!$&'()*+,;="],
  ['/:@[]\\^`{|}"<>', "file:///%3A%40%5B%5D%5C%5E%60%7B%7C%7D%22%3C%3E"],
  ["/C:/x", "file:///C%3A/x"],
  ["/\n\x7f", "file:///%0A%7F"],
  ["/😀😀x", "file:///%F0%9F%98%80%F0%9F%98%80x"],
  [bytes("/a b/", 0xff, 0x0a, "ü~"), "file:///a%20b/%FF%0A%C3%BC~"],
];

for (const [native, uri] of TO_URI) {
  Deno.test(`toFileUri() writes ${uri}`, () => {
    assert.equal(toFileUri(native), uri);
    assert.deepEqual(parsePath(uri).native, native);
  });
}

Deno.test("toFileUri() and parsePath() carry a name of every byte", () => {
  const everyByte = Uint8Array.from({ length: 255 }, (_, index) => index + 1).filter((byte) => byte !== 0x2f);
  const native = bytes("/x", ...everyByte);
  assert.deepEqual(parsePath(toFileUri(native)).native, native);
});

Deno.test("parsePeerPath() takes every path that the kernel takes, and none that is too long for any URI of one", () => {
  const longest = new Uint8Array(MAX_PATH_BYTES - 1).fill(0xff);
  longest[0] = 0x2f;
  assert.deepEqual(parsePeerPath(`file://localhost${toFileUri(longest).slice(7)}`).native, longest);
  for (const path of ["/", "file:///", "x"]) {
    assert.throws(() => parsePeerPath(path + "é".repeat(20_000_000)), PathTooLongError);
  }
});

import assert from "node:assert/strict";
import { proxyFor } from "../../src/http/proxy.ts";

function hostFor(url: string, env: Record<string, string>): string | null {
  return proxyFor(new URL(url), env)?.hostname ?? null;
}

Deno.test("proxyFor() takes the variable of the scheme, then the one for all, lower case first", () => {
  const env = {
    http_proxy: "http://a:1",
    HTTP_PROXY: "http://b:1",
    HTTPS_PROXY: "http://c:1",
    all_proxy: "http://d:1",
  };
  assert.equal(hostFor("http://x/", env), "a");
  assert.equal(hostFor("https://x/", env), "c");
  assert.equal(hostFor("https://x/", { ALL_PROXY: "http://d:1" }), "d");
  assert.equal(hostFor("http://x/", {}), null);
  assert.equal(hostFor("http://x/", { http_proxy: "", HTTP_PROXY: " " }), null);
});

Deno.test("proxyFor() reads address, port, transport and credentials", () => {
  assert.deepEqual(proxyFor(new URL("http://x/"), { http_proxy: "https://us%40er:pw@p.example" }), {
    hostname: "p.example",
    port: 443,
    isTls: true,
    authorization: `Basic ${btoa("us@er:pw")}`,
  });
  assert.deepEqual(proxyFor(new URL("http://x/"), { http_proxy: "127.0.0.1:3128" }), {
    hostname: "127.0.0.1",
    port: 3128,
    isTls: false,
    authorization: null,
  });
});

Deno.test("proxyFor() does not take a CGI client's Proxy header for a setting", () => {
  assert.equal(hostFor("http://x/", { HTTP_PROXY: "http://evil:1", REQUEST_METHOD: "GET" }), null);
  assert.equal(hostFor("http://x/", { http_proxy: "http://own:1", REQUEST_METHOD: "GET" }), "own");
});

Deno.test("proxyFor() spares what no_proxy names", () => {
  const table: [string, string, boolean][] = [
    ["http://a.example/", "*", true],
    ["http://a.example/", "a.example", true],
    ["http://sub.a.example/", "a.example", true],
    ["http://sub.a.example/", ".a.example", true],
    ["http://sub.a.example/", "*.a.example", true],
    ["http://A.EXAMPLE/", "a.Example", true],
    ["http://nota.example/", "a.example", false],
    ["http://a.example/", "b.example, a.example", true],
    ["http://a.example/", " , ,", false],
    ["http://10.1.2.3/", "10.0.0.0/8", true],
    ["http://11.1.2.3/", "10.0.0.0/8", false],
    ["http://10.1.2.3/", "10.1.2.3", true],
    ["http://10.1.2.3/", "10.1.2.3/31", true],
    ["http://10.1.2.4/", "10.1.2.3/31", false],
    ["http://10.1.2.3/", "10.0.0.0/33", false],
    ["http://10.1.2.3/", "2.3", false],
    ["http://[::1]/", "::1", true],
    ["http://[::1]/", "[::1]", true],
    ["http://[fd00::17]/", "fd00::/8", true],
    ["http://[fe80::1]/", "fd00::/8", false],
    ["http://[2001:db8:0:0:1:2:3:4]/", "2001:db8::/32", true],
    ["http://127.0.0.1/", "localhost", false],
  ];
  for (const [url, list, isSpared] of table) {
    assert.equal(hostFor(url, { http_proxy: "http://p:1", NO_PROXY: list }) === null, isSpared, `${url} with ${list}`);
  }
});

Deno.test("proxyFor() refuses a setting it cannot use, without repeating its password", () => {
  for (const setting of ["socks5://user:pw@h:1", "http://user:pw@", "http://user:pw@h:99999"]) {
    assert.throws(() => proxyFor(new URL("http://x/"), { http_proxy: setting }), (error: Error) => {
      assert.match(error.message, /^http\/request failed: the proxy setting/);
      return !error.message.includes("pw");
    });
  }
});

/**
 * A program with a `Deno.serve` of its own that takes exec-server's clients, too: docs/embedding.md explains it.
 *
 *   deno run -P=serve examples/embed.ts --listen ws://127.0.0.1:9000 --ws-auth capability-token --ws-token-file FILE
 *
 * The flags are those of `exec-server`, as far as they are here. Without `--ws-auth` it makes up a token and prints it.
 */

import { parseArgs } from "node:util";
import { type AuthConfig, createAuthenticator, createHandler } from "../src/server/mod.ts";
import { SharedSecret, TokenDigest, UrlToken } from "../src/server/mod.ts";

const { values: flags } = parseArgs({
  options: {
    listen: { type: "string", default: "ws://127.0.0.1:0" },
    "concurrent-requests": { type: "string" },
    "ws-auth": { type: "string", default: "url-token" },
    "ws-token-file": { type: "string" },
    "ws-token-sha256": { type: "string" },
    "ws-shared-secret-file": { type: "string" },
    "ws-issuer": { type: "string" },
    "ws-audience": { type: "string" },
  },
});

/** The content of a file that has to be there. */
async function secretIn(file: string | undefined): Promise<string> {
  if (file === undefined) throw new Error("the flag for the file of the secret is missing");
  return (await Deno.readTextFile(file)).trim();
}

async function readAuth(): Promise<AuthConfig> {
  const digest = flags["ws-token-sha256"];
  switch (flags["ws-auth"]) {
    case "none":
      return { type: "none" };
    case "url-token":
      return { type: "urlToken", token: UrlToken.create() };
    case "capability-token": {
      const token = digest === undefined
        ? await TokenDigest.ofToken(await secretIn(flags["ws-token-file"]))
        : TokenDigest.fromHex(digest);
      return { type: "capabilityToken", token };
    }
    case "signed-bearer-token":
      return {
        type: "signedBearerToken",
        secret: await SharedSecret.import(await secretIn(flags["ws-shared-secret-file"])),
        issuer: flags["ws-issuer"] ?? null,
        audience: flags["ws-audience"] ?? null,
        maxClockSkewSeconds: 30,
      };
    default:
      throw new Error(`unknown --ws-auth ${flags["ws-auth"]}`);
  }
}

const auth = await readAuth();
const handler = createHandler({
  authenticator: createAuthenticator(auth),
  concurrentRequests: Number(flags["concurrent-requests"] ?? 0) || null,
});

const { hostname, port } = new URL(flags.listen);
const server = Deno.serve({
  hostname,
  port: Number(port),
  onListen(address) {
    const url = `ws://${address.hostname}:${address.port}`;
    console.log(auth.type === "urlToken" ? auth.token.addTo(url) : url);
  },
}, (request, info) => {
  // The program's own page. Everything else is the handler's.
  if (new URL(request.url).pathname === "/hello") return new Response("hello\n");
  return handler.fetch(request, info);
});

for (const signal of ["SIGINT", "SIGTERM"] as const) {
  Deno.addSignalListener(signal, async () => {
    await handler.shutDown();
    Deno.exit(0);
  });
}
await server.finished;

/** HTTP on the same port, and who is let in. */

import { type Check, holds, same, Skipped } from "../check.ts";
import { Broken } from "../peer.ts";
import type { Scene } from "../scene.ts";

export const DOOR: readonly Check[] = [
  {
    id: "door/readyz",
    promise: "GET /readyz answers 200 without a token.",
    run: async (scene) => same(await statusOf(scene, "/readyz"), 200, "the status"),
  },
  {
    id: "door/other-paths",
    promise: "Other paths answer 404.",
    run: async (scene) => same(await statusOf(scene, "/exec-server-conform"), 404, "the status"),
  },
  {
    id: "door/origin",
    promise: "A request with an Origin header that the operator did not allow is refused with 403.",
    run: async (scene) => {
      same(await statusOf(scene, "/readyz", { origin: "https://exec-server-conform.invalid" }), 403, "the status");
    },
  },
  {
    id: "door/token",
    promise: "If the server asks for a token, a client without it is refused.",
    run: async (scene) => {
      if (scene.token === null) throw new Skipped("no token was given to this run");
      const wrong = [null, "wrong"];
      for (const token of wrong) {
        const isOpen = await scene.open(token).then(() => true, () => false);
        holds(
          !isOpen,
          `a connection ${token === null ? "without" : "with a wrong"} token should be refused: it is let in`,
        );
      }
    },
  },
];

async function statusOf(scene: Scene, path: string, headers: Record<string, string> = {}): Promise<number> {
  const { protocol, host } = new URL(scene.url);
  try {
    const response = await fetch(`${protocol === "wss:" ? "https:" : "http:"}//${host}${path}`, {
      headers,
      redirect: "manual",
    });
    await response.body?.cancel();
    return response.status;
  } catch (error) {
    throw new Broken(`GET ${path} should be answered: ${error instanceof Error ? error.message : error}`);
  }
}

/** A process that writes as fast as it is read, over a connection that shows every frame. */

import assert from "node:assert/strict";
import type { ProcessIoField } from "../../src/protocol/process.ts";
import { RawWebSocket } from "./raw_websocket.ts";

export class Flood implements Disposable {
  readonly socket: RawWebSocket;

  private constructor(socket: RawWebSocket) {
    this.socket = socket;
  }

  /** Resolves when the first of it has arrived. */
  static async start(url: string, io: ProcessIoField = { type: "pipe", stdin: "closed" }): Promise<Flood> {
    const socket = await RawWebSocket.connect(url);
    await socket.handshake();
    const env = { PATH: "/usr/bin:/bin" };
    const params = { processId: "flood", argv: ["cat", "/dev/zero"], cwd: "/", env, io };
    await socket.sendText(JSON.stringify({ id: "start", method: "process/start", params }));
    const { error } = await socket.readUntil((message) => message.id === "start");
    assert.equal(error, undefined);
    await socket.readUntil((message) => message.method === "process/output");
    return new Flood(socket);
  }

  /** Ends it, and checks that all that comes up to then is whole and in order. */
  async end(): Promise<void> {
    await this.socket.sendText('{"id":"end","method":"process/terminate","params":{"processId":"flood"}}');
    let lastSeq: number | null = null;
    await this.socket.readUntil(({ method, params }) => {
      if (!method?.startsWith("process/")) return false;
      if (lastSeq !== null) assert.equal(params.seq, lastSeq + 1);
      lastSeq = params.seq;
      return method === "process/closed";
    });
  }

  [Symbol.dispose](): void {
    this.socket.drop();
  }
}

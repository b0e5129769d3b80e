/** A client whose connection breaks on command, as a network would break it: no close frame, and what is under way is lost. */

import { OPCODE } from "../../src/transport/websocket/websocket_frames.ts";
import { RawWebSocket } from "./raw_websocket.ts";
import { type Channel, Client, type ConnectOptions } from "./rpc_client.ts";

export interface CuttableOptions extends ConnectOptions {
  /** Cuts by itself when this many frames have come in. */
  cutAfterFrames?: number;
}

export class CuttableConnection {
  readonly client: Client;
  readonly #channel: RawChannel;

  private constructor(client: Client, channel: RawChannel) {
    this.client = client;
    this.#channel = channel;
  }

  /** Connects and shakes hands, or resumes. */
  static async open(url: string, options: CuttableOptions): Promise<CuttableConnection> {
    const { cutAfterFrames = Infinity, ...connectOptions } = options;
    const channel = new RawChannel(await RawWebSocket.connect(url), cutAfterFrames);
    return new CuttableConnection(await Client.handshake(channel, connectOptions), channel);
  }

  cut(): void {
    this.#channel.close();
  }
}

class RawChannel implements Channel {
  onMessage: (text: string) => void = () => {};
  onClose: (reason: string) => void = () => {};
  readonly #socket: RawWebSocket;
  #framesLeft: number;
  #sending: Promise<void> = Promise.resolve();

  constructor(socket: RawWebSocket, cutAfterFrames: number) {
    this.#socket = socket;
    this.#framesLeft = cutAfterFrames;
    this.#receiveAll();
  }

  send(text: string): void {
    this.#enqueue(() => this.#socket.sendText(text));
  }

  close(): void {
    this.#socket.drop();
  }

  async #receiveAll(): Promise<void> {
    const decoder = new TextDecoder();
    for (;;) {
      const frame = await this.#socket.readFrame();
      if (frame === null || frame.opcode === OPCODE.close) break;
      if (frame.opcode === OPCODE.ping) this.#enqueue(() => this.#socket.sendFrame(OPCODE.pong, frame.payload));
      if (frame.opcode === OPCODE.text) this.onMessage(decoder.decode(frame.payload));
      if (--this.#framesLeft <= 0) break;
    }
    this.#socket.drop();
    this.onClose("the connection was cut");
  }

  #enqueue(send: () => Promise<void>): void {
    // What cannot be sent is lost with the connection, and that is reported by the receiving side.
    this.#sending = this.#sending.then(send).catch(() => {});
  }
}

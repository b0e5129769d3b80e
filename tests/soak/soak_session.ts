/**
 * A client session over a network that breaks again and again: every call gets through in the end and takes effect once,
 * and every process's ledger is caught up after each resume.
 */

import assert from "node:assert/strict";
import { CuttableConnection } from "../support/cuttable_connection.ts";
import type { Random } from "../support/random.ts";
import {
  type Client,
  ConnectionLostError,
  type MethodName,
  type MethodTypes,
  RpcError,
} from "../support/rpc_client.ts";
import { ProcessLedger, type ProcessNotification } from "./process_ledger.ts";

const SESSION_ATTACHED = -32010;

/** Frames between two cuts: some connections break almost at once, most after a while. */
const FRAMES_BEFORE_CUT = [2, 2, 5, 10, 20, 60, 150];
/** How long the network stays away: mostly no longer than it takes to notice. */
const OUTAGES_MS = [0, 0, 0, 5, 20, 60];

type Params<Name extends MethodName> = MethodTypes[Name]["params"];
type Result<Name extends MethodName> = MethodTypes[Name]["result"];

/** What it means that a repeated call is refused: the first one got through, with this result. Null: a real refusal. */
type RefusalOfRepeat<Name extends MethodName> = (error: RpcError) => Result<Name> | null;

export class SoakSession {
  readonly #url: string;
  readonly #random: Random;
  /** By process id. Those whose start has been answered are caught up after a resume. */
  readonly #ledgers = new Map<string, { readonly ledger: ProcessLedger; isStarted: boolean }>();
  #sessionId = "";
  #connected: Promise<Client>;
  #cutCount = 0;
  #isEnding = false;

  private constructor(url: string, random: Random) {
    this.#url = url;
    this.#random = random;
    this.#connected = this.#connect();
  }

  static async open(url: string, random: Random): Promise<SoakSession> {
    const session = new SoakSession(url, random);
    await session.#connected;
    return session;
  }

  get cutCount(): number {
    return this.#cutCount;
  }

  async start(params: Params<"process/start">): Promise<ProcessLedger> {
    const { processId } = params;
    const ledger = new ProcessLedger(processId);
    const entry = { ledger, isStarted: false };
    this.#ledgers.set(processId, entry);
    const cutsBefore = this.#cutCount;
    await this.call("process/start", params, ({ message }) => {
      return message === `process ${processId} already exists` ? { processId, sandboxType: "none" } : null;
    });
    entry.isStarted = true;
    if (this.#cutCount > cutsBefore) await this.#catchUp(ledger);
    return ledger;
  }

  /** The process is accounted for. */
  forget(ledger: ProcessLedger): void {
    this.#ledgers.delete(ledger.processId);
  }

  /** Repeats the call on the next connection for as long as its answer is lost. */
  async call<Name extends MethodName>(
    method: Name,
    params: Params<Name>,
    resultOfRepeat: RefusalOfRepeat<Name> = () => null,
  ): Promise<Result<Name>> {
    for (let isRepeated = false;; isRepeated = true) {
      const client = await this.#connected;
      try {
        return await client.call(method, params);
      } catch (error) {
        if (error instanceof ConnectionLostError) continue;
        const result = isRepeated && error instanceof RpcError ? resultOfRepeat(error) : null;
        if (result === null) throw error;
        return result;
      }
    }
  }

  /** Ends the session, so that the server keeps nothing of it. Every process must have closed by now. */
  async end(): Promise<void> {
    const { processes } = await this.call("process/list", null);
    assert.deepEqual(processes.filter(({ closed }) => !closed), []);
    this.#isEnding = true;
    const client = await this.#connected;
    try {
      await client.call("session/end", null);
    } catch (error) {
      // Cut just now: the session expires by itself.
      if (!(error instanceof ConnectionLostError)) throw error;
    }
    await client.close();
  }

  /** Opens the session, or takes it up again as soon as the server has noticed the loss. */
  async #connect(): Promise<Client> {
    for (;;) {
      try {
        const { client } = await CuttableConnection.open(this.#url, {
          clientName: "soak",
          cutAfterFrames: this.#random.pick(FRAMES_BEFORE_CUT) + this.#random.int(20),
          ...(this.#sessionId === "" ? {} : { resumeSessionId: this.#sessionId }),
        });
        if (this.#sessionId !== "") assert.equal(client.sessionId, this.#sessionId);
        this.#sessionId = client.sessionId;
        client.onNotification((notification) => this.#notified(notification as ProcessNotification));
        client.closed.then(() => this.#lost());
        return client;
      } catch (error) {
        const isWorthRetrying = error instanceof ConnectionLostError ||
          error instanceof RpcError && error.code === SESSION_ATTACHED;
        if (!isWorthRetrying) throw error;
      }
    }
  }

  #notified(notification: ProcessNotification): void {
    this.#ledgers.get(notification.params.processId)?.ledger.notified(notification);
  }

  #lost(): void {
    for (const { ledger } of this.#ledgers.values()) ledger.connectionLost();
    if (this.#isEnding) return;
    this.#cutCount++;
    const outageMs = this.#random.pick(OUTAGES_MS);
    this.#connected = new Promise((resolve) => setTimeout(resolve, outageMs)).then(() => this.#connect());
    this.#connected.then(() => this.#catchUpAll()).catch((error) => {
      for (const { ledger } of this.#ledgers.values()) ledger.fail(error);
    });
  }

  async #catchUpAll(): Promise<void> {
    const started = [...this.#ledgers.values()].filter(({ isStarted }) => isStarted);
    await Promise.all(started.map(({ ledger }) => this.#catchUp(ledger)));
  }

  /** One read is enough: it is answered by a connection that is attached, so what happens later is told. */
  async #catchUp(ledger: ProcessLedger): Promise<void> {
    const { processId } = ledger;
    if (ledger.isComplete) return;
    ledger.caughtUp(await this.call("process/read", { processId, afterSeq: ledger.contiguousSeq }));
  }
}

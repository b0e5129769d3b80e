/** Somebody who may not do everything with files, even when the tests run as root. One request at a time. */

export class OrdinaryUser {
  readonly #worker = new Worker(new URL("../fixtures/ordinary_user.ts", import.meta.url), { type: "module" });

  static async start(): Promise<OrdinaryUser> {
    const user = new OrdinaryUser();
    await user.#answer();
    return user;
  }

  /** `result` of a filesystem method, or `failure` as `kind: message`. */
  async call(method: string, argument: unknown): Promise<{ result?: unknown; failure?: string }> {
    this.#worker.postMessage({ method, argument });
    return await this.#answer();
  }

  end(): void {
    this.#worker.terminate();
  }

  #answer(): Promise<{ result?: unknown; failure?: string }> {
    return new Promise((resolve, reject) => {
      this.#worker.onmessage = ({ data }) => resolve(data);
      this.#worker.onerror = (event) => reject(new Error(event.message));
    });
  }
}

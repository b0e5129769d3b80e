/** The filesystem of a real server, as its client has it: for the contract, with errors as that speaks of them. */

import { DomainError, type ErrorKind } from "../../src/errors.ts";
import { openSession } from "../../src/client/connect.ts";
import { ServerError } from "../../src/client/mod.ts";
import { RemoteFileSystem } from "../../src/client/fs/remote_file_system.ts";
import type { FileSystem, OpenFile } from "../../src/fs/file_system.ts";
import { ERROR_CODES } from "../../src/protocol/error_codes.ts";
import { TestServer } from "./test_server.ts";

export class RemoteFiles implements AsyncDisposable {
  readonly files: FileSystem;
  readonly #close: () => Promise<void>;

  private constructor(files: FileSystem, close: () => Promise<void>) {
    this.files = files;
    this.#close = close;
  }

  static async open(): Promise<RemoteFiles> {
    const server = await TestServer.start();
    const session = await openSession(server.url, {});
    return new RemoteFiles(withDomainErrors(new RemoteFileSystem(session)), async () => {
      await session.close({ endSession: true });
      await server[Symbol.asyncDispose]();
    });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#close();
  }
}

/** The same with the errors of the server's own filesystems: each code has one kind. */
function withDomainErrors<Target extends FileSystem | OpenFile>(target: Target): Target {
  return new Proxy(target, {
    get: (_, name) => {
      const method = target[name as keyof Target] as ((...args: unknown[]) => Promise<unknown>) | undefined;
      if (method === undefined) return undefined;
      return async (...args: unknown[]) => {
        try {
          const result = await method.apply(target, args);
          return name === "open" ? withDomainErrors(result as OpenFile) : result;
        } catch (error) {
          throw error instanceof ServerError ? new DomainError(kindOf(error.code), error.message) : error;
        }
      };
    },
  });
}

function kindOf(code: number): ErrorKind {
  const found = Object.entries(ERROR_CODES).find(([, value]) => value === code);
  if (found === undefined) throw new Error(`no kind of error has the code ${code}`);
  return found[0] as ErrorKind;
}

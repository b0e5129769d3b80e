/**
 * Methods by name: how their parameters decode, what they claim of the scheduler, and the function that does the work.
 *
 * It knows no method itself. The order of checks is part of the protocol: the method exists, its parameters decode, and
 * only then whether the handshake allows it.
 */

import { decodeParams } from "../protocol/decode_params.ts";
import type { RunnableRow } from "../protocol/method_row.ts";
import type { EncodedResult, StreamedResult } from "../rpc/encoded_result.ts";
import type { Claim, Lane } from "../rpc/scheduler.ts";

/** A result, or the same already on its way to being text. */
export type Answer<Result> = Result | EncodedResult | StreamedResult;

export type MethodHandler<Params, Context, Result = unknown> = Replier<Params, Context, Answer<Result>>;

type Replier<Params, Context, Reply> = (params: Params, context: Context) => Reply | Promise<Reply>;

/** A method whose parameters have been decoded, ready to be scheduled. */
export interface PreparedCall<Context, Scope = unknown> {
  readonly family: string;
  readonly lane: Lane;
  claims(scope: Scope): readonly Claim[];
  readonly answerBytes: number;
  run(context: Context): unknown;
}

/** A handler whose module is loaded with its first call. Later calls are direct. */
export function lazily<Params, Context, Reply>(
  load: () => Promise<Replier<Params, Context, Reply>>,
): Replier<Params, Context, Reply> {
  let handler: Replier<Params, Context, Reply> | null = null;
  return (params, context) => {
    if (handler !== null) return handler(params, context);
    return load().then((loaded) => (handler = loaded)(params, context));
  };
}

export class MethodTable<Context, Scope = unknown> {
  readonly #methods = new Map<string, (params: unknown) => PreparedCall<Context, Scope>>();

  /** Adds a method. */
  bind<Params, Result>(
    row: RunnableRow<Params, Scope, Result>,
    handler: MethodHandler<Params, Context, NoInfer<Result>>,
  ): void {
    if (this.#methods.has(row.name)) throw new Error(`method ${row.name} is bound twice`);
    this.#methods.set(row.name, (raw) => {
      const params = decodeParams(row.params, raw);
      return {
        family: row.family,
        lane: row.lane(params),
        claims: (scope) => row.claims(params, scope),
        answerBytes: row.answerBytes === undefined ? 0 : row.answerBytes(params),
        run: (context) => handler(params, context),
      };
    });
  }

  /** Undefined: no such method. Throws a domain error when the parameters do not decode. */
  prepare(method: string, params: unknown): PreparedCall<Context, Scope> | undefined {
    return this.#methods.get(method)?.(params);
  }
}

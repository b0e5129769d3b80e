/**
 * What the table says of one request method, and of one notification. Types only.
 *
 * Lanes and claims have the same form as in `rpc/scheduler.ts`, which carries them out and knows no method.
 */

import type { ErrorKind } from "../errors.ts";
import type { ParamsSchema } from "./decode_params.ts";
import type { AboutProcess, AboutProcessInput, ProcessRef } from "./process_ref.ts";

/** `control` must get through whatever else is going on, `waiting` may stay open for long, `ordinary` is the rest. */
export type Lane = "control" | "waiting" | "ordinary";

/** How a request uses a resource: alone, beside others, or only behind those who came before. */
export type ClaimMode = "exclusive" | "shared" | "pass";

export interface Claim {
  readonly resource: string;
  readonly mode: ClaimMode;
}

/** What claims need to know of the session they are made in. */
export interface ClaimScope {
  /** The same text for every way to name the same process. */
  processKey(process: ProcessRef): string;
}

/** A schema of what this server makes itself. It is loaded when it is asked for: nothing is checked on the way out. */
export type Lazy<Schema> = () => Promise<Schema>;

/** The part of a zod schema that has its type. */
export interface Typed<Output> {
  readonly _zod: { readonly output: Output };
}

/** What it takes to run a method: the part of its row that the dispatcher looks at. */
export interface RunnableRow<Params, Scope = unknown, Result = unknown> {
  readonly name: string;
  /** How refusals of the handshake call the method's group. */
  readonly family: string;
  readonly params: ParamsSchema<Params>;
  /** Gives the type of what a handler answers. */
  readonly result?: Lazy<Typed<Result>>;
  lane(params: Params): Lane;
  claims(params: Params, scope: Scope): readonly Claim[];
  /** What its answer may take in memory, where that is more than a few kilobytes: known or estimated. */
  answerBytes?(params: Params): number;
}

/** What rows of requests and of notifications have in common. */
export interface Described {
  /** One sentence. */
  readonly description: string;
  /** The first version of this server that has it. */
  readonly since: string;
  /** The flag of `environmentInfo.capabilities` to look at before it is relied on. Null: every server has it. */
  readonly capability: string | null;
}

/** Kinds of errors with the situation they stand for. */
export type Errors = Readonly<Partial<Record<ErrorKind, string>>>;

export interface MethodRow<
  Name extends string = string,
  Params extends ParamsSchema<unknown> = ParamsSchema<unknown>,
  Result extends Typed<unknown> = Typed<unknown>,
> extends RunnableRow<ParamsOf<Params>, ClaimScope, Result["_zod"]["output"]>, Described {
  readonly name: Name;
  readonly params: Params & ParamsSchema<ParamsOf<Params>>;
  readonly result: Lazy<Result>;
  /** Besides those that every request can meet (`COMMON_ERRORS`). */
  readonly errors: Errors;
}

export interface NotificationRow<
  Name extends string = string,
  Params extends Typed<unknown> = Typed<unknown>,
  From extends "client" | "server" = "client" | "server",
> extends Described {
  readonly name: Name;
  readonly from: From;
  readonly params: Lazy<Params>;
}

/** What comes out of a schema for parameters. */
export type ParamsOf<Schema> = Schema extends ParamsSchema<infer Params> ? Params : never;

/** What a client writes for them. */
export type InputOf<Schema> = Schema extends AboutProcess<infer _> ? AboutProcessInput<Schema>
  : Schema extends { readonly _zod: { readonly input: infer Input } } ? Input
  : never;

/** What a lazily loaded schema describes. */
export type OutputOf<Schema> = Schema extends Lazy<Typed<infer Output>> ? Output : never;

/**
 * Schemas that turn one value into another; `zod/mini` leaves this to its users.
 *
 * A failed conversion adds an issue and returns `z.NEVER`, and later steps do not run.
 */

import * as z from "zod/mini";

/** The value under way and what is wrong with it. */
export type Payload = z.core.ParsePayload;

/** What is wrong. `path` leads from the converted value to the culprit. */
export interface NewIssue {
  readonly code?: string | undefined;
  readonly message?: string;
  readonly path?: PropertyKey[];
  /** What should have been there, where the code is `invalid_type`. */
  readonly expected?: string;
  /** The culprit itself. Absent: the converted value. */
  readonly input?: unknown;
}

export function addIssue(payload: Payload, issue: NewIssue): void {
  payload.issues.push({ input: payload.value, ...issue } as z.core.$ZodRawIssue);
}

type Converted<S extends z.ZodMiniType, Out> = z.ZodMiniPipe<S, z.ZodMiniTransform<Out, z.output<S>>>;

/** A schema, and what is made of its output. */
export function convert<S extends z.ZodMiniType, Out>(
  schema: S,
  make: (value: z.output<S>, payload: Payload) => Out,
): Converted<S, Out> {
  // The library's type allows for a promise, which nothing here makes.
  return z.pipe(schema, z.transform(make)) as unknown as Converted<S, Out>;
}

/** A schema for what is made of the input. `In`: what may be written for it. */
export function preprocess<S extends z.ZodMiniType, In = z.input<S>>(
  make: (value: unknown, payload: Payload) => unknown,
  schema: S,
): z.ZodMiniType<z.output<S>, In> {
  return z.pipe(z.transform(make), schema) as unknown as z.ZodMiniType<z.output<S>, In>;
}

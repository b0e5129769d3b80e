/**
 * Which process a request is about: one of its own session by the id its client gave it (`processId`), or any that may
 * be reached by the name the server gave it (`uid`). What follows in the parameters is each method's own.
 */

import * as z from "zod/mini";
import { convert } from "./convert.ts";
import type { ParamsSchema, ParseContext, Parsed } from "./decode_params.ts";

/** Parameters that name a process are such a reference themselves: nothing has to be made of them for every request. */
export type ProcessRef =
  | { processId: string; uid?: undefined }
  | { uid: string; processId?: undefined };

/** Without fields zod's own type would say that there may be none at all. */
type Fields<Shape extends z.core.$ZodShape, Side> = keyof Shape extends never ? unknown : Side;

type Output<Shape extends z.core.$ZodShape> = ProcessRef & Fields<Shape, z.output<z.ZodMiniObject<Shape>>>;

const NOT_BOTH = "a process is named by processId or by uid, not by both";

/**
 * Parameters about one process. Two schemas instead of one with two optional names, so that a request without a name is
 * told of `processId` before anything else, as the reference does.
 */
export class AboutProcess<const Shape extends z.core.$ZodShape> implements ParamsSchema<Output<Shape>> {
  readonly shape: Shape;
  readonly #byId: ParamsSchema<unknown> & z.ZodMiniType;
  readonly #byUid: ParamsSchema<unknown>;

  constructor(shape: Shape) {
    this.shape = shape;
    this.#byId = z.object({ processId: z.string(), ...shape });
    const noId = convert(z.optional(z.null({ error: NOT_BOTH })), () => undefined);
    this.#byUid = z.object({ uid: z.string(), processId: noId, ...shape });
  }

  /** The form with `processId`. That with `uid` in its place has the same members besides. */
  get byId(): z.ZodMiniType {
    return this.#byId;
  }

  safeParse(value: unknown, context?: ParseContext): Parsed<Output<Shape>> {
    const isByUid = ((value as { uid?: unknown } | null | undefined)?.uid ?? null) !== null;
    const schema = (isByUid ? this.#byUid : this.#byId) as ParamsSchema<Output<Shape>>;
    return schema.safeParse(value, context);
  }
}

/** What a client writes for such parameters. */
export type AboutProcessInput<Schema> = Schema extends AboutProcess<infer Shape>
  ? ProcessRef & Fields<Shape, z.input<z.ZodMiniObject<Shape>>>
  : never;

/** What comes out of them. */
export type AboutProcessOutput<Schema> = Schema extends AboutProcess<infer Shape> ? Output<Shape> : never;

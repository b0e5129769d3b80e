/** What has to be written about a method, a notification and a type. Types only: a missing sentence does not compile. */

import type { MethodName, MethodTypes, NotificationName, NotificationTypes } from "../method_types.ts";
import type { ConstraintName } from "./constraints.ts";

type MembersOf<T> = T extends readonly unknown[] ? never : T extends object ? keyof T : never;
type Written<Key> = Key extends string ? (string extends Key ? never : Key) : never;

/** A sentence for each member that the type names. */
export type Sentences<T> = { readonly [Member in Written<MembersOf<NonNullable<T>>>]: string };

/** Where a run's value differs from the example's: `sessionId`, `entries.0.path`; with all that is below. */
type Places = readonly string[];

export interface MethodText<Name extends MethodName> {
  /** A sentence for each parameter. */
  readonly params: Sentences<MethodTypes[Name]["params"]>;
  /** A sentence for each member of the result. */
  readonly result: Sentences<MethodTypes[Name]["result"]>;
  /** What somebody has to know who calls it, besides its members. Paragraphs of Markdown. */
  readonly notes?: readonly string[];
  /** Constraints that only its work finds out. Those of its schema are found by themselves. */
  readonly constraints?: readonly ConstraintName[];
  /** A request and its result, run by a test in the order of the texts. */
  readonly example: {
    /** What a test asks first, so that the example can be run. Not shown. One that fails is meant to. */
    readonly before?: readonly AnyRequest[];
    readonly params: MethodTypes[Name]["params"];
    readonly result: MethodTypes[Name]["result"];
    readonly varies?: Places;
  };
}

/** A request of any method. Loosely typed: the union of all of them is too much for the compiler. */
interface AnyRequest {
  readonly method: MethodName;
  readonly params: Readonly<Record<string, unknown>>;
}

export interface NotificationText<Name extends NotificationName> {
  readonly params: Sentences<NotificationTypes[Name]>;
  readonly notes?: readonly string[];
  /** One that the server sends while the examples of the methods run. */
  readonly example: { readonly params: NotificationTypes[Name]; readonly varies?: Places };
}

export type MethodTexts<Names extends MethodName> = { readonly [Name in Names]: MethodText<Name> };
export type NotificationTexts<Names extends NotificationName> = { readonly [Name in Names]: NotificationText<Name> };

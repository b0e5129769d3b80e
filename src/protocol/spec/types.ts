/**
 * Types that stand in the specification under a name of their own, with a sentence for each member. A part of a
 * parameter or result that is an object belongs here, or its members stay undescribed, which a test finds.
 */

import type { NamedType } from "./json_schema.ts";
import { MADE_TYPES } from "./made_types.ts";
import { SENT_TYPES } from "./sent_types.ts";

export const NAMED_TYPES: Readonly<Record<string, NamedType>> = { ...SENT_TYPES, ...MADE_TYPES };

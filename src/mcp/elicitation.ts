/**
 * How a question is put to a client, and what its answer means. The schema is empty: the question is yes or no, and
 * codex does not pass on any other question. Clients of the reference's time get the reference's schema.
 */

import { isSpecType } from "@modelcontextprotocol/server";
import type { Dialect } from "./client_profile.ts";
import type { PromptAnswer } from "./prompt_desk.ts";
import { UNREADABLE } from "./readable_message.ts";

const EMPTY_SCHEMA = { type: "object", properties: {} };

const REFERENCE_SCHEMA = {
  type: "object",
  title: "Execution Permission Request",
  properties: {
    reason: { type: "string", description: "Optional reason for allowing or denying execution" },
  },
};

/** An answer may say that it holds for the rest of the session, where clients have a way to say so. */
const PERSISTENCE = { persist: ["session"] };

/** What an answer means that is no answer. */
export const UNREADABLE_ANSWER: PromptAnswer = {
  action: "unavailable",
  reason: UNREADABLE.message,
};

export function elicitationParams(message: string, dialect: Dialect): Record<string, unknown> {
  if (dialect === "reference") return { message, requestedSchema: REFERENCE_SCHEMA };
  return { _meta: PERSISTENCE, message, requestedSchema: EMPTY_SCHEMA };
}

/**
 * Everything that is no clear yes is a no, also a yes in an answer that is malformed. Not asked again: the client would
 * answer likewise, and its user has answered.
 */
export function promptAnswer(result: unknown): PromptAnswer {
  if (!isSpecType.ElicitResult(result)) return UNREADABLE_ANSWER;
  const { action, content, _meta: meta } = members(result);
  if (action === "accept") return { action, isRemembered: isForSession(meta) || isForSession(content) };
  return { action: action === "decline" ? "decline" : "cancel" };
}

function isForSession(place: unknown): boolean {
  const { persist } = members(place);
  return persist === "session" || persist === "always";
}

function members(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null ? value as Record<string, unknown> : {};
}

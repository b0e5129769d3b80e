/**
 * What is known about the client, as far as answers depend on it. A client of the reference's time is recognised by the
 * request that sets the sandbox (`codex/sandbox-state/update`): it gets exactly the reference's errors and prompts.
 * codex shows structured content in place of the text, so it gets only the text. Other clients get both.
 */

export interface ClientProfile {
  readonly name: string;
  /** Whether it can be asked with a form. A bare `elicitation: {}` counts: forms came before other kinds. */
  readonly canBeAsked: boolean;
  /**
   * Prompts are pushed to it during a call. Otherwise the call is answered with the prompts, and the client calls
   * again.
   */
  readonly takesPushedPrompts: boolean;
  readonly dialect: Dialect;
}

export type Dialect = "reference" | "codex" | "other";

export interface ClientFacts {
  readonly info: { readonly name?: string } | undefined;
  readonly capabilities:
    | { readonly elicitation?: { readonly form?: unknown; readonly url?: unknown } | undefined }
    | undefined;
  readonly isReferenceEra: boolean;
  readonly takesPushedPrompts: boolean;
}

const CODEX_NAME = /^codex\b/i;

export function clientProfile({ info, capabilities, isReferenceEra, takesPushedPrompts }: ClientFacts): ClientProfile {
  const elicitation = capabilities?.elicitation;
  const name = typeof info?.name === "string" ? info.name : "";
  return {
    name,
    canBeAsked: elicitation !== undefined && (elicitation.form !== undefined || elicitation.url === undefined),
    takesPushedPrompts,
    dialect: isReferenceEra ? "reference" : CODEX_NAME.test(name) ? "codex" : "other",
  };
}

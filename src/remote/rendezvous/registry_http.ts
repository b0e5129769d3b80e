/**
 * The registry's requests: `register` of executors in all forms, `connect` of harnesses, `validate` of their keys.
 *
 * The token of the caller was checked before. Answers are small and contain no token.
 */

import type { Logger } from "../../log.ts";
import type { HttpResponse } from "../../transport/door/http_response.ts";
import type { Admissions } from "../../transport/tokens/admissions.ts";
import { SECURITY_PROFILE } from "../noise/suite.ts";
import { jsonAnswer, problem } from "./answers.ts";
import {
  ConnectRequest,
  decodeBody,
  keyFingerprint,
  NoiseRegistration,
  type PublicKey,
  SeedRegistration,
  ValidateRequest,
} from "./bodies.ts";
import { auditFields, type Caller, type Request } from "./caller.ts";
import type { Registration } from "./executor.ts";
import { HOLD_CONNECT_MS, MAX_BODY_BYTES, SPARE_CONNECTIONS, STREAM_WINDOW_BYTES, TICKET_TTL_MS } from "./limits.ts";
import type { Registry } from "./registry.ts";
import { RelayExecutor } from "./relay_executor.ts";
import { type Route, SOCKET_PATHS } from "./routes.ts";
import { digestName, randomName, type TicketOffice, tokenMark, tokenOf } from "./tickets.ts";

export interface RegistryHttpOptions {
  readonly registry: Registry;
  readonly office: TicketOffice;
  readonly admissions: Admissions;
  readonly log: Logger;
}

type RegisterRoute = Route & { type: "register" };

export class RegistryHttp {
  readonly #options: RegistryHttpOptions;
  readonly #publicUrl: (request: Request) => string;

  constructor(options: RegistryHttpOptions, publicUrl: (request: Request) => string) {
    this.#options = options;
    this.#publicUrl = publicUrl;
  }

  async register(route: RegisterRoute, request: Request, caller: Caller): Promise<HttpResponse> {
    const { registry, log } = this.#options;
    // This may take some time, while another executor is asked for a sign of life.
    if (!request.admit()) return problem(503, "too_many_connections", "too many connections: try again");
    const registration = await readRegistration(route, request);
    if ("status" in registration) return registration;
    switch (await registry.register(registration)) {
      case "taken":
        log.warn("audit", { event: "executor refused: its id is in use", ...auditFields(route.id, caller) });
        return problem(
          409,
          "executor_id_in_use",
          `another executor is connected as ${route.id}: stop it, or use another id`,
        );
      case "full":
        return problem(503, "too_many_executors", "too many executors");
      case "registered": {
        const { kind } = registration;
        log.info("audit", { event: "executor registered", kind, ...auditFields(route.id, caller) });
        const url = await this.#socketUrl("executor", registration, request, caller);
        return jsonAnswer(registered(route, registration, url));
      }
    }
  }

  async connect(id: string, request: Request, caller: Caller): Promise<HttpResponse> {
    const { registry, office } = this.#options;
    const body = bodyOf(request);
    if ("status" in body) return body;
    const decoded = decodeBody(ConnectRequest, body);
    if ("complaint" in decoded) return problem(400, "invalid_request", decoded.complaint);
    const present = registry.find(id);
    if (present !== null && present.kind !== "noise") {
      return problem(
        409,
        "executor_is_not_noise",
        `executor ${id} does not speak noise: use the URL /connect/${id} and a token`,
      );
    }
    if (!request.admit()) return problem(503, "too_many_connections", "too many connections: try again");
    const found = await registry.waitFor(id, () => {
      const executor = registry.find(id);
      return executor instanceof RelayExecutor && executor.kind === "noise" ? executor.servedRegistration : null;
    }, { withinMs: HOLD_CONNECT_MS, gone: request.whenGone() });
    if (found === null) return problem(503, "executor_not_connected", `executor ${id} is not connected: try again`);

    const key = decoded.value.harness_public_key;
    return jsonAnswer({
      environment_id: id,
      url: await this.#socketUrl("harness", found, request, caller),
      security_profile: SECURITY_PROFILE,
      executor_registration_id: found.registrationId,
      executor_public_key: found.publicKey,
      harness_key_authorization: await office.issue({
        ...ticketFields(found, caller),
        purpose: "key",
        keyDigest: await keyFingerprint(key),
      }),
    });
  }

  /** Whether `connect` has recently let the harness with this key in, to this executor. */
  async validate(id: string, request: Request): Promise<HttpResponse> {
    const body = bodyOf(request);
    if ("status" in body) return body;
    const decoded = decodeBody(ValidateRequest, body);
    if ("complaint" in decoded) return problem(400, "invalid_request", decoded.complaint);
    const { executor_registration_id, harness_public_key, harness_key_authorization } = decoded.value;
    const valid = await this.#isAuthorized(id, {
      registrationId: executor_registration_id,
      key: harness_public_key,
      authorization: harness_key_authorization,
    });
    if (!valid) this.#options.log.warn("audit", { event: "harness refused: its key is not authorised", executor: id });
    return jsonAnswer({ valid });
  }

  async #isAuthorized(
    id: string,
    { registrationId, key, authorization }: { registrationId: string; key: PublicKey; authorization: string },
  ): Promise<boolean> {
    const { registry, office, admissions } = this.#options;
    const ticket = await office.read(authorization, "key");
    if (ticket === null || ticket.id !== id || ticket.registration !== registrationId) return false;
    if (ticket.expiresAtMs <= Date.now() || ticket.keyDigest !== await keyFingerprint(key)) return false;
    const executor = registry.find(id);
    if (!(executor instanceof RelayExecutor) || executor.servedRegistration?.registrationId !== registrationId) {
      return false;
    }
    const entry = tokenOf(ticket, admissions.table);
    return entry !== null && admissions.holds(entry, { role: "client", id });
  }

  async #socketUrl(
    purpose: "executor" | "harness",
    registration: Registration,
    request: Request,
    caller: Caller,
  ): Promise<string> {
    const ticket = await this.#options.office.issue({ ...ticketFields(registration, caller), purpose });
    return `${this.#publicUrl(request)}${SOCKET_PATHS[purpose]}${registration.executorId}?ticket=${ticket}`;
  }
}

function ticketFields({ executorId, registrationId }: Registration, { entry }: Caller) {
  const expiresAtMs = Date.now() + TICKET_TTL_MS;
  return { id: executorId, registration: registrationId, token: tokenMark(entry), expiresAtMs };
}

/** The answer to each form of registration. The reference's programs ignore unknown members. */
function registered({ form, id }: RegisterRoute, registration: Registration, url: string): unknown {
  const { kind, registrationId, hasStreamAcks } = registration;
  const named = form === "executor" ? { executor_id: id } : { environment_id: id };
  switch (kind) {
    case "plain":
      return { id: registrationId, ...named, url, spareConnections: SPARE_CONNECTIONS };
    case "relay":
      return { ...named, url };
    case "noise":
      return {
        ...named,
        url,
        security_profile: SECURITY_PROFILE,
        executor_registration_id: registrationId,
        ...(hasStreamAcks ? { streamWindowBytes: STREAM_WINDOW_BYTES } : {}),
      };
  }
}

/** The path, and whether there is a body, show which form it is. */
async function readRegistration({ form, id }: RegisterRoute, request: Request): Promise<Registration | HttpResponse> {
  const body = bodyOf(request);
  if ("status" in body) return body;
  const executorId = id;
  const nothing = {
    identity: null,
    name: null,
    version: null,
    publicKey: null,
    fingerprint: null,
    hasStreamAcks: false,
  };
  const registrationId = randomName();
  if (body.length === 0) return { executorId, registrationId, ...nothing, kind: "relay" };
  if (form === "executor") {
    const decoded = decodeBody(SeedRegistration, body);
    if ("complaint" in decoded) return problem(400, "invalid_request", decoded.complaint);
    const { idempotency_id: identity, name = null, metadata } = decoded.value;
    // The same for all registrations of a process, which opens several websockets at once, each with another URL.
    const registrationId = await digestName(identity);
    const version = metadata?.version ?? null;
    return { executorId, registrationId, ...nothing, kind: "plain", identity, name, version };
  }
  const decoded = decodeBody(NoiseRegistration, body);
  if ("complaint" in decoded) return problem(400, "invalid_request", decoded.complaint);
  const { executor_public_key: publicKey, name = null, version = null, streamAcks: hasStreamAcks = false } =
    decoded.value;
  const fingerprint = await keyFingerprint(publicKey);
  const about = { name, version, publicKey, fingerprint, hasStreamAcks };
  return { executorId, registrationId, kind: "noise", identity: fingerprint, ...about };
}

function bodyOf({ body, head }: Request): Uint8Array<ArrayBuffer> | HttpResponse {
  if (body !== null) return body;
  if (head.headers.has("transfer-encoding")) return problem(411, "length_required", "state the length of the body");
  return problem(413, "body_too_large", `a body has at most ${MAX_BODY_BYTES} bytes`);
}

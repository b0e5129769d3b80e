/** The flags of `serve` that decide who can connect: `doctor` takes them, too. */

import type { FlagTable } from "../flags.ts";
import { SERVE_FLAGS } from "./serve_flags.ts";

export const DOOR_FLAGS = {
  listen: SERVE_FLAGS.listen,
  "insecure-no-auth": SERVE_FLAGS["insecure-no-auth"],
  "allow-other-users": SERVE_FLAGS["allow-other-users"],
  "allow-origin": SERVE_FLAGS["allow-origin"],
  "tls-cert": SERVE_FLAGS["tls-cert"],
  "tls-key": SERVE_FLAGS["tls-key"],
  "ws-auth": SERVE_FLAGS["ws-auth"],
  tokens: SERVE_FLAGS.tokens,
  "tokens-id": SERVE_FLAGS["tokens-id"],
  "ws-token-file": SERVE_FLAGS["ws-token-file"],
  "ws-token-sha256": SERVE_FLAGS["ws-token-sha256"],
  "ws-shared-secret-file": SERVE_FLAGS["ws-shared-secret-file"],
  "ws-issuer": SERVE_FLAGS["ws-issuer"],
  "ws-audience": SERVE_FLAGS["ws-audience"],
  "ws-max-clock-skew-seconds": SERVE_FLAGS["ws-max-clock-skew-seconds"],
} as const satisfies FlagTable;

export type DoorFlags = typeof DOOR_FLAGS;

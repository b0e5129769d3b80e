import assert from "node:assert/strict";
import { listenError } from "../../../src/transport/listen/listen_error.ts";

Deno.test("listenError() names a directory in which no socket can be made, also /proc, which the system calls missing", () => {
  const reason = (error: unknown) => listenError("unix:/proc/s", { type: "unix", path: "/proc/s" }, error).reason;
  assert.equal(
    reason(new Deno.errors.NotFound("No such file or directory (os error 2)")),
    "no socket can be made in /proc",
  );
  assert.equal(
    reason(new Deno.errors.PermissionDenied("Operation not permitted (os error 1)")),
    "cannot make a socket in /proc: Operation not permitted (os error 1)",
  );
});

import assert from "node:assert/strict";
import { listenError } from "../../../src/transport/listen/listen_error.ts";

Deno.test("listenError() names a directory that takes no sockets: of /proc the system says that it is not there", () => {
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

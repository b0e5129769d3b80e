/** Everything that a patched Bash needs of the server. Loaded with the first patched Bash. */

export { openDatagramPair } from "../../os/loop/socket_message.ts";
export { PatchedPrograms } from "./patched_programs.ts";
export { SOCKET_VARIABLES } from "./wrapper_frames.ts";
export { WrapperServer } from "./wrapper_server.ts";

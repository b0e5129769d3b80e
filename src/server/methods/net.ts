/** `net/*`: wire parameters to the connection's tunnels, and what comes out of them back. Loaded with the first one. */

import { TunnelCount, Tunnels } from "../../net/tunnels.ts";
import type { NetAckParams, NetConnectParams, NetTunnelParams, NetWriteParams } from "../../protocol/net.ts";
import { escapeToAscii } from "../../rpc/encoded_result.ts";
import type { CallContext, Outlet, Owned } from "../call_context.ts";
import type { SessionState } from "../session_state.ts";

type Context = CallContext<SessionState>;

class ConnectionTunnels implements Owned {
  readonly tunnels: Tunnels;

  constructor(outlet: Outlet, count: TunnelCount) {
    this.tunnels = new Tunnels({
      data: (tunnelId, bytes) => {
        const id = escapeToAscii(JSON.stringify(tunnelId));
        outlet.output([`{"method":"net/data","params":{"tunnelId":${id},"chunk":"`, bytes.toBase64(), '"}}']);
      },
      ended: (tunnelId) => outlet.notify("net/ended", { tunnelId }),
      closed: (tunnelId, error) => outlet.notify("net/closed", { tunnelId, error }),
      get hasRoom() {
        return outlet.hasRoom;
      },
    }, count);
  }

  outputHasRoom(): void {
    this.tunnels.roomAgain();
  }

  close(): void {
    this.tunnels.closeAll();
  }
}

const TUNNELS = Symbol("tunnels");

export function createNetMethods() {
  const count = new TunnelCount();
  const tunnelsOf = (context: Context) =>
    context.owned(TUNNELS, () => new ConnectionTunnels(context.outlet, count)).tunnels;
  return {
    async connect({ tunnelId, host, port }: NetConnectParams, context: Context) {
      const { begin } = await tunnelsOf(context).connect(tunnelId, { host, port });
      context.afterReply(begin);
      return {};
    },
    async write({ tunnelId, chunk }: NetWriteParams, context: Context) {
      await tunnelsOf(context).write(tunnelId, chunk);
      return {};
    },
    async closeWrite({ tunnelId }: NetTunnelParams, context: Context) {
      await tunnelsOf(context).closeWrite(tunnelId);
      return {};
    },
    ack({ tunnelId, bytes }: NetAckParams, context: Context) {
      tunnelsOf(context).acknowledge(tunnelId, bytes);
      return {};
    },
    close({ tunnelId }: NetTunnelParams, context: Context) {
      tunnelsOf(context).close(tunnelId);
      return {};
    },
  };
}

import { systemClock } from "@proviso/core";
import type { AskedCall } from "./asked.ts";
import { McpError } from "./mcp-error.ts";
import type { CheckedConnectOptions } from "./options.ts";

/** How long a server may be silent in a call. */
export interface Silence {
  /** Aborted with an McpError "timeout" when it was silent for too long. */
  readonly controller: AbortController;
  /** Begins anew. */
  begin(): void;
  /** Does what the server waits for: meanwhile it is not silent. It begins anew when nothing of the kind is done any more. */
  paused<T>(work: () => Promise<T>): Promise<T>;
  end(): void;
}

/** Begins with the call. */
export function startSilence(
  { callMs, clock = systemClock }: Pick<CheckedConnectOptions, "callMs" | "clock">,
  { server, tool }: Pick<AskedCall, "server" | "tool">,
): Silence {
  const controller = new AbortController();
  let waiting: AbortController | undefined;
  let pauses = 0;
  let isOver = false;
  const stop = (): void => waiting?.abort();
  const begin = (): void => {
    stop();
    if (pauses > 0 || isOver) return;
    const own = (waiting = new AbortController());
    clock.sleep(callMs, own.signal).then(
      () =>
        controller.abort(
          new McpError("timeout", server, `${server} was silent for ${callMs} ms in a call of ${tool}.`),
        ),
      () => {},
    );
  };
  begin();
  return {
    controller,
    begin,
    async paused(work) {
      pauses += 1;
      stop();
      try {
        return await work();
      } finally {
        pauses -= 1;
        begin();
      }
    },
    end() {
      isOver = true;
      stop();
    },
  };
}

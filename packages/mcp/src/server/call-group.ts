// A call is in `running` from its begin until its evaluation has ended, with what it changed kept or undone.
import { messageOf } from "@proviso/core/internal";
import { failed, type ToolCaller } from "./call.ts";

/** The calls of one place where a service is reached: they end together. */
export interface CallGroup {
  readonly call: ToolCaller;
  /** Aborts the calls under way, and waits until what they changed is undone. A later call fails. */
  close(): Promise<void>;
}

export function callGroup(call: ToolCaller): CallGroup {
  const running = new Map<AbortController, Promise<unknown>>();
  let closed: Error | undefined;
  return {
    async call(name, input, request) {
      if (closed !== undefined) return failed(messageOf(closed), closed);
      const own = new AbortController();
      const end = (): void => own.abort(request.signal.reason);
      request.signal.addEventListener("abort", end, { once: true });
      if (request.signal.aborted) end();
      const calling = call(name, input, { ...request, signal: own.signal });
      running.set(own, calling);
      try {
        return await calling;
      } finally {
        running.delete(own);
        request.signal.removeEventListener("abort", end);
      }
    },
    async close() {
      closed ??= new Error("The service was closed.");
      for (const own of running.keys()) own.abort(closed);
      await Promise.allSettled(running.values());
    },
  };
}

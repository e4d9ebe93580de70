// A call is in `running` from its begin until its evaluation has ended, with what it changed kept or undone.
import type { CallToolResult, RequestId } from "@modelcontextprotocol/server";
import { messageOf } from "@proviso/core/internal";
import { failed, type ToolCaller } from "./call.ts";

/** The calls of one place where a service is reached: they end together. */
export interface CallGroup {
  /** `client`: what the client shows with each of its requests, where it shows anything. */
  call(...request: [...Parameters<ToolCaller>, client?: string | undefined]): Promise<CallToolResult>;
  /** Aborts the call that this client made by the request of this id. */
  cancel(client: string, id: RequestId | undefined): void;
  /** Aborts the calls under way, and waits until what they changed is undone. A later call fails. */
  close(): Promise<void>;
}

interface Running {
  readonly calling: Promise<unknown>;
  readonly client: string | undefined;
  readonly id: RequestId;
}

export function callGroup(call: ToolCaller): CallGroup {
  const running = new Map<AbortController, Running>();
  let closed: Error | undefined;
  return {
    async call(name, input, request, client) {
      if (closed !== undefined) return failed(messageOf(closed), closed);
      const own = new AbortController();
      const end = (): void => own.abort(request.signal.reason);
      request.signal.addEventListener("abort", end, { once: true });
      if (request.signal.aborted) end();
      const calling = call(name, input, { ...request, signal: own.signal });
      running.set(own, { calling, client, id: request.id });
      try {
        return await calling;
      } finally {
        running.delete(own);
        request.signal.removeEventListener("abort", end);
      }
    },
    cancel(client, id) {
      for (const [own, one] of running) {
        if (one.client === client && one.id === id) own.abort(new Error("The client cancelled the call."));
      }
    },
    async close() {
      closed ??= new Error("The service was closed.");
      for (const own of running.keys()) own.abort(closed);
      await Promise.allSettled([...running.values()].map(({ calling }) => calling));
    },
  };
}

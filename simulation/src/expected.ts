import type { FrameworkEvent, SessionEvent, ToolInvoked } from "@proviso/core";
import type { WriteInput } from "./world.ts";

/** The state that has to be, worked out from the calls' last results alone. */
export interface Expected {
  hear(event: SessionEvent): void;
  /** Calls whose last result is a success, by evaluation and call, in the order in which they were recorded. */
  successes(): readonly string[];
  /** Entries of every call that holds, in the order in which the calls were recorded. */
  entries(): readonly string[];
}

interface Call {
  readonly event: ToolInvoked;
  readonly entries: readonly string[];
  /** The call around it. */
  readonly parent: string | undefined;
}

export function expectedState(): Expected {
  /** By evaluation and call; a later event of a call takes the place of an earlier one, at the end. */
  const calls = new Map<string, Call>();
  const keyOf = ({ evaluationId, callId }: { readonly evaluationId: string; readonly callId: string }): string =>
    `${evaluationId} ${callId}`;
  const holds = (call: Call): boolean => {
    if (!call.event.result.success) return false;
    if (call.parent === undefined) return true;
    const around = calls.get(call.parent);
    // The call around it is not over: what it did so far is there.
    return around === undefined || holds(around);
  };
  return {
    hear(event) {
      if (event.evaluationId === undefined || (event as FrameworkEvent).type !== "tool.invoked") return;
      const invoked = event as ToolInvoked;
      const key = keyOf(invoked);
      calls.delete(key);
      calls.set(key, { event: invoked, entries: entriesOf(invoked), parent: invoked.parent && keyOf(invoked.parent) });
    },
    successes: () => [...calls].flatMap(([key, { event }]) => (event.result.success ? [key] : [])),
    entries: () => [...calls.values()].filter(holds).flatMap(({ entries }) => entries),
  };
}

function entriesOf({ name, params }: ToolInvoked): readonly string[] {
  if (name !== "write" || typeof params !== "object" || params === null || !("writes" in params)) return [];
  const { id, writes } = params as WriteInput;
  return Array.from({ length: writes }, (_, index) => `${id}-${index}`);
}

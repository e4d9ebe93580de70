import { RevokedError, type Tool, type ToolCall } from "@proviso/core";
import { onAbort, over } from "../limits.ts";
import type { Run } from "../run.ts";

/** How long a call may take: as long as the evaluation, or as its tool says. */
export interface CallTime {
  /** Fires with the evaluation's, when the tool's own time is up, and when the call is over. Made when asked for. */
  signal(): AbortSignal;
  /** What a tool is told that took too long. */
  readonly message: string;
  /** The tool's own time has passed. */
  isUp(): boolean;
  within<T>(work: Promise<T>): Promise<T | "timeout">;
  /** Leaves no timer and no listener behind. */
  end(): void;
}

export function startCallTime(run: Run, call: ToolCall, { name, timeoutMs }: Tool): CallTime {
  const own = callSignal(run, call);
  if (timeoutMs === undefined) {
    return { signal: own.get, message: "", isUp: () => false, within: (work) => work, end: own.end };
  }
  const message = `${name} took longer than ${timeoutMs} ms and was stopped.`;
  const done = new AbortController();
  let isUp = false;
  const timeout = run.world.clock.sleep(timeoutMs, done.signal).then(
    () => {
      isUp = true;
      own.abort(new DOMException(message, "TimeoutError"));
      return "timeout" as const;
    },
    // It ended in time: nobody waits for this any more.
    () => "timeout" as const,
  );
  return {
    signal: own.get,
    message,
    isUp: () => isUp,
    within: (work) => Promise.race([work, timeout]),
    end() {
      own.end();
      done.abort(over);
    },
  };
}

function callSignal(run: Run, call: ToolCall): { get(): AbortSignal; abort(reason: unknown): void; end(): void } {
  let controller: AbortController | undefined;
  let stopListening: (() => void) | undefined;
  /** Why it fires, once it has or will have. */
  let fired: { readonly reason: unknown } | undefined;
  let ended = false;

  const abort = (reason: unknown): void => {
    fired ??= { reason };
    controller?.abort(fired.reason);
  };
  const over = (): RevokedError => new RevokedError(`The call of ${call.name} (${call.id}) is over.`);
  return {
    get() {
      if (controller !== undefined) return controller.signal;
      controller = new AbortController();
      if (fired === undefined && ended) abort(over());
      else if (fired !== undefined) controller.abort(fired.reason);
      else stopListening = onAbort(run.limits.signal, abort);
      return controller.signal;
    },
    abort,
    end() {
      ended = true;
      stopListening?.();
      if (controller?.signal.aborted === false) abort(over());
    },
  };
}

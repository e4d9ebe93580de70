import type { Tool } from "@proviso/core";
import { onAbort, over } from "../limits.ts";
import type { Run } from "../run.ts";

/** How long a call may take: as long as the evaluation, or as its tool says. */
export interface CallTime {
  /** The evaluation's signal, or one that fires when the tool's own time is up, too. */
  readonly signal: AbortSignal;
  /** What a tool is told that took too long. */
  readonly message: string;
  within<T>(work: Promise<T>): Promise<T | "timeout">;
  /** Leaves no timer and no listener behind. */
  end(): void;
}

export function startCallTime(run: Run, { name, timeoutMs }: Tool): CallTime {
  const { signal } = run.limits;
  if (timeoutMs === undefined) return { signal, message: "", within: (work) => work, end() {} };
  const message = `${name} took longer than ${timeoutMs} ms and was stopped.`;
  const own = new AbortController();
  const done = new AbortController();
  const stopListening = onAbort(signal, (reason) => own.abort(reason));
  const timeout = run.world.clock.sleep(timeoutMs, done.signal).then(
    () => {
      own.abort(new DOMException(message, "TimeoutError"));
      return "timeout" as const;
    },
    // It ended in time: nobody waits for this any more.
    () => "timeout" as const,
  );
  return {
    signal: own.signal,
    message,
    within: (work) => Promise.race([work, timeout]),
    end() {
      stopListening();
      done.abort(over);
    },
  };
}

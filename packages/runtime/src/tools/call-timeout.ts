import { RevokedError, type Tool, type ToolCall } from "@proviso/core";
import { onAbort, over } from "../abort.ts";
import type { Run } from "../run.ts";

/** How long a call may take: as long as the evaluation, or as its tool says. */
export interface CallTime {
  /** Fires with the evaluation's, when the tool's own time is up, and when the call is over. Made when asked for. */
  signal(): AbortSignal;
  /** The result of a tool that took too long. */
  readonly message: string;
  /** The tool's own time has passed. */
  isUp(): boolean;
  within<T>(work: Promise<T>): Promise<T | "timeout">;
  /** Leaves no timer and no listener behind. */
  end(): void;
}

export function startCallTime(run: Run, call: ToolCall, { name, timeoutMs }: Tool): CallTime {
  const own = new UnlimitedTime(run, call);
  if (timeoutMs === undefined) return own;
  const message = `${name} took longer than ${timeoutMs} ms and was stopped.`;
  const done = new AbortController();
  let isUp = false;
  const timeout = run.world.clock.sleep(timeoutMs, done.signal).then(
    () => {
      isUp = true;
      own.abort(new DOMException(message, "TimeoutError"));
      return "timeout" as const;
    },
    // The work ended in time: the result of the race is not used any more.
    () => "timeout" as const,
  );
  return {
    signal: () => own.signal(),
    message,
    isUp: () => isUp,
    within: (work) => Promise.race([work, timeout]),
    end() {
      own.end();
      done.abort(over);
    },
  };
}

/**
 * The time of a call whose tool sets no limit of its own. A class: closures would cost each call six times as much
 * memory.
 */
class UnlimitedTime implements CallTime {
  readonly message = "";
  private readonly run: Run;
  private readonly call: ToolCall;
  private controller: AbortController | undefined;
  private stopListening: (() => void) | undefined;
  /** Why it fires, once it has or will have. */
  private fired: { readonly reason: unknown } | undefined;
  private ended = false;

  constructor(run: Run, call: ToolCall) {
    this.run = run;
    this.call = call;
  }
  signal(): AbortSignal {
    if (this.controller !== undefined) return this.controller.signal;
    const controller = new AbortController();
    this.controller = controller;
    if (this.fired === undefined && this.ended) this.abort(this.over());
    else if (this.fired !== undefined) controller.abort(this.fired.reason);
    else this.stopListening = onAbort(this.run.limits.signal, (reason) => this.abort(reason));
    return controller.signal;
  }
  isUp(): boolean {
    return false;
  }
  within<T>(work: Promise<T>): Promise<T> {
    return work;
  }
  abort(reason: unknown): void {
    this.fired ??= { reason };
    this.controller?.abort(this.fired.reason);
  }
  end(): void {
    this.ended = true;
    this.stopListening?.();
    if (this.controller?.signal.aborted === false) this.abort(this.over());
  }
  private over(): RevokedError {
    return new RevokedError(`The call of ${this.call.name} (${this.call.id}) is over.`);
  }
}

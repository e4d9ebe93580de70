import { RevokedError, type Tool, type ToolCall } from "@proviso/core";
import { setAlarm } from "@proviso/core/internal";
import { onAbort } from "../abort.ts";
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
  /** Does work that has a limit of its own; the tool's time begins anew after it. */
  outside<T>(work: () => Promise<T>): Promise<T>;
  /** Leaves no timer and no listener behind. */
  end(): void;
}

export function startCallTime(run: Run, call: ToolCall, tool: Tool): CallTime {
  return tool.timeoutMs === undefined ? new UnlimitedTime(run, call) : new LimitedTime(run, call, tool, tool.timeoutMs);
}

/**
 * The time of a call whose tool sets no limit of its own. A class: closures would cost each call six times as much
 * memory.
 */
class UnlimitedTime implements CallTime {
  readonly message: string = "";
  protected readonly run: Run;
  private readonly call: ToolCall;
  private controller: AbortController | undefined;
  private stopListening: (() => void) | undefined;
  /** Why it fires, once it has or will have. */
  private fired: { readonly reason: unknown } | undefined;
  protected ended = false;

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
  within<T>(work: Promise<T>): Promise<T | "timeout"> {
    return work;
  }
  outside<T>(work: () => Promise<T>): Promise<T> {
    return work();
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

/** The time of a call whose tool sets a limit, in milliseconds. */
class LimitedTime extends UnlimitedTime {
  override readonly message: string;
  private readonly limitMs: number;
  private readonly expired = Promise.withResolvers<"timeout">();
  private stopAlarm: () => void;
  /** When the tool's time began last; undefined: it is not looked at. While the work of `outside` runs nothing asks for it. */
  private begunAt: number | undefined;
  private up = false;

  constructor(run: Run, call: ToolCall, { name }: Tool, limitMs: number) {
    super(run, call);
    this.message = `${name} took longer than ${limitMs} ms and was stopped.`;
    this.limitMs = limitMs;
    this.stopAlarm = this.begin();
  }
  override isUp(): boolean {
    // The alarm rings late where the event loop is busy.
    return this.up || (this.begunAt !== undefined && this.run.world.clock.now() - this.begunAt > this.limitMs);
  }
  override within<T>(work: Promise<T>): Promise<T | "timeout"> {
    return Promise.race([work, this.expired.promise]);
  }
  override async outside<T>(work: () => Promise<T>): Promise<T> {
    this.stopAlarm();
    try {
      return await work();
    } finally {
      if (!this.ended) this.stopAlarm = this.begin();
    }
  }
  override end(): void {
    super.end();
    this.stopAlarm();
  }
  private begin(): () => void {
    const { tape, world } = this.run;
    if (tape?.isRerun !== true) this.begunAt = world.clock.now();
    return setAlarm(world.clock, this.limitMs, () => {
      this.up = true;
      this.abort(new DOMException(this.message, "TimeoutError"));
      this.expired.resolve("timeout");
    });
  }
}

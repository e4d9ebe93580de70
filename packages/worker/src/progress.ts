// What a run has done so far, from the events of its session.
import { systemClock, type Clock, type FrameworkEvent, type Session, type Usage } from "@proviso/core";
import { addUsage, CallEnds, noUsage, setAlarm, SpentByRun } from "@proviso/core/internal";
import type { RunState, RunSummary } from "@proviso/journal";

/** How far a run is. */
export interface RunProgress {
  /** The id of the run. */
  readonly id: string;
  /** The number of its attempt, from 1. */
  readonly attempt: number;
  /** The turn of the attempt, from 1; 0 before the first answer. */
  readonly turn: number;
  /** Answers of the model and tool calls so far, those of earlier attempts that stand included. */
  readonly steps: number;
  /** The tool that was called last; undefined: none was. */
  readonly tool: string | undefined;
  /** What it has spent so far, evaluations inside calls and earlier attempts included. */
  readonly usage: Usage;
  /** How far it is. */
  readonly state: RunState;
}

/** Counts the events of an attempt, and reports at most twice a second. */
export class ProgressCount {
  readonly #report: (progress: RunProgress) => void;
  readonly #clock: Clock;
  readonly #stop: () => void;
  #progress: RunProgress;
  #stopTimer: (() => void) | undefined;
  #lastAt = -Infinity;

  constructor(
    id: string,
    known: RunSummary | undefined,
    session: Session,
    report: (progress: RunProgress) => void,
    clock: Clock = systemClock,
  ) {
    this.#report = report;
    this.#clock = clock;
    const attempt = (known?.attempts ?? 0) + 1;
    const spentBefore = known?.usage ?? noUsage;
    const spent = new SpentByRun();
    const callEnds = new CallEnds();
    const spend = (event: FrameworkEvent, change: Partial<RunProgress> = {}): void => {
      // The end of an evaluation that was begun by an earlier attempt says what both have spent: `end` gets that sum.
      if (known !== undefined && event.type !== "provider.responded" && event.parent === undefined) return;
      if (!spent.add(event)) return;
      this.#set({ ...change, usage: addUsage(spentBefore, spent.total()) });
    };
    this.#progress = {
      id,
      attempt,
      turn: 0,
      steps: 0,
      tool: undefined,
      usage: spentBefore,
      state: "open",
    };
    const stops = [
      session.on("run.resumed", ({ attempt: number, keptSteps }) => this.#set({ attempt: number, steps: keptSteps })),
      session.on("provider.responded", (event) => {
        // A request of an evaluation inside a call spends, and is no step of the run.
        const { turn, steps } = this.#progress;
        spend(event, event.parent === undefined ? { turn: turn + 1, steps: steps + 1 } : {});
      }),
      session.on("prompt.executed", (event) => spend(event)),
      session.on("prompt.failed", (event) => spend(event)),
      session.on("tool.requested", (event) => void callEnds.isFirst(event)),
      session.on("tool.invoked", (event) => {
        const isStep = callEnds.isFirst(event) && event.parent === undefined;
        if (isStep) this.#set({ steps: this.#progress.steps + 1, tool: event.name });
      }),
    ];
    this.#stop = () => stops.forEach((stop) => stop());
  }

  /** The attempt is over: this is always reported, with what the record says that was spent, where that is known. */
  end(state: RunState, usage = this.#progress.usage): void {
    this.#stop();
    this.#stopTimer?.();
    this.#stopTimer = undefined;
    this.#progress = { ...this.#progress, state, usage };
    this.#report(this.#progress);
  }

  #set(change: Partial<RunProgress>): void {
    this.#progress = { ...this.#progress, ...change };
    if (this.#stopTimer !== undefined) return;
    const waitMs = Math.max(0, this.#lastAt + progressMs - this.#clock.now());
    this.#stopTimer = setAlarm(this.#clock, waitMs, () => {
      this.#stopTimer = undefined;
      this.#lastAt = this.#clock.now();
      this.#report(this.#progress);
    });
  }
}

/** Milliseconds between two reports of one run. */
const progressMs = 500;

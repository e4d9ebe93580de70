// What a run has done so far, from the events of its session.
import { systemClock, type Clock, type FrameworkEvent, type Session, type Usage } from "@proviso/core";
import { CallEnds, noUsage, setAlarm, SpentByRun } from "@proviso/core/internal";
import type { Journal, JournalEntry, RunState, RunSummary } from "@proviso/journal";
import { cutAfterLastStep } from "@proviso/runtime/recording";

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

/** What the journal knows of a run before an attempt. */
interface EarlierAttempts {
  readonly summary: RunSummary;
  /** The entries that the attempt goes on from. */
  readonly kept: readonly JournalEntry[];
}

/** Reads what an attempt goes on from. */
export async function earlierAttempts(summary: RunSummary, journal: Journal): Promise<EarlierAttempts> {
  const standing: JournalEntry[] = [];
  for await (const entry of journal.entries(summary.id)) if (entry.isVoid !== true) standing.push(entry);
  return { summary, kept: cutAfterLastStep(standing).entries };
}

/** Counts the events of an attempt as its journal does, and reports at most twice a second. */
export class ProgressCount {
  readonly #report: (progress: RunProgress) => void;
  readonly #clock: Clock;
  readonly #stopListening: () => void;
  #progress: RunProgress;
  /** Whether a request of the run itself waits for its answer. */
  #isAsked = false;
  #stopTimer: (() => void) | undefined;
  #lastAt = -Infinity;

  constructor(
    id: string,
    earlier: EarlierAttempts | undefined,
    session: Session,
    report: (progress: RunProgress) => void,
    clock: Clock = systemClock,
  ) {
    this.#report = report;
    this.#clock = clock;
    const known = earlier?.summary;
    const spent = new SpentByRun();
    for (const entry of earlier?.kept ?? []) if (entry.kind === "event") spent.add(entry.event, entry.evaluationId);
    const callEnds = new CallEnds();
    const spend = (event: FrameworkEvent, change: Partial<RunProgress> = {}): void => {
      if (spent.add(event)) this.#set({ ...change, usage: spent.total() });
    };
    this.#progress = {
      id,
      attempt: (known?.attempts ?? 0) + 1,
      turn: 0,
      steps: known?.steps ?? 0,
      tool: undefined,
      usage: known?.usage ?? noUsage,
      state: "open",
    };
    const stops = [
      session.on("run.resumed", (event) => {
        const { attempt, keptSteps } = event;
        spent.add(event);
        this.#set({ attempt, steps: keptSteps, usage: spent.total() });
      }),
      session.on("provider.requested", ({ parent }) => {
        if (parent === undefined) this.#isAsked = true;
      }),
      session.on("provider.responded", (event) => {
        // A request of an evaluation inside a call spends, and is no step of the run.
        spend(event, event.parent === undefined ? this.#answered() : {});
      }),
      session.on("prompt.executed", (event) => spend(event)),
      session.on("prompt.failed", (event) => spend(event)),
      session.on("tool.requested", (event) => void callEnds.isFirst(event)),
      session.on("tool.invoked", (event) => {
        if (!callEnds.isFirst(event) || event.parent !== undefined) return;
        // Calls before the answer are those of an agent: its whole turn is one step.
        this.#set({ steps: this.#progress.steps + (this.#isAsked ? 0 : 1), tool: event.name });
      }),
    ];
    this.#stopListening = () => stops.forEach((stop) => stop());
  }

  /** A kept answer is not announced again: each that is received is new. */
  #answered(): Partial<RunProgress> {
    const { turn, steps } = this.#progress;
    this.#isAsked = false;
    return { turn: turn + 1, steps: steps + 1 };
  }

  /** The attempt is over: this is always reported, with what the record says where it can be read. */
  end(state: RunState, recorded: Partial<Pick<RunProgress, "attempt" | "steps" | "usage">> = {}): void {
    this.stop();
    this.#progress = { ...this.#progress, ...recorded, state };
    this.#report(this.#progress);
  }

  /** Counts and reports no more. */
  stop(): void {
    this.#stopListening();
    this.#stopTimer?.();
    this.#stopTimer = undefined;
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

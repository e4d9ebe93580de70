import type {
  AssistantMessage,
  BudgetTracker,
  Deadline,
  FrameworkEvent,
  Message,
  PromptRendered,
  ThrottlePolicy,
} from "@proviso/core";
import type { CallName } from "./names.ts";

/** What the model did with a request, as far as the evaluation's end follows from it. */
export type Intent =
  | { readonly kind: "hang" | "throttle" | "calls" }
  | { readonly kind: "refused"; readonly reason: string }
  | { readonly kind: "final"; readonly text: string; readonly value: unknown; readonly fits: boolean };

/** The limits that hold for an evaluation, those around it included. */
export interface Bounds {
  readonly deadlines: readonly Deadline[];
  readonly trackers: readonly BudgetTracker[];
  /** A budget that nobody here can look into. */
  readonly hasHiddenBudget: boolean;
  readonly maxTurns: number;
  /** When it was aborted, in epoch milliseconds. */
  abortedAt(): number | undefined;
  /** The handler in which it runs is done, and it will be aborted at any moment. */
  mayBeAborted(): boolean;
  abort(): void;
}

/** What its adapter and options say of an evaluation that has not rendered yet. */
export interface Settings extends Bounds {
  /** The adapter's. */
  readonly name: string;
  readonly throttle: ThrottlePolicy;
  /** The shares of waits, drawn since it was asked last. */
  drawn(): readonly number[];
  readonly hasOutput: boolean;
  readonly maxRepairs: number;
  readonly given: readonly Message[];
}

/** One evaluation, as it is heard and asked. */
export interface Watched extends Settings {
  readonly id: string;
  readonly isNested: boolean;
  /** The evaluation around it. */
  readonly around: Watched | undefined;
  /** A rollback or a commit failed, in it or in an evaluation inside it. */
  isTorn: boolean;
  /** Which of its limits is passed. */
  passed(): string | undefined;
  intent: Intent | undefined;
  /** The answers that the model gave, as they were. */
  readonly said: AssistantMessage[];
  history: readonly Message[];
  turn: number;
  misfits: number;
  /** Tokens of all its requests, where all of them were reported. */
  reported: number | undefined;
  readonly waits: { total: number; until: number | undefined };
  throttled: FrameworkEvent | undefined;
  readonly events: FrameworkEvent[];
  hasEnded: boolean;
}

export type Registry = ReturnType<typeof createRegistry>;

export function createRegistry() {
  const outer = new Map<string, Settings>();
  const inner = new Map<string, Settings[]>();
  const byId = new Map<string, Watched>();
  let requesting: Watched | undefined;
  return {
    /** Before an evaluation of its own begins. */
    announce: (settings: Settings): void => void outer.set(settings.name, settings),
    /** Before one inside a call begins. */
    announceInside(call: CallName, settings: Settings): void {
      const key = `${call.evaluationId} ${call.callId}`;
      inner.set(key, [...(inner.get(key) ?? []), settings]);
    },
    rendered(event: PromptRendered): Watched | undefined {
      const { parent, adapter, evaluationId } = event;
      const settings =
        parent === undefined ? outer.get(adapter) : inner.get(`${parent.evaluationId} ${parent.callId}`)?.shift();
      if (settings === undefined) return undefined;
      const watched: Watched = {
        ...settings,
        id: evaluationId,
        isNested: parent !== undefined,
        around: parent && byId.get(parent.evaluationId),
        isTorn: false,
        passed() {
          if (settings.abortedAt() !== undefined) return "its abort";
          const leftMs = Math.min(Infinity, ...settings.deadlines.map((deadline) => deadline.remainingMs()));
          return leftMs <= 0 ? "its deadline" : undefined;
        },
        intent: undefined,
        said: [],
        history: [],
        turn: 0,
        misfits: 0,
        reported: 0,
        waits: { total: 0, until: undefined },
        throttled: undefined,
        events: [],
        hasEnded: false,
      };
      byId.set(evaluationId, watched);
      return watched;
    },
    of: (evaluationId: string): Watched | undefined => byId.get(evaluationId),
    all: (): readonly Watched[] => [...byId.values()],
    /** Told right before the model is asked. */
    asks: (watched: Watched): void => void (requesting = watched),
    requesting: (): Watched | undefined => requesting,
  };
}

import type {
  AppEvent,
  Divergence,
  EvaluateOptions,
  FrameworkEvent,
  Message,
  ModelFailure,
  ModelResponse,
  PromptOverride,
} from "@proviso/core";

/** The framework's events that a record holds: those of a stream are derived from its deltas. */
export type RecordedEvent = Exclude<
  FrameworkEvent,
  { readonly type: "text.delta" | "text.reset" | "output.delta" | "reasoning.delta" }
>;

/** The options of an evaluation that its loop depends on. */
export type RecordedOptions = Pick<EvaluateOptions, "maxTurns" | "maxRepairs" | "toolChoice">;

/** What every entry has. */
export interface EntryBase {
  /** The place of the entry in the run, from 0. */
  readonly index: number;
  /** The number of the attempt that made it, from 1. */
  readonly attempt: number;
  /** Epoch milliseconds. */
  readonly at: number;
  /** The evaluation that it belongs to: the run's own, or one inside it. */
  readonly evaluationId: string;
  /** Whether a later attempt did not go on from it. */
  readonly isVoid: boolean;
}

/** What an entry holds beside that. Kinds may be added: pass over what you do not know. */
export type EntryContent =
  | {
      readonly kind: "begun";
      /** `namespace/key` of the prompt. */
      readonly prompt: string;
      /** The params that it was bound with, as JSON. */
      readonly params: unknown;
      /** The name of the adapter. */
      readonly adapter: string;
      /** The model. */
      readonly model: string;
      /** Whether the model is given the schema of the output. */
      readonly nativeOutput: boolean;
      /** The session as it was. `state`: the slices of its JSON. */
      readonly session: { readonly id: string; readonly seq: number; readonly state: unknown };
      /** The options that its loop depends on. */
      readonly options: RecordedOptions;
      /** The history that it went on with; left out: none. */
      readonly history?: { readonly messages: readonly Message[]; readonly question?: number | undefined } | undefined;
      /** The override that was found; left out: none was asked for, or there was none. */
      readonly override?: PromptOverride | undefined;
    }
  | {
      readonly kind: "resumed";
      /** How many entries of earlier attempts stand. */
      readonly kept: number;
    }
  | {
      readonly kind: "event";
      /** The event as it was emitted. */
      readonly event: RecordedEvent;
    }
  | {
      readonly kind: "dispatched";
      /** The event as it was dispatched, without secrets. */
      readonly event: AppEvent;
      /** The call that dispatched it; undefined: the application did, beside the run's calls. */
      readonly callId: string | undefined;
    }
  | {
      readonly kind: "asked";
      /** The turn, from 1. */
      readonly turn: number;
      /** The attempt of the turn, from 1. */
      readonly try: number;
      /** How many messages of the request before it begins with. */
      readonly same: number;
      /** A hash of each other message, then of the tools, the choice and the output where they are others. */
      readonly hashes: readonly string[];
    }
  | {
      readonly kind: "delta";
      /** The turn, from 1. */
      readonly turn: number;
      /** The attempt of the turn, from 1. */
      readonly try: number;
      /** What was added. */
      readonly text: string;
      /** The kind of the delta. Default: text of the answer. */
      readonly of?: "reasoning" | "reset";
    }
  | {
      readonly kind: "answered";
      /** The turn, from 1. */
      readonly turn: number;
      /** The attempt of the turn, from 1. */
      readonly try: number;
      /** The answer, or why there was none. */
      readonly answer: ModelResponse | ModelFailure;
      /** Whether some of its text was hidden. Default false. */
      readonly isRedacted?: true;
    }
  | {
      readonly kind: "waited";
      /** What came of the wait; left out: nothing. */
      readonly value?: unknown;
    }
  | {
      readonly kind: "drew";
      /** An id, a random number, or a price. */
      readonly value?: unknown;
    }
  | {
      readonly kind: "started";
      /** The turn, from 1. */
      readonly turn: number;
      /** The call whose handler began. */
      readonly callId: string;
      /** The key of the call. */
      readonly idempotencyKey: string;
    }
  | {
      readonly kind: "finished";
      /** The turn, from 1. */
      readonly turn: number;
      /** The call whose handler ended, and whose changes are about to be committed. */
      readonly callId: string;
      /** The key of the call. */
      readonly idempotencyKey: string;
    }
  | {
      readonly kind: "changed";
      /** The turn, from 1. */
      readonly turn: number;
      /** The call that changed it. */
      readonly callId: string;
      /** The name of the resource's key. */
      readonly resource: string;
      /** What its `changes` returned; left out: the resource cannot say. */
      readonly changes?: unknown;
    }
  | {
      readonly kind: "committed";
      /** The turn, from 1. */
      readonly turn: number;
      /** The calls that count from here on. */
      readonly callIds: readonly string[];
    }
  | {
      readonly kind: "checked";
      /** What the checker found missing; undefined: nothing. */
      readonly missing: string | undefined;
    }
  | {
      readonly kind: "stopped";
      /** The question of the loop that met the limit. */
      readonly by: string;
      /** The limit, as plain JSON. */
      readonly failure: unknown;
    }
  | {
      readonly kind: "cancelled";
      /** Why it was cancelled; undefined: no reason was given. */
      readonly reason: string | undefined;
    }
  | {
      readonly kind: "ended";
      /** How the evaluation ended. */
      readonly outcome: "executed" | "failed";
      /** Whether its run goes on when it is evaluated again. Default false. */
      readonly goesOn?: boolean;
    };

/** One thing that came from outside, or was emitted. */
export type JournalEntry = EntryBase & EntryContent;

/** The entries of one kind. */
export type EntryOf<Kind extends EntryContent["kind"]> = EntryBase & Extract<EntryContent, { readonly kind: Kind }>;

/** What the runtime needs of a journal for one run: a list that only grows. */
export interface RunSource {
  /** The id of the run. */
  readonly id: string;
  /** "run" begins or continues, "replay" only reads, "fork" begins with entries of another run. */
  readonly mode: "run" | "replay" | "fork";
  /** Whether providers' raw payloads are kept too. Default false. */
  readonly payloads?: boolean | undefined;
  /**
   * Returns what stands, and the number of the attempt that goes on from it; of a run that is continued, after it was
   * appended that it is.
   * @throws {JournalError}
   */
  open(): Promise<OpenedSource>;
  /** Takes the entry over; it never waits and never throws. */
  append(entry: JournalEntry): void;
  /**
   * Resolves when all that was appended would survive; undefined: it does already. Rejects with a JournalError, and from
   * then on always.
   */
  flush(): Promise<void> | undefined;
  /** Fires when the run was cancelled, or taken over. */
  readonly signal: AbortSignal;
  /** Ends the use of the run, so that another evaluation can have it. */
  close(): Promise<void>;
}

/** What a source holds when it is opened. */
export interface OpenedSource {
  /** The entries that stand, in order. */
  readonly entries: readonly JournalEntry[];
  /** The number of the attempt, from 1. */
  readonly attempt: number;
  /** The highest `seq` that was ever kept; -1: none. */
  readonly lastSeq: number;
  /** The index of the next entry. */
  readonly next: number;
  /** Whether the run has an end that is given again: nothing is appended then. */
  readonly isEnded: boolean;
  /** Calls that had begun, and whose end was not kept. */
  readonly unknown: readonly UnknownCall[];
}

/** A call that may have been done. */
export interface UnknownCall {
  /** The turn, from 1. */
  readonly turn: number;
  /** The id of the call. */
  readonly callId: string;
  /** The name of the tool. */
  readonly name: string;
  /** Whether its handler had ended: what it changed in a resource that outlives the process may have been committed. */
  readonly isFinished: boolean;
}

/** A difference, as a tape finds it. */
export type Difference = Omit<Divergence, "step" | "evaluationId">;

import type {
  AppEvent,
  Divergence,
  EvaluateOptions,
  FrameworkEvent,
  Message,
  ModelFailure,
  ModelResponse,
  Pending,
  PolicyDecision,
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
      readonly model: string;
      /** Whether the model is given the schema of the output. */
      readonly nativeOutput: boolean;
      /** The session as it was. `state`: the slices of its JSON. */
      readonly session: { readonly id: string; readonly seq: number; readonly state: unknown };
      /** Options that the evaluation had: what its loop depends on. */
      readonly options: RecordedOptions;
      /** The history that it went on with; left out: none. */
      readonly history?: { readonly messages: readonly Message[]; readonly question?: number | undefined } | undefined;
      /** The override that was found; left out: none was asked for, or there was none. */
      readonly override?: PromptOverride | undefined;
    }
  | { readonly kind: "resumed"; /** How many entries of earlier attempts stand. */ readonly kept: number }
  | { readonly kind: "event"; readonly event: RecordedEvent }
  | {
      readonly kind: "dispatched";
      readonly event: AppEvent;
      /** undefined: the application dispatched it, beside the run's calls. */
      readonly callId: string | undefined;
    }
  | {
      readonly kind: "asked";
      readonly turn: number;
      readonly try: number;
      /** How many messages of the request before it begins with. */
      readonly same: number;
      /** A hash of each other message, then of the tools, the choice and the output. */
      readonly hashes: readonly string[];
    }
  | {
      readonly kind: "delta";
      readonly turn: number;
      readonly try: number;
      readonly text: string;
      /** The kind of the delta. Default: text of the answer. */ readonly of?: "reasoning" | "reset";
    }
  | {
      readonly kind: "answered";
      readonly turn: number;
      readonly try: number;
      readonly answer: Omit<ModelResponse, "payload"> | Omit<ModelFailure, "payload">;
      /** Whether some of its text was hidden. Default false. */
      readonly isRedacted?: true;
    }
  | { readonly kind: "waited"; readonly value?: unknown }
  | { readonly kind: "drew"; readonly value?: unknown }
  | {
      readonly kind: "decided";
      readonly turn: number;
      readonly callId: string;
      readonly policy: string;
      readonly decision: PolicyDecision;
    }
  | { readonly kind: "started"; readonly turn: number; readonly callId: string; readonly idempotencyKey: string }
  | { readonly kind: "finished"; readonly turn: number; readonly callId: string; readonly idempotencyKey: string }
  | {
      readonly kind: "changed";
      readonly turn: number;
      readonly callId: string;
      readonly resource: string;
      /** What the resource made of it; left out: the resource cannot say. */
      readonly changes?: unknown;
    }
  | { readonly kind: "committed"; readonly turn: number; readonly callIds: readonly string[] }
  | { readonly kind: "checked"; readonly missing: string | undefined }
  | { readonly kind: "stopped"; readonly by: string; readonly failure: unknown }
  | { readonly kind: "suspended"; readonly pending: Omit<Pending, "token"> }
  | { readonly kind: "resolved"; readonly decision: unknown }
  | { readonly kind: "cancelled"; readonly reason: string | undefined }
  | {
      readonly kind: "ended";
      readonly outcome: "executed" | "failed";
      /** Whether its run goes on when it is evaluated again. */ readonly goesOn?: boolean;
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
  readonly turn: number;
  readonly callId: string;
  readonly name: string;
  /** Whether its handler had ended: what it changed in a resource that outlives the process may have been committed. */
  readonly isFinished: boolean;
}

/** A difference, as a tape finds it. */
export type Difference = Omit<Divergence, "step" | "evaluationId">;

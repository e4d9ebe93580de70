import type {
  EvaluationFailure,
  JournalRun,
  Pending,
  PolicyDecision,
  Session,
  Slice,
  ToolResult,
  ToolReturn,
  Usage,
} from "@proviso/core";
import type { JournalEntry } from "@proviso/runtime/recording";

/** Runs that are kept. A run is a list of entries that only grows. */
export interface Journal extends AsyncDisposable {
  /**
   * Returns the run of that id, for the option `run` of `evaluate`: it is begun, continued, or answered again. Left out: an
   * id is made up. Nothing is touched until it is evaluated.
   * @throws {DefinitionError} for what is no id: 1 to 200 characters, no control characters.
   */
  run(id?: string, options?: RunOptions): JournalRun;
  /**
   * Returns the recorded run for an evaluation that checks it: no request is sent, nothing is written, no handler runs unless
   * `tools` says so, and the first difference is a RunError "diverged".
   */
  replay(id: string, options?: ReplayOptions): JournalRun;
  /** Returns a new run that begins with steps of a recorded one, session state included. */
  fork(id: string, options: ForkOptions): JournalRun;
  /** undefined: there is none. @throws {JournalError} "damaged", "newer". */
  describe(id: string): Promise<RunDescription | undefined>;
  /** Lists runs, those changed last first. @throws {DefinitionError} for a filter that cannot be. */
  list(filter?: RunFilter): AsyncIterable<RunSummary>;
  /**
   * Returns what was kept, in order and each entry once; with `follow` also what is kept from now on, until the run ends.
   * @throws {JournalError} "damaged", "newer"; "not_found" where the run is removed while it is followed.
   */
  entries(
    id: string,
    options?: {
      /** The index of the last entry that is known. Default: none is. */
      readonly after?: number | undefined;
      /** Whether entries that are kept later come too. Default false. */
      readonly follow?: boolean | undefined;
      /** Ends the iteration. */
      readonly signal?: AbortSignal | undefined;
    },
  ): AsyncIterable<JournalEntry>;
  /**
   * Returns the session as it was at a run's end, or after a step.
   * @throws {JournalError} "not_found"; {DefinitionError} for slices that do not fit.
   */
  session(
    id: string,
    options: { readonly slices: readonly Slice[]; readonly at?: number | undefined },
  ): Promise<Session>;
  /**
   * Decides what a suspended run waits for: `allow`, with another input if need be, `deny`, or the result that the call
   * came to elsewhere. The run goes on when it is evaluated again.
   * @throws {JournalError} "token" for one that is unknown, used or expired; "busy" where the run is being evaluated.
   * {DefinitionError} for what is no decision.
   */
  resolve(token: string, decision: PolicyDecision | { readonly result: ToolReturn<unknown> }): Promise<RunSummary>;
  /**
   * Ends a run for good, also one that another process works on: nothing of it begins any more, and it rejects with an
   * AbortedError; one that a limit ended does not go on. false: it had ended with an answer or for good.
   */
  cancel(id: string, reason?: string): Promise<boolean>;
  /**
   * Copies a run under the same id, as a whole or not at all.
   * @throws {JournalError} "exists", "not_found". {DefinitionError} for a run that shows a secret of the other journal.
   */
  copy(id: string, to: Journal): Promise<void>;
  /** Removes a run, also one that has not ended; its session and effects stay. */
  remove(id: string): Promise<void>;
  /**
   * Removes runs that ended before, and of the others the oldest beyond `keep`; those that are open or suspended, or go on
   * meanwhile, stay. Returns how many went.
   * @throws {DefinitionError} for neither of both, a `keep` that is no whole number from 0, and a Date that is none.
   */
  prune(options: { readonly endedBefore?: Date | undefined; readonly keep?: number | undefined }): Promise<number>;
  /** Waits for what is being written, and ends the use of the journal. */
  close(): Promise<void>;
}

/** How a run is begun or continued. */
export interface RunOptions {
  /**
   * What to do where the prompt's text, its tools or other things that are asked for have changed since the run was recorded.
   * "refuse": the evaluation rejects with a RunError "diverged" before anything is sent. "adopt": the recorded steps stand,
   * and what comes after them is today's; a prompt of another name is refused all the same. Default "refuse".
   */
  readonly onChange?: "refuse" | "adopt" | undefined;
  /**
   * Continues although it is not known whether the process that began the run lives: it was on another machine, in
   * another container, or in another worker of this process. "alive": also where it lives, because something else says that
   * it has lost the run, a lease for example; its next entry is refused. Default false.
   */
  readonly takeOver?: boolean | "alive" | undefined;
  /**
   * Asked when an attempt ends with what may pass: a limit, an abort, a throttled request, a process that failed. Where it
   * returns true, the run is "open" and not "failed", because something evaluates it again by itself, a queue for example:
   * `prune` and the retention keep it. It must not throw. Left out: the run has failed.
   */
  readonly staysOpen?: ((error: EvaluationFailure) => boolean) | undefined;
}

/** How a run is replayed. */
export interface ReplayOptions {
  /**
   * "recorded": calls are answered from the record, and no handler or policy runs. "run": they run again, over a session and
   * resources of their own, and have to come to what the record has; evaluations inside them are answered from the record, and
   * so are calls whose arguments were hidden, and an agent's. Default "recorded".
   */
  readonly tools?: "recorded" | "run" | undefined;
}

/** What a fork begins with. */
export interface ForkOptions {
  /**
   * How many steps, answers of the model and tool calls, are kept; 0: only the beginning. A step that is not there, or is
   * still open, is a JournalError "not_found" when it is evaluated.
   */
  readonly at: number;
  /** The result in place of what step `at`, a tool call, came to. Left out: the recorded one. */
  readonly result?: ToolReturn<unknown> | undefined;
  /**
   * The id of the new run. A fork of that id, origin, step and result that was begun before goes on; any other run of that id is a
   * JournalError "exists" when it is evaluated. Default: one is made up.
   */
  readonly id?: string | undefined;
}

/** Says which runs `list` returns; each field that is given has to fit. */
export interface RunFilter {
  /** The states that are wanted. Default: all. */
  readonly state?: RunState | readonly RunState[] | undefined;
  /** `namespace/key` of the prompt. */
  readonly prompt?: string | undefined;
  /** Runs that have changed at that moment or later. */
  readonly since?: Date | undefined;
  /** What their ids begin with. */
  readonly prefix?: string | undefined;
}

/**
 * open: begun, and nothing has ended it; its process may live or be gone. failed: where a limit ended it, or a failure that
 * may pass, it goes on when it is evaluated again.
 */
export type RunState = "open" | "suspended" | "executed" | "failed" | "cancelled";

/** What a list shows of a run. */
export interface RunSummary {
  /** The id of the run. */
  readonly id: string;
  /** `namespace/key` of the prompt. */
  readonly prompt: string;
  /** The model that it began with. */
  readonly model: string;
  /** How far it is. */
  readonly state: RunState;
  /** How often it was begun or continued. */
  readonly attempts: number;
  /** Answers of the model and tool calls that stand. */
  readonly steps: number;
  /** When it began. */
  readonly startedAt: Date;
  /** The time of the last entry. */
  readonly updatedAt: Date;
  /** What it spent, evaluations inside its calls included. `usage` of a response is that of one evaluation alone. */
  readonly usage: Usage;
  /** What a suspended run waits for. Its token is empty: only the error of `evaluate` has it. */
  readonly pending: Pending | undefined;
  /** The run and step that it was forked from. */
  readonly forkOf: { readonly id: string; readonly at: number } | undefined;
}

/** A run with its steps. */
export interface RunDescription extends RunSummary {
  /** The params that the prompt was bound with, as JSON: where a fork was given others, or a run that was adopted, those. */
  readonly params: unknown;
  /** The steps, in order. */
  readonly timeline: readonly RunStep[];
  /** Bytes at its end that a crash left half written, and that were passed over. */
  readonly tornBytes: number;
}

/** A step of a run. */
export type RunStep = {
  /** The number of the step, from 1; the calls of an agent have that of its turn. */
  readonly step: number;
  /** The turn of its evaluation, from 1. */
  readonly turn: number;
  /** When it ended. */
  readonly at: Date;
} & (
  | {
      readonly kind: "answer";
      /** The model that answered, as the provider names it; empty: it does not. */
      readonly model: string;
      /** The text of the answer. */
      readonly text: string;
      /** The ids of the calls that the model asked for. */
      readonly calls: readonly string[];
      /** What the request spent. */
      readonly usage: Usage;
    }
  | {
      readonly kind: "call";
      /** The id of the call. */
      readonly callId: string;
      /** The name of the tool. */
      readonly name: string;
      /** The input of the handler; the arguments as a text where there is no end. */
      readonly input: unknown;
      /** undefined: it has no end in the record. */
      readonly result: ToolResult | undefined;
      /** What is known of its effect. */
      readonly effect: Effect;
      /** How many evaluations it had inside. */
      readonly nested: number;
    }
);

/**
 * not-started: no handler ran · committed: it is done · undone: it failed, and what could be undone was · unknown: it began,
 * and how it ended was not kept, also where a later attempt did not run it again.
 */
export type Effect = "not-started" | "committed" | "undone" | "unknown";

/** What a journal takes. */
export interface JournalOptions {
  /** Texts that no entry shows, beside the secrets of each adapter. @throws {DefinitionError} for an empty one. */
  readonly secrets?: readonly string[] | undefined;
  /** Milliseconds that entries may wait for others before they are written, where nothing waits for them. Default 5. */
  readonly flushMs?: number | undefined;
  /** Keeps providers' raw payloads too; a replayed response has none else. Default false. */
  readonly payloads?: boolean | undefined;
}

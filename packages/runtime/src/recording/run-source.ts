import type { Blobs, EvaluationFailure } from "@proviso/core";
import type { Secrets } from "../secrets.ts";
import type { EntryOf, JournalEntry, SuspendedCall } from "./entries.ts";
import type { KeptEntry } from "./kept-entry.ts";
import type { Together } from "./together.ts";
import type { Unanswered } from "./unanswered.ts";

/** What the runtime needs of a journal for one run: a list that only grows. */
export interface RunSource {
  /** The id of the run. */
  readonly id: string;
  /** "run" begins or continues, "replay" only reads, "fork" begins with entries of another run. */
  readonly mode: "run" | "replay" | "fork";
  /** Whether a replay runs handlers and policies again, which have to come to what the record has. Default false. */
  readonly runsTools?: boolean | undefined;
  /** Where the bytes of files are kept, where the evaluation has no Blobs. Left out: nowhere. */
  readonly blobs?: Blobs | undefined;
  /** Whether providers' raw payloads are kept too. Default false. */
  readonly payloads?: boolean | undefined;
  /** What the evaluation hides beside the secrets of its adapter. Left out: nothing. */
  readonly secrets?: Secrets | undefined;
  /**
   * Returns what stands, and the number of the attempt that goes on from it; of a run that is continued, after it was
   * appended that it is.
   * @throws {JournalError}
   */
  open(): Promise<OpenedSource>;
  /** Takes the entry over; it never waits and never throws. */
  append(entry: JournalEntry): void;
  /**
   * Like `append`, for a source that makes an entry whole when it is written (`journalEntry`), which may be never: entries
   * come in the order of their indices. Left out: `append` is called.
   */
  keep?(entry: KeptEntry): void;
  /**
   * Resolves when all that was appended would survive; undefined: it does already. Rejects with a JournalError, and from
   * then on always.
   */
  flush(): Promise<void> | undefined;
  /** Whether the run goes on where what is asked for is not what was recorded. Default false; a fork always does. */
  readonly adopts?: boolean | undefined;
  /** Whether a run that ended with what may pass stays open, because something evaluates it again by itself. Left out: false. */
  staysOpen?(error: EvaluationFailure): boolean;
  /** Whether a write has failed that nothing waited for: `flush` rejects. Left out: false. */
  readonly hasFailed?: boolean | undefined;
  /** The file of the run, where resources may be in it too. Left out: none can. */
  readonly together?: Together | undefined;
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
  /** The time of the newest entry that was ever kept, in epoch milliseconds: nothing is appended with an earlier one. 0: none. */
  readonly lastAt: number;
  /** The index of the next entry. */
  readonly next: number;
  /** Whether the run has an end that is given again: nothing is appended then. */
  readonly isEnded: boolean;
  /** Calls that had begun, and whose end was not kept, or that a limit stopped. */
  readonly unknown: readonly UnknownCall[];
  /** Answers that evaluations inside calls were given that are run again, by the key of their request. Left out: none. */
  readonly inside?: ReadonlyMap<string, EntryOf<"answered">> | undefined;
  /** What requests without an answer cost in earlier attempts. Left out: what the entries say themselves. */
  readonly unanswered?: Unanswered | undefined;
  /** Calls of an agent's turn that has no answer. Left out: none. */
  readonly lost?: readonly LostCall[] | undefined;
  /** Calls that wait for a decision, or whose decision is known. Left out: none. */
  readonly suspended?: readonly SuspendedCall[] | undefined;
}

/** A call of an agent's turn that does not stand: what it did may be there all the same. */
export interface LostCall {
  /** The turn, from 1. */
  readonly turn: number;
  /** The id of the call. */
  readonly callId: string;
  /** The name of the tool. */
  readonly name: string;
  /** Whether its handler had begun. */
  readonly isStarted: boolean;
  /** Whether it changed a resource that outlives the process, and that may have been committed. */
  readonly isFinished: boolean;
}

/** A call that may have been done: its end was not recorded, as its process had ended, say, or a limit stopped it. */
export interface UnknownCall {
  /** The turn, from 1. */
  readonly turn: number;
  /** The id of the call. */
  readonly callId: string;
  /** The name of the tool. */
  readonly name: string;
  /** Whether its handler had ended: what it changed in a resource that outlives the process may have been committed. */
  readonly isFinished: boolean;
  /** Whether a limit stopped it. */
  readonly isStopped: boolean;
}

import type { Usage } from "../limits/usage.ts";
import type { AppEvent } from "./event.ts";
import type { FrameworkEvent } from "./events.ts";
import type { TouchedResource } from "./observer.ts";
import type { Slice } from "./slice.ts";

/** Changes of a state, by RFC 6902, without `move`, `copy` and `test`. */
export type JsonPatch = readonly (
  | { readonly op: "add" | "replace"; readonly path: string; readonly value: unknown }
  | { readonly op: "remove"; readonly path: string }
)[];

/** Recorded runs, to look at. A run is an evaluation of its own with all evaluations inside it. */
export interface RunReader {
  /** Returns a page of runs, and the cursor of the next one; undefined: there are no more. */
  list(query?: RunQuery): Promise<{ readonly runs: readonly RunSummary[]; readonly cursor: string | undefined }>;
  /** undefined: there is none. */
  summary(runId: string): Promise<RunSummary | undefined>;
  /** Returns records by `n`, rising. A record that cannot be read comes as `kind: "unreadable"`. */
  records(runId: string, query?: RecordQuery): AsyncIterable<RunRecord>;
  /**
   * Returns what no other run that has or had this id began with; undefined: there is no such run. Forks share the ids and the
   * times of their first records, so those do not say which is which. Left out: no run is removed while it is looked at.
   */
  begunBy?(runId: string): Promise<string | undefined>;
  /**
   * Returns records after `after` as they are written, by whichever process; of all runs where none is named. It ends where
   * the named run is removed.
   */
  follow(query: {
    readonly runId?: string | undefined;
    readonly after: number;
    readonly signal: AbortSignal;
    /** The kinds that are wanted; a reader may return others, too. Default: all. */
    readonly kinds?: readonly RunRecord["kind"][] | undefined;
  }): AsyncIterable<RunRecord>;
}

/** The runs that a list has: each has to fit all that is set. */
export interface RunQuery {
  /** Part of the name of the prompt or a tool, of an id, of the error's message or the answer, in any case. */
  readonly text?: string | undefined;
  /** The status. Default: any. */
  readonly status?: RunSummary["status"] | undefined;
  /** `namespace/key` of the prompt. Default: any. */
  readonly promptName?: string | undefined;
  /** The model. Default: any. */
  readonly model?: string | undefined;
  /** The name of a tool that was called. Default: any. */
  readonly tool?: string | undefined;
  /** The id of the session. Default: any. */
  readonly sessionId?: string | undefined;
  /** Whether at least one call was undone. Default: either. */
  readonly undone?: boolean | undefined;
  /** Epoch milliseconds: the earliest start. Default: none. */
  readonly from?: number | undefined;
  /** Epoch milliseconds: the latest start. Default: none. */
  readonly to?: number | undefined;
  /** The order of the runs. Default "newest". */
  readonly order?: "newest" | "oldest" | "slowest" | "costliest" | undefined;
  /** The most runs of a page, up to 500. Default 50. */
  readonly limit?: number | undefined;
  /** The cursor of the page before. Default: the first page. */
  readonly cursor?: string | undefined;
}

/** The records of a run that are read. */
export interface RecordQuery {
  /** The `n` after which they begin; it is not included. Default: the beginning. */
  readonly after?: number | undefined;
  /** The `n` of the last one. Default: the end. */
  readonly until?: number | undefined;
  /** The kinds that are wanted. Default: all. */
  readonly kinds?: readonly RunRecord["kind"][] | undefined;
  /** The most records. Default: all. */
  readonly limit?: number | undefined;
  /** Whether the last one comes first. Default false. */
  readonly descending?: boolean | undefined;
}

/** What a list shows of a run. */
export interface RunSummary {
  /** The id of the run. */
  readonly runId: string;
  /** The id of the session. */
  readonly sessionId: string;
  /** `namespace/key` of the prompt. */
  readonly promptName: string;
  /** The name of the adapter. */
  readonly provider: string;
  /** The model that was asked. */
  readonly model: string;
  /** Epoch milliseconds. */
  readonly startedAt: number;
  /** Epoch milliseconds; undefined: it has no end. */
  readonly endedAt: number | undefined;
  /**
   * "suspended": it waits for a decision. "stopped": it has no end, and no process writes to it any more; or it was
   * cancelled.
   */
  readonly status: "running" | "executed" | "failed" | "suspended" | "stopped";
  /** Why a failed one failed. */
  readonly error?: { readonly code: string; readonly message: string } | undefined;
  /** Turns of the run's own evaluation. */
  readonly turns: number;
  /** Tool calls, those of nested evaluations included. */
  readonly toolCalls: number;
  /** Calls that ran and were undone. */
  readonly undone: number;
  /** Waits after refusals. */
  readonly waits: number;
  /** What was spent, nested evaluations included. */
  readonly usage: Usage;
  /** The run that this one repeats, and the step where it left it. */
  readonly origin?: { readonly runId: string; readonly at: number; readonly kind: "replay" | "fork" } | undefined;
}

/** A record of a run. */
export type RunRecord = {
  /** Grows with each record of its run, so it is a place to go on from. */
  readonly n: number;
  /** The id of the run. */
  readonly runId: string;
  /** Epoch milliseconds. */
  readonly at: number;
} & (
  | {
      readonly kind: "event";
      /** The event as it was emitted. */
      readonly event: FrameworkEvent;
    }
  | {
      readonly kind: "app";
      /** The event as it was dispatched. */
      readonly event: AppEvent;
      /** The call that dispatched it; undefined: the application did, beside the calls. */
      readonly callId: string | undefined;
    }
  | StateRecord
  | {
      readonly kind: "unreadable";
      /** Why the record cannot be read. */
      readonly problem: string;
    }
);

/** How the session's state moved since the state record before. */
export interface StateRecord {
  readonly kind: "state";
  /** The calls whose transaction ended; undefined: no call's did. */
  readonly call?:
    | { readonly evaluationId: string; readonly callIds: readonly string[]; readonly undone: boolean }
    | undefined;
  /** The slices that changed. */
  readonly slices: readonly SlicePatch[];
  /** What an undone call had done, from the state before it; left out: the record does not hold it. */
  readonly attempted?: readonly SlicePatch[] | undefined;
  /** The resources that the calls changed. */
  readonly touched?: readonly TouchedResource[] | undefined;
  /** All states after this record, by the name of the slice; left out: the patches say it. */
  readonly keyframe?: Readonly<Record<string, unknown>> | undefined;
}

/** How a slice's state changed. */
export interface SlicePatch {
  /** The name of the slice. */
  readonly name: string;
  /** Whether a rollback restores it. */
  readonly kind: Slice["kind"];
  /** What makes the new state of the old one. */
  readonly patch: JsonPatch;
}

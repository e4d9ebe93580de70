import type { Message } from "../provider/message.ts";
import type { AppEvent } from "./event.ts";
import type { FrameworkEvent } from "./events.ts";
import type { Slice } from "./slice.ts";

/**
 * Sees every evaluation of the adapters that it is given to, whatever their session, the nested ones too. Every member
 * may be left out. What one throws is logged as "observer.failed" and changes nothing.
 */
export interface Observer {
  /** Takes a framework event, after reducers and listeners have had it. */
  event?(event: FrameworkEvent): void;
  /** Takes an application's event, when listeners receive it: those of a call that was undone never come. */
  app?(event: AppEvent, of: { readonly sessionId: string; readonly evaluationId: string | undefined }): void;
  /**
   * Takes what a tool call did to session and resources, once for each transaction, while it still stands: just before
   * it is committed or undone.
   */
  changed?(changes: CallChanges): void;
  /**
   * Runs the work of a step in surroundings of its own, with a span active for example. It calls `work` once, before it
   * returns. The promise that `work` returns settles when the step is over, and does not hold its result. Nothing that
   * this member returns or throws can change what the step comes to.
   */
  around?<T>(step: Step, work: () => Promise<T>): Promise<T>;
}

/** What `around` is called for. */
export type Step =
  | {
      /** A whole evaluation, also one that could not begin. */
      readonly kind: "evaluation";
      /** The id of the evaluation. */
      readonly evaluationId: string;
      /** `namespace/key` of the prompt. */
      readonly promptName: string;
      /** The name of the provider. */
      readonly provider: string;
      /** The model that is asked. */
      readonly model: string;
      /** Whether it was begun by `stream`. */
      readonly streamed: boolean;
      /** The call that a nested evaluation runs in. */
      readonly parent?: { readonly evaluationId: string; readonly callId: string } | undefined;
    }
  | {
      /** One attempt of a request. */
      readonly kind: "request";
      /** The id of the evaluation. */
      readonly evaluationId: string;
      /** The turn's number, from 1. */
      readonly turn: number;
      /** The number of the attempt in this turn, from 1. */
      readonly attempt: number;
      /** Returns what is sent, without the secrets; it is made when it is called. */
      messages(): readonly Message[];
    }
  | {
      /** The policies of a call and its handler. */
      readonly kind: "tool";
      /** The id of the evaluation. */
      readonly evaluationId: string;
      /** The turn's number, from 1. */
      readonly turn: number;
      /** The id of the call. */
      readonly callId: string;
      /** The name of the tool. */
      readonly name: string;
    };

/** What the calls of one transaction did; it is to be read before `changed` returns. */
export interface CallChanges {
  /** The id of the session. */
  readonly sessionId: string;
  /** The id of the evaluation. */
  readonly evaluationId: string;
  /** The turn's number, from 1. */
  readonly turn: number;
  /** One call, or those that overlapped in the same transaction. */
  readonly callIds: readonly string[];
  /** true: it is undone next; false: it is committed next. */
  readonly undone: boolean;
  /** Returns all slices of the session as they are now, by reference. The state of a state slice is frozen. */
  slices(): readonly SliceValue[];
  /** Returns the resources that the calls asked for, in that order. */
  touched(): readonly TouchedResource[];
}

/** A slice and what it holds. */
export interface SliceValue {
  /** The name of the slice. */
  readonly name: string;
  /** Whether a rollback restores it. */
  readonly kind: Slice["kind"];
  /** The state, without secrets. */
  readonly state: unknown;
}

/** A resource that a call used. */
export interface TouchedResource {
  /** The name of its key. */
  readonly name: string;
  /** What became of it; left out where the resource does not know. */
  readonly changes?: readonly ResourceChange[] | undefined;
}

/** One thing in a resource that a call changed: a file, a table. */
export interface ResourceChange {
  /** The path in a filesystem, `table` or `table#rowid` in a database. */
  readonly path: string;
  /** What became of it. */
  readonly kind: "added" | "changed" | "removed";
  /** Bytes of the file, or rows of the table, before; left out where that is not known. */
  readonly before?: number | undefined;
  /** Bytes of the file, or rows of the table, after; left out where that is not known. */
  readonly after?: number | undefined;
}

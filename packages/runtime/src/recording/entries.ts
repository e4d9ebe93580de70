import type {
  AppEvent,
  FrameworkEvent,
  ModelFailure,
  ModelResponse,
  Pending,
  PromptOverride,
  ToolCall,
} from "@proviso/core";
import type { RecordedHistory, RecordedOptions } from "./recorded-history.ts";
import type { AskedOf, PolicyStep, Resolution } from "./recorded-decisions.ts";

export type { AskedOf, PolicyStep, Resolution } from "./recorded-decisions.ts";
export type { RecordedHistory, RecordedOptions } from "./recorded-history.ts";

/** The framework's events that a record holds: those of a stream are derived from its deltas. */
export type RecordedEvent = Exclude<FrameworkEvent, { readonly type: DerivedEvent }>;
type DerivedEvent = "text.delta" | "text.reset" | "output.delta" | "reasoning.delta";

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
      readonly history?: RecordedHistory | undefined;
      /** The override that was found; left out: none was asked for, or there was none. */
      readonly override?: PromptOverride | undefined;
    }
  | {
      readonly kind: "resumed";
      /** How many entries of earlier attempts stand. */
      readonly kept: number;
    }
  | {
      /** What is asked for is no longer what the entries before were made of: a replay does not compare them. */
      readonly kind: "adopted";
      /** The override that was found; left out: none was asked for, or there was none. */
      readonly override?: PromptOverride | undefined;
      /** The params that the prompt is bound with from here on, as JSON, in older records; left out: those of before. */
      readonly params?: unknown;
    }
  | {
      /** What it is given from here on: a replay goes through the whole record with what was given last. Left out: as before. */
      readonly kind: "given";
      /** The params that the prompt is bound with, as JSON. */
      readonly params?: unknown;
      /** The name of the adapter. */
      readonly adapter?: string | undefined;
      /** The model. */
      readonly model?: string | undefined;
      /** Whether the model is given the schema of the output. */
      readonly nativeOutput?: boolean | undefined;
      /** The options that its loop depends on. */
      readonly options?: RecordedOptions | undefined;
      /** The history that it goes on with, the prompt's question among it. */
      readonly history?: RecordedHistory | undefined;
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
      /** The `seq` of the framework's event before which it was reduced. Left out: that of the end of its call. */
      readonly before?: number | undefined;
      /** The order of this event among what others dispatched before that one. Default 0. */
      readonly order?: number | undefined;
      /** Whether a call inside of that one dispatched it. Default false. */
      readonly isInside?: true;
    }
  | {
      /** A call dispatched it and was undone: log slices alone have it. */
      readonly kind: "undone";
      /** The event as it was dispatched, without secrets. */
      readonly event: AppEvent;
      /** The `seq` of the framework's event before which it was reduced. */
      readonly before: number;
      /** The order of this event among what others dispatched before that one. Default 0. */
      readonly order?: number | undefined;
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
      /** What the request of an evaluation inside a call is, and where that stands: the same one has the same key again. */
      readonly key?: string;
      /** Whether an agent is asked: all up to its answer is one step. Default false. */
      readonly isAgent?: true;
    }
  | {
      /** An agent calls a tool, within its turn. */
      readonly kind: "called";
      /** The turn, from 1. */
      readonly turn: number;
      /** The call as it came, without secrets. */
      readonly call: ToolCall;
      /** An estimate of the tokens that the agent had produced before it. Left out: none. */
      readonly produced?: number;
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
      /** Whether arguments of its calls were hidden: they cannot be run from the record. Default false. */
      readonly isRedacted?: true;
      /** An estimate of the tokens that an agent had produced, where it failed without a usage. Left out: it did not. */
      readonly produced?: number;
    }
  | {
      readonly kind: "waited";
      /** What came of the wait; left out: nothing. */
      readonly value?: unknown;
    }
  | {
      /** The evaluation may begin again with another model from here on: what calls dispatch is delivered when it does not. */
      readonly kind: "attempt";
    }
  | {
      readonly kind: "drew";
      /** An id, a random number, a price, or why a budget cut the answer of an evaluation inside a call short. */
      readonly value?: unknown;
    }
  | {
      /** The evaluation does not begin again any more, with another model: it changes what outlives the process. */
      readonly kind: "lasting";
    }
  | {
      /** The entry behind it ends a call, and not by its handler: a limit of the fork's origin did, or the fork was given the end. */
      readonly kind: "fixed";
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
      /** An estimate of the tokens that an agent had produced, where its turn was stopped. Left out: it was not. */
      readonly produced?: number;
    }
  | {
      readonly kind: "suspended";
      /** The turn of the call, from 1. */
      readonly turn: number;
      /** What is waited for. `expiresAt`: epoch milliseconds. */
      readonly pending: Omit<Pending, "token" | "expiresAt"> & { readonly expiresAt?: number };
      /** The policy that asks. */
      readonly policy: string;
      /** What the policy was asked. */
      readonly step: PolicyStep;
      /** The key of the call, where that says which one it is. */
      readonly key?: string;
      /** The SHA-256 of the token that decides, in base64url. */
      readonly tokenHash: string;
    }
  | {
      readonly kind: "resolved";
      /** The turn of the call, from 1. */
      readonly turn: number;
      /** The call that was waited for. */
      readonly callId: string;
      /** The policy that asked. */
      readonly policy: string;
      /** What the policy was asked. */
      readonly step: PolicyStep;
      /** The key of the call, where that says which one it is. */
      readonly key?: string;
      /** What was decided. */
      readonly decision: Resolution;
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
      /** Whether it stays open, because something evaluates it again by itself, a queue for example. Default false. */
      readonly staysOpen?: boolean;
      /** Whether the attempt ended before anything happened that the record did not have: it counts for nothing. Default false. */
      readonly isEmpty?: boolean;
      /** How many messages its conversation has then, and their hash, where the turn may have shortened it. Left out: it has not. */
      readonly leaves?: { readonly count: number; readonly hash: string };
    };

/** One thing that came from outside, or was emitted. */
export type JournalEntry = EntryBase & EntryContent;

/** The entries of one kind. */
export type EntryOf<Kind extends EntryContent["kind"]> = EntryBase & Extract<EntryContent, { readonly kind: Kind }>;

/** A call that waited, or waits, for a decision. */
export interface SuspendedCall extends AskedOf {
  /** What is waited for, as the record has it. */
  readonly pending: EntryOf<"suspended">["pending"];
  /** The hashes of its tokens: each time that the run is evaluated before it is decided, there is another one. */
  readonly tokens: readonly string[];
  /** undefined: it is not decided. */
  readonly decision: Resolution | undefined;
}

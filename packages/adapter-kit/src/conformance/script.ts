import type { ProviderAdapter, ReportedUsage } from "@proviso/core";
import type { FinishReason } from "@proviso/core/provider";
import type { RunJournal } from "@proviso/runtime";

/** An answer of the model, in no provider's own shape. */
export interface ConformanceAnswer {
  /** The text of the answer. Default: none. */
  readonly text?: string | undefined;
  /** A structured answer, sent as JSON text. */
  readonly output?: unknown;
  /** An object is sent as JSON, a text byte for byte; left out: {}. */
  readonly toolCalls?:
    | readonly { readonly name: string; readonly arguments?: object | string | undefined; readonly id: string }[]
    | undefined;
  /** null: none is reported. Left out: any. */
  readonly usage?: ReportedUsage | null | undefined;
  /** Why the model stopped. Left out: "tool-calls" where there are calls, else "stop". */
  readonly finishReason?: Exclude<FinishReason, "other"> | undefined;
  /** The text with which the model declines. Default: none. */
  readonly refusal?: string | undefined;
  /** The reasoning before the answer, for wires that carry it. */
  readonly reasoning?: string | undefined;
  /** What goes wrong while the answer is sent. Default: nothing. */
  readonly fault?: ConformanceFault | undefined;
  /** Milliseconds between two pieces of a stream. */
  readonly eventMs?: number | undefined;
}

/** An HTTP answer as it is. The body is `{ error: { message, type, code } }`, or text. */
export interface ConformanceRefusal {
  /** The HTTP status of the answer. */
  readonly status: number;
  /** Headers of the answer. Default: none. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** The body, written as JSON. Default: empty. */
  readonly body?: unknown;
}

/**
 * What goes wrong with an answer, by the names that @proviso/simulator has for it.
 *
 * - `hang`: no answer at all;
 * - `reset_before_headers`, `reset_in_body`: the connection is cut;
 * - `cut_body`, `stream_cut`: the body ends too early, as a stream the second (one that is not an answer: without a fault);
 * - `html`, `malformed_json`: a body that is none of the API's;
 * - `wrong_shape`: JSON, but of another shape;
 * - `missing_call_id`: calls without their ids;
 * - `unknown_fields`: the answer, with unknown fields;
 * - `stream_split`: the answer, in pieces that are cut anywhere, inside characters too.
 *
 * All but the last three come once, in place of the answer; the next request gets the answer.
 */
export type ConformanceFault =
  | "hang"
  | "reset_before_headers"
  | "reset_in_body"
  | "cut_body"
  | "stream_cut"
  | "html"
  | "malformed_json"
  | "wrong_shape"
  | "missing_call_id"
  | "unknown_fields"
  | "stream_split";

/** What the service does with one request: answer it, or refuse it. */
export type ConformanceStep = ConformanceAnswer | ConformanceRefusal;
/** One step a request. */
export type ConformanceScript = readonly ConformanceStep[];

/** A file of a message as the service read it: its bytes by their hash, an address or an id. */
export interface ConformanceFile {
  /** The media type, where the request says it. */
  readonly mediaType?: string | undefined;
  /** The SHA-256 of the bytes, hexadecimal. */
  readonly hash?: string | undefined;
  /** The address that the service fetches. */
  readonly url?: string | undefined;
  /** The id under which the service has it. */
  readonly id?: string | undefined;
}

/** A message as the service read it. */
export interface ConformanceMessage {
  /** The role of the message's author. */
  readonly role: "system" | "user" | "assistant" | "tool";
  /** The text of the message. */
  readonly text: string;
  /** The files of the message, in their order. Default: none. */
  readonly files?: readonly ConformanceFile[] | undefined;
  /** The calls of an assistant's message. */
  readonly toolCalls?:
    | readonly { readonly id: string; readonly name: string; readonly arguments: string }[]
    | undefined;
  /** The id of the call that a tool message answers. */
  readonly callId?: string | undefined;
}

/** A request as the service read it. One assistant turn may come as several messages in a row. */
export interface ConformanceRequest {
  /** Where the wire has a place for it outside the messages. */
  readonly system?: string | undefined;
  /** The messages as the service received them. */
  readonly messages: readonly ConformanceMessage[];
  /** undefined: none was sent. A forced tool's name stands somewhere in it. */
  readonly toolChoice?: unknown;
  /** The schema that was sent beside the messages; undefined: none. */
  readonly output?: unknown;
  /** What was sent, as it was; to see that it has nothing that was not set. */
  readonly body: unknown;
}

/** Settings to make the adapter with. */
export interface ConformanceSettings {
  /** The key to connect with. */
  readonly apiKey: string;
  /** Always 0, so that a retry waits no longer than it must. */
  readonly random: () => number;
  /** Keeps evaluations as runs. Left out: nothing does. */
  readonly journal?: RunJournal | undefined;
}

/** A wire with an adapter at its end; each case opens one and closes it. */
export interface Connection {
  /** The adapter, connected with the service. */
  readonly adapter: ProviderAdapter;
  /** Grows with every request that the service took, whatever it answered. */
  requests(): readonly ConformanceRequest[];
  /**
   * Counts the requests that are neither answered to their end nor given up by the client. If left out, the cases that
   * need it are skipped, and the skip says so.
   */
  readonly awaited?: (() => number) | undefined;
  /** Ends the service and closes what it holds. */
  close(): Promise<void>;
}

/** What `describeAdapter` needs of an adapter. */
export interface ConformanceOptions {
  /** Opens a wire, at whose other end the script answers, and an adapter for it, with no setting but these. */
  start(script: ConformanceScript, settings: ConformanceSettings): Promise<Connection>;
  /**
   * What the model behind this adapter cannot do: `rule` is a case's id, or its title or the beginning of it. Shown as
   * skipped, with the reason.
   */
  readonly skip?: readonly { readonly rule: string; readonly why: string }[] | undefined;
  /**
   * The methods of the adapter with which the cases are played. Name one where each case starts a process and a run has
   * to be short. Default: both.
   */
  readonly ways?: readonly ("evaluate" | "stream")[] | undefined;
}

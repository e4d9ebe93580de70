import type { FaultName } from "./faults.ts";

export type JsonObject = { readonly [key: string]: unknown };
/** The APIs that the simulator speaks: two of OpenAI's, Anthropic's Messages and Gemini's generateContent. */
export type Api = "responses" | "chat" | "anthropic" | "gemini";

/** An answer of the simulated model. */
export interface AnswerStep {
  /** The text of the answer. Default: empty. */
  readonly text?: string | undefined;
  /** A structured answer, sent as JSON text. */
  readonly output?: unknown;
  /** An id is made up where none is given; an object is sent as JSON, a string byte for byte. */
  readonly toolCalls?:
    | readonly {
        readonly name: string;
        readonly arguments?: object | string | undefined;
        readonly id?: string | undefined;
      }[]
    | undefined;
  /** The model's thoughts before the rest: a reasoning item, with a summary where the request asks for one; a thinking block or a thought part. Not in Chat Completions. */
  readonly reasoning?: string | undefined;
  /** What the service looks up by itself before it answers; the request has to offer its search. Not in Chat Completions. */
  readonly searches?: readonly SimulatedSearch[] | undefined;
  /** The text with which the model declines. Default: none. */
  readonly refusal?: string | undefined;
  /** Laid over the counted one; null: none is reported. */
  readonly usage?: JsonObject | null | undefined;
  /** Why the model stops. Default: "stop". */
  readonly finishReason?: "stop" | "length" | "content_filter" | undefined;
  /** Milliseconds before it is sent, beside the simulator's own latency. */
  readonly afterMs?: number | undefined;
  /**
   * What goes wrong with it. One that comes in place of the answer comes once: the next request gets the answer. One of
   * calls, on a step without any, comes in a turn of its own before the step.
   */
  readonly fault?: FaultName | undefined;
  /** UTF-16 units of one delta of a stream. Default 16. */
  readonly chunkCharacters?: number | undefined;
  /** Milliseconds between two events of a stream. Default 0. */
  readonly eventMs?: number | undefined;
}

/** A search that the service runs by itself. */
export interface SimulatedSearch {
  /** What it looks for. */
  readonly query: string;
  /** What it finds; the answer's text cites all of it. */
  readonly results: readonly {
    /** The address of the page. */
    readonly url: string;
    /** The title of the page. */
    readonly title: string;
  }[];
}

/** An HTTP answer as it is: a refusal, say. */
export interface HttpStep {
  /** The HTTP status of the answer. */
  readonly status: number;
  /** Headers of the answer. Default: none. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** An object is sent as JSON, a string as it is. */
  readonly body?: unknown;
  /** Milliseconds before it is sent. Default 0. */
  readonly afterMs?: number | undefined;
}

/** What one request is answered with. */
export type SimulatorStep = AnswerStep | HttpStep | ((request: SimulatedRequest) => AnswerStep | HttpStep);
/** Returns what a request is answered with; undefined: the next rule is asked. The first rule that returns a step wins. */
export type SimulatorRule = (request: SimulatedRequest) => SimulatorStep | undefined;

/** A tool call of an assistant message. */
export interface SimulatedCall {
  /** The id of the call. */
  readonly id: string;
  /** The name of the tool. */
  readonly name: string;
  /** The arguments as JSON text. */
  readonly arguments: string;
}

/** A file of a message. It has its bytes, an address or an id. */
export interface SimulatedFile {
  /** The media type, where the request says it. */
  readonly mediaType?: string;
  /** The name of the file, where the request says it. */
  readonly name?: string;
  /** How many bytes were sent. */
  readonly bytes?: number;
  /** The SHA-256 of the bytes that were sent, hexadecimal. */
  readonly hash?: string;
  /** The address of a file that the service fetches. */
  readonly url?: string;
  /** The id of a file that the service has. */
  readonly id?: string;
}

/** A message of any of the APIs, in one form. */
export interface SimulatedMessage {
  /** The role of the message's author. */
  readonly role: "system" | "user" | "assistant" | "tool";
  /** The text of the message. */
  readonly text: string;
  /** The files of the message, in their order. Left out: none. */
  readonly files?: readonly SimulatedFile[];
  /** The calls of an assistant message. */
  readonly toolCalls: readonly SimulatedCall[];
  /** The id of the call that a tool message answers. */
  readonly callId?: string | undefined;
}

/** A tool that the request offers. */
export interface SimulatedTool {
  /** The name of the tool. */
  readonly name: string;
  /** What the tool does. */
  readonly description: string;
  /** The JSON Schema of the arguments. */
  readonly parameters: JsonObject;
  /** Whether strict mode was asked for. */
  readonly strict: boolean;
}

/** A tool message together with the call that it answers. */
export interface SimulatedToolResult {
  /** The id of the call that it answers. */
  readonly callId: string;
  /** The name of the tool. */
  readonly name: string;
  /** The call's arguments; {} when they are not a JSON object. */
  readonly arguments: JsonObject;
  /** What the model reads. */
  readonly text: string;
}

/** A checked request, the same for all APIs. */
export interface SimulatedRequest {
  /** The API that was asked. */
  readonly api: Api;
  /** How many requests were accepted before it. */
  readonly index: number;
  /** Whether a stream was asked for. */
  readonly stream: boolean;
  /** The model that was asked for. */
  readonly model: string;
  /** The text of the system message; empty where there is none. */
  readonly system: string;
  /** The messages, in their order. */
  readonly messages: readonly SimulatedMessage[];
  /** The tools that were offered. */
  readonly tools: readonly SimulatedTool[];
  /** The tool choice, as it was sent. */
  readonly toolChoice: unknown;
  /** The output schema; undefined where none was sent. */
  readonly output: { readonly name: string; readonly schema: JsonObject; readonly strict: boolean } | undefined;
  /** The whole body of the request. */
  readonly body: JsonObject;
  /** Every tool output so far, in order. */
  toolResults(): readonly SimulatedToolResult[];
}

/** A request and its answer, in the simulator's log. */
export interface LoggedRequest {
  /** The number of the request in the order of arrival, from 0. */
  readonly index: number;
  /** The API that was asked; undefined for an unknown path. */
  readonly api: Api | undefined;
  /** The HTTP method. */
  readonly method: string;
  /** The path of the request. */
  readonly path: string;
  /** The headers on an allow-list; a key is never among them. */
  readonly headers: Readonly<Record<string, string>>;
  /** The body of the request, parsed. */
  readonly body: unknown;
  /** The status of the answer. */
  readonly status: number;
  /** The body of the answer. */
  readonly answer: unknown;
  /** What went wrong with the answer, on purpose. */
  readonly fault: FaultName | undefined;
  /** Whether the connection ended before the answer did, and not by its fault; as far as is known yet. */
  readonly aborted: boolean;
  /** Milliseconds since the simulator started, when the request arrived. */
  readonly atMs: number;
  /** Milliseconds until the answer began. */
  readonly durationMs: number;
}

/** Whether HTTP allows an answer of that status no body. */
export function hasNoBody(status: number): boolean {
  return status === 204 || status === 205 || status === 304;
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The objects in what may be a list; whatever else stands in it is passed over. */
export function itemsOf(value: unknown): readonly JsonObject[] {
  return Array.isArray(value) ? (value as readonly unknown[]).filter(isObject) : [];
}

import type { FileRef, StoredFile } from "../content/file.ts";
import type { ProviderErrorReason, ThrottleKind } from "../failure-kinds.ts";
import type { ReportedUsage } from "../limits/usage.ts";
import type { JsonSchema } from "../schema.ts";
import type { AssistantMessage, Message } from "./message.ts";
import type { RateLimit } from "./pacing.ts";
import type { ProviderTool } from "../tool/provider-tool.ts";
import type { EvaluationSettings, TokenLogprob } from "./settings.ts";
import type { ProviderCall, Source } from "./answer-parts.ts";

/**
 * Why the model stopped, the same names for all providers. "paused": the provider stopped in the middle of what it does
 * itself, a search for example; the answer so far goes back to it as it is, and it goes on.
 */
export type FinishReason = "stop" | "length" | "content-filter" | "tool-calls" | "paused" | "other";

const everyFinishReason: Readonly<Record<FinishReason, true>> = {
  stop: true,
  length: true,
  "content-filter": true,
  "tool-calls": true,
  paused: true,
  other: true,
};

/** Returns the value where it is a finish reason, else undefined. */
export function finishReasonIn(value: unknown): FinishReason | undefined {
  return typeof value === "string" && Object.hasOwn(everyFinishReason, value) ? (value as FinishReason) : undefined;
}

/** Whether the model calls tools: as it likes, never, at least one, or a certain one. Default "auto". */
export type ToolChoice =
  | "auto"
  | "none"
  | "required"
  | {
      /** The name of the tool that the model must call. */
      readonly tool: string;
    };

/** A tool as it is described to a model. */
export interface ToolSpec {
  /** The name of the tool. */
  readonly name: string;
  /** What the tool does; the model reads it. */
  readonly description: string;
  /** The JSON Schema of the arguments. */
  readonly inputSchema: JsonSchema;
}

/**
 * More of an answer while it is streamed: of its text, or of the model's thoughts. "reset" takes back what was
 * emitted for this request, because another model goes on. More kinds may come: pass over what you do not know.
 */
export type ModelDelta =
  | {
      readonly kind: "text" | "reasoning";
      /** What was added. */
      readonly text: string;
    }
  | { readonly kind: "reset" };

/** One try of a request that several models can be asked. Plain JSON. */
export interface RouteStep {
  /** The name of the adapter that was asked, or passed over. */
  readonly provider: string;
  /** The model that answered, as the service names it, else the one that was asked. */
  readonly model: string;
  /**
   * How the try ended. "skipped": it was not asked, because it failed too often of late, its pace held it back for too long,
   * or it cannot take the request; "cancelled": another model answered first; "process": its process failed.
   */
  readonly outcome: "answered" | "cancelled" | "skipped" | "process" | ThrottleKind | ProviderErrorReason;
  /** Why it was not asked; only where it was skipped. */
  readonly why?: string | undefined;
  /** Milliseconds. */
  readonly durationMs: number;
  /** What it cost; left out: nothing, as far as is known. */
  readonly usage?: ReportedUsage | undefined;
}

/** One request to a model; what a `generate` gets. */
export interface ModelRequest {
  /** Grows by appending; a message object never changes, so what was made of it can be kept. */
  readonly messages: readonly Message[];
  /** The tools that the model may call. */
  readonly tools: readonly ToolSpec[];
  /** undefined: omit the field. */
  readonly toolChoice: ToolChoice | undefined;
  /** The schema of the output; undefined for text. */
  readonly output: { readonly name: string; readonly schema: JsonSchema } | undefined;
  /**
   * Tokens of the answer at most, because a budget has no more left; undefined: as many as the model likes. Only for a
   * model with `capabilities.outputLimit`. Of this and the model's own bound the smaller counts.
   */
  readonly maxOutputTokens?: number | undefined;
  /**
   * What the evaluation wants of the model: only what was set, an empty object where nothing was. It counts before the
   * provider's own settings. An evaluation's `cache` is given as an object with its key. Each request of an evaluation
   * has it; left out, nothing is set.
   */
  readonly settings?: EvaluationSettings | undefined;
  /** The tools that the provider runs itself. Each request of an evaluation has the list; left out, there are none. */
  readonly providerTools?: readonly ProviderTool[] | undefined;
  /**
   * The bytes of a file in the messages; they are loaded before the request is made. It throws for a file that the
   * request does not hold. Left out: the request holds no stored file.
   */
  readonly bytesOf?: ((file: StoredFile) => Uint8Array) | undefined;
  /** Aborted when the request is to end. */
  readonly signal: AbortSignal;
  /** If set, the provider streams the answer and calls this for each delta. */
  readonly onDelta?: (delta: ModelDelta) => void;
}

/** A file that a model made, with its bytes. */
export interface GeneratedFile {
  /** The offset in the message's text, in UTF-16 units. */
  readonly at: number;
  /** What the provider says that it is: `type/subtype`. */
  readonly mediaType: string;
  /** The name of the file. Default: one that is made of its kind and its number. */
  readonly name?: string | undefined;
  /** The bytes, or the base64 of them. */
  readonly data: Uint8Array | string;
}

/** One answer of a model. */
export interface ModelResponse {
  /** Only a ModelFailure has one. */
  readonly failure?: undefined;
  /** What the model answered. */
  readonly message: AssistantMessage;
  /** Why the model stopped. */
  readonly finishReason: FinishReason;
  /** What the provider reports of this request; left out: it is estimated. */
  readonly usage?: ReportedUsage | undefined;
  /** The model that answered, if the service names it. */
  readonly model?: string | undefined;
  /** Provider-native structured payload, where there is one. */
  readonly parsed?: unknown;
  /** The text with which the model declined; left out: it did not. */
  readonly refusal?: string | undefined;
  /** What the answer rests on. Each source counts once. Left out: the provider names nothing. */
  readonly sources?: readonly Source[] | undefined;
  /** The calls that the provider ran itself, in their order. Left out: there are none. */
  readonly providerCalls?: readonly ProviderCall[] | undefined;
  /** The log probabilities of its tokens; left out: there are none. */
  readonly logprobs?: readonly TokenLogprob[] | undefined;
  /** The tier that served the request; left out: the service does not name it. */
  readonly serviceTier?: string | undefined;
  /** The files that the model made, in the order of `at`; the runtime stores them. Left out: none. */
  readonly generated?: readonly GeneratedFile[] | undefined;
  /** The answer as it was received. */
  readonly payload?: unknown;
  /** The limits that the service states with its answer; left out: none. */
  readonly rateLimit?: RateLimit | undefined;
  /** The tries in their order, where several models can be asked; `usage` is what all of them cost. */
  readonly route?: readonly RouteStep[] | undefined;
  /** Milliseconds that a pace of the model's own held the request back; left out: none. */
  readonly queuedMs?: number | undefined;
}

/**
 * A request that failed, as data. "throttle": the runtime waits and asks again, and at last rejects with a
 * ThrottleError; "provider": it rejects with a ProviderError at once; "process": with a ProcessError at once.
 */
export type ModelFailure = {
  /** What happened, for people. */
  readonly message: string;
  /** The HTTP status, where there was an answer. */
  readonly status?: number | undefined;
  /** The body of the answer, as it was received. */
  readonly payload?: unknown;
  /** What the request spent nevertheless. */
  readonly usage?: ReportedUsage | undefined;
  /** The error that was thrown, where one was. */
  readonly cause?: unknown;
  /** The limits that the service states with its refusal; left out: none. */
  readonly rateLimit?: RateLimit | undefined;
  /** The tries in their order, where several models can be asked; `usage` is what all of them cost. */
  readonly route?: readonly RouteStep[] | undefined;
} & (
  | {
      readonly failure: "throttle";
      /** What kept the provider from answering. */
      readonly kind: ThrottleKind;
      /** Milliseconds. */
      readonly retryAfterMs?: number | undefined;
      /** false: the provider asks not to try again, and the request is given up at once. Default true. */
      readonly retry?: boolean | undefined;
    }
  | {
      readonly failure: "provider";
      /** Why the provider refused. */
      readonly reason: ProviderErrorReason;
    }
  | {
      readonly failure: "process";
      /** null: it was ended by a signal, or never began. */
      readonly exitCode: number | null;
      /** The signal that ended the process; null where it ended by itself. */
      readonly signal: string | null;
      /** What the process wrote to standard error, or the end of it. */
      readonly stderr: string;
    }
);

/** A setting whose value a provider cannot keep. */
export interface SettingRefusal {
  /** The name of the setting. */
  readonly setting: keyof EvaluationSettings;
  /** What the provider takes in its place, as a whole sentence. */
  readonly why: string;
}

/** What files a model takes. */
export interface FileSupport {
  /** What a user's message may hold: `"image/png"`, `"image/*"`, `"application/pdf"`. */
  readonly types: readonly string[];
  /** How files may reach it: as bytes, by a link that it fetches, by an id that it knows. */
  readonly from: readonly FileRef["kind"][];
  /** What a tool's answer may hold. Left out: nothing; files go into a user message behind the turn's answers. */
  readonly inToolResults?: readonly string[] | undefined;
  /**
   * What goes back as a file of the model's own earlier answers. The adapter then gets each answer with its files, and
   * sends the others as their labels. Left out: an answer comes with the labels in its text, and without files.
   */
  readonly inAnswers?: readonly string[] | undefined;
  /** The largest file, in bytes. Default: no limit. */
  readonly maxBytes?: number | undefined;
  /** All files of one request, in bytes. Default 52,428,800. */
  readonly maxTotalBytes?: number | undefined;
  /** How many files one request holds. Default 100. */
  readonly maxFiles?: number | undefined;
  /**
   * Why one file cannot be taken that its type and its kind would allow, a link of a sound for example, as a whole
   * sentence; undefined: it can. Left out: all of them can.
   */
  refuses?(file: FileRef, place: "user" | "tool"): string | undefined;
  /** An upper bound of a file's tokens; undefined, or left out: the table of `specs/files.md`. */
  tokensOf?(file: FileRef): number | undefined;
}

/** What a model can do; what it cannot is refused before anything is sent. */
export interface ModelCapabilities {
  /** Whether the service takes tools. */
  readonly tools: boolean;
  /** Whether the service keeps to an output schema by itself; else the prompt asks for it in words. */
  readonly nativeOutput: boolean;
  /** The files that it takes. Left out: none. */
  readonly files?: FileSupport | undefined;
  /**
   * Set where the service keeps to a request's `maxOutputTokens`; `least` is the lowest number that it takes. Left out:
   * a budget cannot cut an answer short, and can be passed by the tokens that an answer has beyond the reservation.
   */
  readonly outputLimit?: { readonly least: number } | undefined;
  /** The settings that one request can carry. Left out: none, so that each one that is given is refused. */
  readonly settings?: readonly (keyof EvaluationSettings)[] | undefined;
  /**
   * Why a value of a setting that is listed cannot be kept, a cache's lifetime that the service does not know for
   * example; undefined: all of them can. Left out: every value can.
   */
  readonly refusesSetting?: ((settings: EvaluationSettings) => SettingRefusal | undefined) | undefined;
  /**
   * The ids of the tools that the service runs itself; `"openai.*"` stands for all that begin with `openai.`. Left out:
   * there are none, so that each one in a prompt is refused.
   */
  readonly providerTools?: readonly string[] | undefined;
  /** Whether the answers report their cost, so that `maxCostUsd` holds without a price. Default false. */
  readonly reportsCost?: boolean | undefined;
}

/**
 * One request in, one answer out: never loops, retries, runs tools or dispatches. It may throw what `fetch` throws:
 * the network's errors count as "throttle", an abort of `signal` as one; anything else as "provider", "unknown".
 */
export interface ModelProvider {
  /** The name of the adapter, for events and logs. */
  readonly name: string;
  /** The model that is asked. */
  readonly model: string;
  /** Tokens of an answer at most, whatever a request asks for; lets a budget reserve them. */
  readonly maxOutputTokens?: number | undefined;
  /**
   * Tokens of input and output together, for evaluations with `context`. Default: looked up by the model's name in
   * `@pydantic/genai-prices`, where that is installed.
   */
  readonly contextWindow?: number | undefined;
  /**
   * A hash of what else decides its answers, a temperature or the address of its service for example: evals ask anew where
   * it is another one. It is the same in every process, and of no secret. Left out: nothing else does.
   */
  readonly settingsHash?: string | undefined;
  /** What the service can do itself. */
  readonly capabilities: ModelCapabilities;
  /** Makes one request. A refusal is returned. What is thrown is read as the comment above says. */
  generate(request: ModelRequest): Promise<ModelResponse | ModelFailure>;
}

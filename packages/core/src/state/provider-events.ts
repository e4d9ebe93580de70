import type { FileRef } from "../content/file.ts";
import type { ThrottleKind } from "../failure-kinds.ts";
import type { Usage } from "../limits/usage.ts";
import type { RenderedSection } from "../prompt/rendered-sections.ts";
import type { ToolCall } from "../provider/message.ts";
import type { FinishReason, RouteStep } from "../provider/model.ts";
import type { TokenLogprob } from "../provider/settings.ts";
import type { Source } from "../provider/answer-parts.ts";
import type { EventBase } from "./event-base.ts";

/** A request is about to be sent. */
export interface ProviderRequested extends EventBase<"provider.requested"> {
  /** The turn's number, from 1. */
  readonly turn: number;
  /** The number of the attempt in this turn, from 1. */
  readonly attempt: number;
  /** How many messages are sent, the system's included. */
  readonly messages: number;
  /** What the runtime has added as the user since the last request: repairs, what is missing; left out: nothing. */
  readonly said?: readonly string[] | undefined; // oxlint-disable-line proviso/plain-words -- a public name
  /** The prompt as it is sent from here on, with the first request after sections opened or a text changed. */
  readonly prompt?:
    | { readonly text: string; readonly sections: readonly RenderedSection[]; readonly tools: readonly string[] }
    | undefined;
}

/** A request was refused for the moment, or not answered in time. */
export interface ProviderThrottled extends EventBase<"provider.throttled"> {
  /** The turn's number, from 1. */
  readonly turn: number;
  /** The one that was refused, from 1. */
  readonly attempt: number;
  /** What kept the provider from answering. */
  readonly kind: ThrottleKind;
  /** undefined: given up. */
  readonly delayMs: number | undefined;
  /** Milliseconds that the provider asked to wait, if it did. */
  readonly retryAfterMs: number | undefined;
  /** The tries of this attempt, where several models could be asked; left out: there was one. */
  readonly route?: readonly RouteStep[] | undefined;
}

/** A request was answered. */
export interface ProviderResponded extends EventBase<"provider.responded"> {
  /** The turn's number, from 1. */
  readonly turn: number;
  /** The usage of the answer alone. What refused requests of the turn cost is in the sum at the end. */
  readonly usage: Usage;
  /** Why the model stopped. */
  readonly finishReason: FinishReason;
  /** Milliseconds; repeated requests, and the waits between them, included. */
  readonly durationMs: number;
  /** Milliseconds of it in which its pace held the request back; left out: none. */
  readonly queuedMs?: number | undefined;
  /** The model that answered, as the provider names it; else the model that was asked. */
  readonly model: string;
  /** The text of the answer, as the assistant's message has it. */
  readonly text: string;
  /** The calls that the answer asks for, as the assistant's message has them. */
  readonly toolCalls: readonly ToolCall[];
  /** The tier that served the request; left out: the provider does not name it. */
  readonly serviceTier?: string | undefined;
  /** The thoughts that the model showed; left out: none. */
  readonly reasoning?: string | undefined;
  /** What the answer rests on; left out: the provider names nothing. */
  readonly sources?: readonly Source[] | undefined;
  /** The files that the model made; left out: none. */
  readonly files?: readonly FileRef[] | undefined;
  /** The log probabilities of the answer's tokens; left out: there are none. */
  readonly logprobs?: readonly TokenLogprob[] | undefined;
  /** The tries of this request, where several models could be asked; left out: there was one. */
  readonly route?: readonly RouteStep[] | undefined;
}

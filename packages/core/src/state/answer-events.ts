import type { ProviderCall } from "../provider/answer-parts.ts";
import type { EventBase } from "./event-base.ts";

/** More of the answer's text, while it is streamed. */
export interface TextDelta extends EventBase<"text.delta"> {
  /** The turn's number, from 1. */
  readonly turn: number;
  /** What was added to the answer. */
  readonly text: string;
}
/** More of the model's thoughts, while they are streamed. `text.reset` takes it back too. */
export interface ReasoningDelta extends EventBase<"reasoning.delta"> {
  /** The turn's number, from 1. */
  readonly turn: number;
  /** What was added. */
  readonly text: string;
}
/** The provider ran a tool of its own. The event comes with the answer, before `provider.responded`. */
export interface ProviderToolUsed extends EventBase<"provider.tool">, ProviderCall {
  /** The turn's number, from 1. */
  readonly turn: number;
}
/** A streamed attempt failed and is asked again: drop the deltas of this turn. */
export interface TextReset extends EventBase<"text.reset"> {
  /** The turn's number, from 1. */
  readonly turn: number;
}

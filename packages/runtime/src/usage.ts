import { noUsage, type Message, type ModelRequest, type ReportedUsage, type Usage } from "@proviso/core";
import type { Conversation } from "./conversation.ts";
import type { WorstCase } from "./limits.ts";

/** Characters of English text and code to a token, roughly. */
const charactersPerToken = 4;

/**
 * What a request cost. A number that is missing, negative or not finite counts as an estimate, of so many characters
 * sent and answered; zero is zero.
 */
export function usageOf(
  reported: ReportedUsage | undefined,
  characters: { readonly sent: number; readonly answered: number },
): Usage {
  const inputTokens = count(reported?.inputTokens);
  const outputTokens = count(reported?.outputTokens);
  const input = inputTokens ?? Math.ceil(characters.sent / charactersPerToken);
  const output = outputTokens ?? Math.ceil(characters.answered / charactersPerToken);
  const total = count(reported?.totalTokens);
  const costUsd = count(reported?.costUsd);
  return {
    ...noUsage,
    inputTokens: input,
    outputTokens: output,
    totalTokens: Math.max(total ?? 0, input + output),
    cachedInputTokens: count(reported?.cachedInputTokens) ?? 0,
    reasoningTokens: count(reported?.reasoningTokens) ?? 0,
    ...(costUsd === undefined ? {} : { costUsd }),
    estimated: inputTokens === undefined || outputTokens === undefined,
  };
}

function count(value: unknown): number | undefined {
  return typeof value === "number" && Number.isFinite(value) && value >= 0 ? value : undefined;
}

/** UTF-16 units of what a model reads of a message. */
export function charactersOf(message: Message): number {
  if (message.role !== "assistant") return message.text.length;
  // An agent may have given anything, or nothing.
  const lengthOf = (given: unknown): number => (typeof given === "string" ? given.length : 0);
  const calls = message.toolCalls.map((call) => call.name.length + lengthOf(call.arguments));
  return calls.reduce((sum, characters) => sum + characters, message.text.length);
}

/** Tokens around a message: its role, its ids, what separates it from the next. */
const tokensAroundMessage = 32;

/**
 * What a request may cost at most. A token is at least a byte, so bytes bound the input; what a turn before was
 * reported to have cost bounds the messages up to its answer more closely.
 */
export function worstCaseOf(
  request: ModelRequest,
  conversation: Conversation,
  known: KnownCost | undefined,
  maxOutputTokens: number,
): WorstCase {
  const from = known?.messages ?? 0;
  const messages = conversation.bytesFrom(from) + tokensAroundMessage * (request.messages.length - from);
  if (known !== undefined) return { inputTokens: known.tokens + messages, outputTokens: maxOutputTokens };
  const beside = utf8Length(JSON.stringify([request.tools, request.output ?? null])) + tokensAroundMessage;
  return { inputTokens: messages + beside, outputTokens: maxOutputTokens };
}

/** What a provider reported for a request and its answer: so many messages, answer included, and their tokens. */
export interface KnownCost {
  readonly messages: number;
  readonly tokens: number;
}

/** At most so many bytes in UTF-8. */
export function utf8Length(text: string): number {
  let bytes = text.length;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    if (unit > 0x7f) bytes += unit > 0x7ff ? 2 : 1;
  }
  return bytes;
}

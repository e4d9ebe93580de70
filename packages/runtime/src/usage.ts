import { countUsage, type Message, type ModelRequest, type ReportedUsage, type Usage } from "@proviso/core";
import type { Conversation } from "./conversation.ts";
import type { WorstCase } from "./limits.ts";

/** Characters of English text and code to a token, roughly. */
const charactersPerToken = 4;

/** What a request cost; what cannot be counted is estimated, of so many characters sent and answered. */
export function usageOf(
  reported: ReportedUsage | undefined,
  characters: { readonly sent: number; readonly answered: number },
): Usage {
  return countUsage(reported, {
    inputTokens: Math.ceil(characters.sent / charactersPerToken),
    outputTokens: Math.ceil(characters.answered / charactersPerToken),
  });
}

/** UTF-16 units of what a model reads of a message. */
export function charactersOf(message: Message): number {
  if (message.role !== "assistant") return message.text.length;
  let characters = message.text.length;
  for (const call of message.toolCalls) characters += call.name.length + textOf(call.arguments).length;
  return characters;
}

/** A provider may have left the arguments out, or handed on what it parsed. */
export function textOf(given: unknown): string {
  return typeof given === "string" ? given : "";
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

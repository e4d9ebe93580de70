import {
  countUsage,
  type JsonSchema,
  type Message,
  type ModelRequest,
  type ReportedUsage,
  type ToolSpec,
  type Usage,
} from "@proviso/core";
import type { Conversation } from "./conversation.ts";
import { estimatedTokens } from "./tokens.ts";

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
function textOf(given: unknown): string {
  return typeof given === "string" ? given : "";
}

/** Tokens of what a model reads of a message, with what is around it: its role, its ids. An estimate. */
export function tokensOf(message: Message): number {
  if (message.role !== "assistant") return tokensAroundMessage + estimatedTokens(message.text);
  const calls = message.toolCalls.map(
    (call) => tokensAroundCall + estimatedTokens(call.name) + estimatedTokens(textOf(call.arguments)),
  );
  return calls.reduce((sum, tokens) => sum + tokens, tokensAroundMessage + estimatedTokens(message.text));
}

/** Services count 3 to 12 around a message, and as many around all of them. */
const tokensAroundMessage = 8;
const tokensAroundCall = 8;
const tokensAroundRequest = 12;

/** What a provider reported for a request and its answer: so many messages, answer included, and their tokens. */
export interface KnownCost {
  readonly messages: number;
  readonly tokens: number;
}

/**
 * The input of a request: what the turn before was reported to have cost counts for the messages up to its answer, the
 * rest is an estimate. `correction`: how many times the estimate of an earlier turn's input were really counted.
 */
export function inputTokensOf(
  request: ModelRequest,
  conversation: Conversation,
  { known, correction = 1 }: { readonly known?: KnownCost | undefined; readonly correction?: number | undefined } = {},
): number {
  if (known !== undefined) return known.tokens + Math.ceil(conversation.tokensFrom(known.messages) * correction);
  const beside = request.tools.reduce((sum, tool) => sum + toolTokens(tool), tokensAroundRequest);
  const output = request.output === undefined ? 0 : schemaTokens(request.output.schema);
  return Math.ceil((conversation.tokensFrom(0) + beside + output) * correction);
}

/** By how much an estimate was wrong, within reason: a count that is far off counts something else. */
export function correctionOf(reportedTokens: number, estimate: number): number {
  return Math.min(3, Math.max(0.5, reportedTokens / Math.max(1, estimate)));
}

function toolTokens({ name, description, inputSchema }: ToolSpec): number {
  return tokensAroundCall + estimatedTokens(name) + estimatedTokens(description) + schemaTokens(inputSchema);
}

const tokensOfSchemas = new WeakMap<JsonSchema, number>();

/** A schema is written and counted once. */
function schemaTokens(schema: JsonSchema): number {
  let tokens = tokensOfSchemas.get(schema);
  if (tokens === undefined) {
    tokens = estimatedTokens(JSON.stringify(schema));
    tokensOfSchemas.set(schema, tokens);
  }
  return tokens;
}

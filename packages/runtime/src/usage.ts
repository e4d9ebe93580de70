import type { AssistantMessage, JsonSchema, Message, ModelRequest } from "@proviso/core";
import type { ToolSpec } from "@proviso/core/provider";
import { fileTokensIn, type FileBound } from "./content/file-tokens.ts";
import { estimatedTokens } from "./tokens.ts";

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
export function tokensOf(message: Message, bound?: FileBound): number {
  const { text } = message;
  return (
    tokensAroundMessage +
    fileTokensIn(message, bound) +
    (message.role === "assistant" ? answerTokensOf(message) : estimatedTokens(text))
  );
}

/** Tokens that a model has answered with: its text and its calls. An estimate. */
export function answerTokensOf({ text, toolCalls }: Pick<AssistantMessage, "text" | "toolCalls">): number {
  return toolCalls.reduce(
    (sum, { name, arguments: given }) =>
      sum + tokensAroundCall + estimatedTokens(name) + estimatedTokens(textOf(given)),
    estimatedTokens(text),
  );
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
  request: Pick<ModelRequest, "tools" | "output">,
  conversation: { tokensFrom(index: number): number },
  { known, correction = 1 }: { readonly known?: KnownCost | undefined; readonly correction?: number | undefined } = {},
): number {
  if (known !== undefined) return known.tokens + Math.ceil(conversation.tokensFrom(known.messages) * correction);
  return Math.ceil((conversation.tokensFrom(0) + tokensBeside(request)) * correction);
}

/** Estimates the tokens of what goes beside the messages: the tools, the output's schema, and what is around them. */
export function tokensBeside({ tools, output }: Pick<ModelRequest, "tools" | "output">): number {
  const ofTools = tools.reduce((sum, tool) => sum + toolTokens(tool), tokensAroundRequest);
  return output === undefined ? ofTools : ofTools + schemaTokens(output.schema);
}

/** Returns by how much an estimate was wrong, within reason: a count that is far off counts something else. */
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

// How large a request is, in characters and in tokens.
import type { JsonSchema, Message, ModelRequest } from "@proviso/core";
import { fileTokensIn, type FileBound, charactersOf, type KnownCost } from "../tokens.ts";

/** What is around each message and each tool on a wire: roles, ids, braces. */
const charactersAround = 24;

/** Tokens of a character before anything is known of a history. */
export const usualRate = 1 / 3;
/** No text has fewer tokens than that for a character: a service that reports fewer counts something else. */
const leastRate = 1 / 16;
/** How many times too low an estimate of tokens by characters may be. */
export const margin = 1.1;

/** UTF-16 units of a message, with what is around it. */
export function sizeOf(message: Message, bound?: FileBound): number {
  return charactersAround + charactersOf(message) + fileTokensIn(message, bound) / usualRate;
}

/** A request as it is measured; `bound`: the adapter's of a file's tokens. */
export type Sent = Pick<ModelRequest, "messages" | "tools" | "output"> & { readonly bound?: FileBound | undefined };

/** UTF-16 units of a request's first messages, and of what goes beside them. */
function charactersUpTo({ messages, tools, output, bound }: Sent, end: number): number {
  let characters = output === undefined ? 0 : schemaCharacters(output.schema);
  for (const { name, description, inputSchema } of tools) {
    characters += charactersAround + name.length + description.length + schemaCharacters(inputSchema);
  }
  return charactersFrom({ messages, bound }, 0, end) + characters;
}

function charactersFrom(
  { messages, bound }: Pick<Sent, "messages" | "bound">,
  start: number,
  end = messages.length,
): number {
  let characters = 0;
  for (let place = start; place < end; place++) characters += sizeOf(messages[place] as Message, bound);
  return characters;
}

/** UTF-16 units of all of a request. */
export function charactersIn(request: Sent): number {
  return charactersUpTo(request, request.messages.length);
}

/** A request's tokens. `known` is what the request before it was reported to have cost. */
export function estimateOf(request: Sent, known: KnownCost | undefined, rate: number): number {
  if (known === undefined || rateOf(request, known) === undefined) {
    return Math.ceil(charactersIn(request) * rate * margin);
  }
  return known.tokens + Math.ceil(charactersFrom(request, known.messages) * rate * margin);
}

/** Tokens of a character by what was reported; undefined where the report is not to be believed. */
export function rateOf(request: Sent, known: KnownCost): number | undefined {
  const rate = known.tokens / charactersUpTo(request, Math.min(known.messages, request.messages.length));
  return rate >= leastRate ? rate : undefined;
}

const sizesOfSchemas = new WeakMap<JsonSchema, number>();

/** A schema is written once to be measured. */
function schemaCharacters(schema: JsonSchema): number {
  let characters = sizesOfSchemas.get(schema);
  if (characters === undefined) {
    characters = JSON.stringify(schema).length;
    sizesOfSchemas.set(schema, characters);
  }
  return characters;
}

import { pieces, type StreamedEvent, type Streaming } from "./pieces.ts";
import { isObject, itemsOf, type JsonObject } from "./types.ts";

/**
 * Each event is an answer with some of the parts; the last one has the reason for the end. Source: Gemini API
 * reference, "models.streamGenerateContent".
 */
export function geminiEvents(body: JsonObject, { chunkCharacters }: Streaming): readonly StreamedEvent[] {
  const { candidates, usageMetadata, ...rest } = body;
  const [candidate] = itemsOf(candidates);
  if (candidate === undefined) return [{ data: body }];
  const { content, finishReason, finishMessage, groundingMetadata, ...more } = candidate;
  const { parts, ...author } = isObject(content) ? content : {};
  const deltas = itemsOf(parts).flatMap((part) => deltasOf(part, chunkCharacters));
  const shown = deltas.length === 0 ? [undefined] : deltas;
  return shown.map((part, index) => {
    const isLast = index === shown.length - 1;
    const end = {
      finishReason,
      ...(finishMessage === undefined ? {} : { finishMessage }),
      ...(groundingMetadata === undefined ? {} : { groundingMetadata }),
    };
    const inside = part === undefined ? author : { parts: [part], ...author };
    const usage = isLast ? usageMetadata : begunUsage(usageMetadata);
    return {
      data: {
        candidates: [{ content: inside, ...(isLast ? end : {}), ...more }],
        ...(usage === undefined ? {} : { usageMetadata: usage }),
        ...rest,
      },
    };
  });
}

/** The usage before the end of an answer counts the prompt alone. */
function begunUsage(usage: unknown): unknown {
  if (!isObject(usage)) return usage;
  const { candidatesTokenCount: _, totalTokenCount: __, thoughtsTokenCount: ___, ...begun } = usage;
  return { ...begun, totalTokenCount: begun["promptTokenCount"] };
}

/** A text comes in pieces, the last of which has the signature; a call comes whole. */
function deltasOf(part: JsonObject, size: number): readonly JsonObject[] {
  const { text, thoughtSignature, ...rest } = part;
  if (typeof text !== "string") return [part];
  const cut = pieces(text, size);
  return cut.map((piece, index) =>
    index === cut.length - 1 && thoughtSignature !== undefined
      ? { text: piece, ...rest, thoughtSignature }
      : { text: piece, ...rest },
  );
}

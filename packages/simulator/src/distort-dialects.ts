import { isObject, itemsOf, type JsonObject } from "./types.ts";

/** A message of Anthropic's as an "answer" or a "calls" fault has it. */
export function distortedMessage(body: JsonObject, name: string): JsonObject {
  const content = itemsOf(body["content"]);
  switch (name) {
    case "no_output":
      return { ...body, content: [] };
    case "unknown_items":
      return { ...body, content: [{ type: "brand_new_block", brand_new: true }, ...content] };
    case "arguments_null":
      return { ...body, content: mapCalls(content, (call) => ({ ...call, input: null })) };
    case "missing_call_id":
      return { ...body, content: mapCalls(content, ({ id: _, ...call }) => call) };
    default:
      return body;
  }
}

function mapCalls(content: readonly JsonObject[], change: (call: JsonObject) => JsonObject): readonly JsonObject[] {
  return content.map((block) => (block["type"] === "tool_use" ? change(block) : block));
}

/** An answer of Gemini's as an "answer" or a "calls" fault has it. */
export function distortedCandidates(body: JsonObject, name: string): JsonObject {
  switch (name) {
    case "no_output":
      return { ...body, candidates: [] };
    case "unknown_items":
      return mapParts(body, (parts) => [{ brandNewPart: { text: "x" } }, ...parts]);
    case "arguments_null":
      return mapParts(body, (parts) => parts.map((part) => withCall(part, (call) => ({ ...call, args: null }))));
    case "missing_call_id":
      return mapParts(body, (parts) => parts.map((part) => withCall(part, ({ id: _, ...call }) => call)));
    default:
      return body;
  }
}

function mapParts(body: JsonObject, change: (parts: readonly JsonObject[]) => readonly JsonObject[]): JsonObject {
  const candidates = itemsOf(body["candidates"]).map((candidate) => {
    const content = isObject(candidate["content"]) ? candidate["content"] : {};
    return { ...candidate, content: { ...content, parts: change(itemsOf(content["parts"])) } };
  });
  return { ...body, candidates };
}

function withCall(part: JsonObject, change: (call: JsonObject) => JsonObject): JsonObject {
  const call = part["functionCall"];
  return isObject(call) ? { ...part, functionCall: change(call) } : part;
}

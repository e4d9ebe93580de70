import { pieces, type StreamedEvent, type Streaming } from "./pieces.ts";
import { isObject, itemsOf, type JsonObject } from "./types.ts";

/** Source: Anthropic API reference, "Streaming messages". */
export function anthropicEvents(body: JsonObject, { chunkCharacters }: Streaming): readonly StreamedEvent[] {
  const { content, stop_reason, stop_sequence, usage } = body;
  const events: StreamedEvent[] = [];
  const add = (type: string, fields: JsonObject): void => void events.push({ name: type, data: { type, ...fields } });
  const begun = isObject(usage) ? { usage: { ...usage, output_tokens: begunOutput(usage["output_tokens"]) } } : {};
  add("message_start", { message: { ...body, content: [], stop_reason: null, stop_sequence: null, ...begun } });
  const blocks = itemsOf(content);
  for (const [index, block] of blocks.entries()) {
    add("content_block_start", { index, content_block: begunBlock(block) });
    if (index === 0) add("ping", {});
    for (const delta of deltasOf(block, chunkCharacters)) add("content_block_delta", { index, delta });
    add("content_block_stop", { index });
  }
  add("message_delta", { delta: { stop_reason, stop_sequence }, ...(usage === undefined ? {} : { usage }) });
  add("message_stop", {});
  return events;
}

/** The first event counts one token of the answer. */
function begunOutput(count: unknown): unknown {
  return typeof count === "number" && count > 0 ? 1 : count;
}

function begunBlock(block: JsonObject): JsonObject {
  switch (block["type"]) {
    case "text":
      return { ...block, text: "", ...("citations" in block ? { citations: [] } : {}) };
    case "thinking":
      return { ...block, thinking: "", signature: "" };
    case "tool_use":
    case "server_tool_use":
      return { ...block, input: {} };
    default:
      return block;
  }
}

function deltasOf(block: JsonObject, size: number): readonly JsonObject[] {
  const { type, text, thinking, signature, input } = block;
  if (type === "text") {
    const cited = Array.isArray(block["citations"]) ? (block["citations"] as readonly unknown[]) : [];
    const texts = pieces(String(text), size).map((piece) => ({ type: "text_delta", text: piece }));
    return [...texts, ...cited.map((citation) => ({ type: "citations_delta", citation }))];
  }
  if (type === "thinking") {
    const thoughts = pieces(String(thinking), size).map((piece) => ({ type: "thinking_delta", thinking: piece }));
    return [...thoughts, { type: "signature_delta", signature }];
  }
  if (type !== "tool_use" && type !== "server_tool_use") return [];
  const json = typeof input === "string" ? input : JSON.stringify(input);
  return ["", ...pieces(json, size)].map((piece) => ({ type: "input_json_delta", partial_json: piece }));
}

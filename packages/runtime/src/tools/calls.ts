import type { AssistantMessage, ToolCall } from "@proviso/core";

/** The same message with an id of its own for every call: missing and malformed ones made up, repeated ones changed. */
export function withUniqueIds(message: AssistantMessage, newId: () => string): AssistantMessage {
  const seen = new Set<string>();
  const toolCalls = message.toolCalls.map((call): ToolCall => {
    const id = isId(call.id) && !seen.has(call.id) ? call.id : madeUp(seen, newId);
    seen.add(id);
    return id === call.id ? call : { ...call, id };
  });
  if (toolCalls.every((call, index) => call === message.toolCalls[index])) return message;
  // The provider's own items still carry the old ids.
  return { role: "assistant", text: message.text, toolCalls };
}

/** Of two that differ in halves of surrogate pairs alone, the wire would make one. */
function isId(id: unknown): id is string {
  return typeof id === "string" && id !== "" && id.isWellFormed();
}

function madeUp(seen: ReadonlySet<string>, newId: () => string): string {
  const id = `call_${newId()}`;
  return seen.has(id) ? `${id}_${seen.size}` : id;
}

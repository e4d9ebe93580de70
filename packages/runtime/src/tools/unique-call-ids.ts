import type { AssistantMessage, ToolCall } from "@proviso/core";

/**
 * Returns the message with a unique id for every call: missing and malformed ids are made up, repeated ones changed.
 */
export function withUniqueIds(message: AssistantMessage, newId: () => string): AssistantMessage {
  const seen = new Set<string>();
  const toolCalls = message.toolCalls.map((call): ToolCall => {
    const id = isId(call.id) && !seen.has(call.id) ? call.id : madeUp(seen, newId);
    seen.add(id);
    return id === call.id ? call : { ...call, id };
  });
  if (toolCalls.every((call, index) => call === message.toolCalls[index])) return message;
  // The provider's own items still carry the old ids.
  const { text, reasoning } = message;
  return { role: "assistant", text, toolCalls, ...(reasoning === undefined ? undefined : { reasoning }) };
}

/** Whether an id can be sent: the wire would make one id of two that differ in halves of surrogate pairs alone. */
function isId(id: unknown): id is string {
  return typeof id === "string" && id !== "" && id.isWellFormed();
}

function madeUp(seen: ReadonlySet<string>, newId: () => string): string {
  const id = `call_${newId()}`;
  return seen.has(id) ? `${id}_${seen.size}` : id;
}

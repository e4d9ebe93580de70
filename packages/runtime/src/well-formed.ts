// Half of a surrogate pair is no character: JSON writes it as an escape that services refuse, or change in their own way.
import type { AssistantMessage, Message, ModelResponse, ToolCall } from "@proviso/core";

/** A message as it may go to a wire: U+FFFD in place of each half surrogate pair. The same object where there is none. */
export function wellFormedMessage<M extends Message>(message: M): M {
  return isWellFormedMessage(message) ? message : (wellFormed(message) as M);
}

/** Returns an answer whose texts are what the deltas have shown, and what the history will have. */
export function wellFormedAnswer(answer: ModelResponse): ModelResponse {
  const { text, reasoning = "" } = answer.message;
  if (text.isWellFormed() && reasoning.isWellFormed()) return answer;
  return { ...answer, message: wellFormedMessage(answer.message) };
}

/** Returns a text without the first half of a surrogate pair at its end: the other half may still come. */
export function withoutLastHalf(text: string): string {
  return (text.charCodeAt(text.length - 1) & 0xfc00) === 0xd800 ? text.slice(0, -1) : text;
}

/** Reads the fields that every message has by their names: to look at each key as well takes four times as long. */
function isWellFormedMessage(message: Message): boolean {
  const fields = message as unknown as Readonly<Record<string, unknown>>;
  for (const key in fields) {
    if (key === "role" || key === "toolCalls" || key === "isError") continue;
    const isKnown = key === "text" || key === "callId" || key === "name";
    if ((!isKnown && !key.isWellFormed()) || !isWellFormed(fields[key], 1)) return false;
  }
  if (message.role !== "assistant") return true;
  for (const call of message.toolCalls) if (!isWellFormedCall(call)) return false;
  return true;
}

function isWellFormedCall(call: ToolCall): boolean {
  const fields = call as unknown as Readonly<Record<string, unknown>>;
  for (const key in fields) {
    const isKnown = key === "id" || key === "name" || key === "arguments";
    if ((!isKnown && !key.isWellFormed()) || !isWellFormed(fields[key], 3)) return false;
  }
  return true;
}

/** Looks without making anything: nearly all messages are. */
function isWellFormed(value: unknown, depth = 0): boolean {
  if (typeof value === "string") return value.isWellFormed();
  if (typeof value !== "object" || value === null || depth > deepest) return true;
  if (Array.isArray(value)) return value.every((item: unknown) => isWellFormed(item, depth + 1));
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return true;
  // Plain objects inherit nothing, and a list of the keys would be made for each of them.
  for (const key in value) {
    if (!key.isWellFormed()) return false;
    if (!isWellFormed((value as Readonly<Record<string, unknown>>)[key], depth + 1)) return false;
  }
  return true;
}

/** Texts and keys, at every depth of plain data; the same reference where nothing has to be changed. */
function wellFormed(value: unknown, depth = 0): unknown {
  if (typeof value === "string") return value.isWellFormed() ? value : value.toWellFormed();
  if (typeof value !== "object" || value === null || depth > deepest) return value;
  if (Array.isArray(value)) {
    const items = value.map((item: unknown) => wellFormed(item, depth + 1));
    return items.some((item, index) => item !== value[index]) ? items : value;
  }
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return value;
  const entries = Object.entries(value);
  const changed = entries.map(([key, item]) => [key.toWellFormed(), wellFormed(item, depth + 1)] as const);
  const isSame = changed.every(([key, item], index) => key === entries[index]?.[0] && item === entries[index]?.[1]);
  return isSame ? value : Object.fromEntries(changed);
}

/** Levels of a provider's own items: deeper than a body may be. */
const deepest = 300;

/**
 * Returns the message with a unique id for every call: missing and malformed ids are made up, repeated ones changed.
 */
export function withUniqueIds(message: AssistantMessage, newId: () => string): AssistantMessage {
  const ids = new Set<string>();
  for (const { id } of message.toolCalls) if (isId(id)) ids.add(id);
  if (ids.size === message.toolCalls.length) return message;
  const seen = new Set<string>();
  const toolCalls = message.toolCalls.map((call): ToolCall => {
    const id = isId(call.id) && !seen.has(call.id) ? call.id : madeUp(seen, newId);
    seen.add(id);
    return id === call.id ? call : { ...call, id };
  });
  // The provider's own items still carry the old ids.
  const { text, reasoning } = message;
  return { role: "assistant", text, toolCalls, ...(reasoning === undefined ? undefined : { reasoning }) };
}

/** Whether an id can be sent: the wire would make one id of two that differ in halves of surrogate pairs alone. */
function isId(id: unknown): id is string {
  return typeof id === "string" && id !== "" && id.isWellFormed();
}

function madeUp(seen: ReadonlySet<string>, newId: () => string): string {
  let id = `call_${newId()}`;
  while (seen.has(id)) id += `_${seen.size}`;
  return id;
}

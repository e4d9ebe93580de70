// The SDK refuses a whole answer for one file in it whose data is not plain base64 or whose type is missing, and a whole
// listing for one null. What the server has done is done: such an answer is written as the protocol wants it before the
// SDK reads it.
import type { JSONRPCMessage, MessageExtraInfo, Transport } from "@modelcontextprotocol/client";
import { isRecord } from "@proviso/core/provider";

type Fields = Readonly<Record<string, unknown>>;

/** Corrects all answers from now on. Call it when the client is connected. */
export function correctAnswers(transport: Transport): void {
  const deliver = transport.onmessage;
  transport.onmessage = (message: JSONRPCMessage, extra?: MessageExtraInfo) => {
    const whole = corrected(message);
    const readable = isTooDeep(whole) ? insteadOf(whole, tooDeep) : whole;
    if (readable !== undefined) deliver?.call(transport, readable, extra);
  };
}

/** Levels of a message that are read. */
export const deepestMessage = 1_000;
const tooDeep = `it is nested deeper than ${deepestMessage} levels`;

/** No recursion: what is looked for would end it. */
function isTooDeep(message: unknown): boolean {
  let level: object[] = [message as object];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > deepestMessage) return true;
    const next: object[] = [];
    for (const each of level)
      for (const item of Object.values(each)) if (typeof item === "object" && item !== null) next.push(item as object);
    level = next;
  }
  return false;
}

/** How the message of an answer begins that stands for one which cannot be read. */
export const unreadable = "its answer cannot be read: ";

/** What the request receives whose answer cannot be read: it would wait in vain. undefined: it is no answer. */
export function insteadOf(message: unknown, why: string): JSONRPCMessage | undefined {
  if (!isRecord(message) || "method" in message) return undefined;
  const { id } = message;
  if (typeof id !== "string" && typeof id !== "number") return undefined;
  // The code of JSON-RPC for what cannot be read.
  return { jsonrpc: "2.0", id, error: { code: -32_700, message: `${unreadable}${why}` } };
}

/** What is neither a result nor an error is passed over by the SDK. */
function isNoAnswer({ result, error }: Fields): boolean {
  return (
    !isRecord(result) && !(isRecord(error) && Number.isInteger(error["code"]) && typeof error["message"] === "string")
  );
}

function corrected(message: JSONRPCMessage): JSONRPCMessage {
  if (isNoAnswer(message as Fields)) return insteadOf(message, "it is not of the protocol") ?? message;
  const result: unknown = "result" in message ? message.result : undefined;
  if (!isRecord(result)) return message;
  const { content, contents, messages, nextCursor } = result;
  const listed = ["tools", "resources", "prompts"].flatMap((name) => {
    const list: unknown = result[name];
    return Array.isArray(list) ? [[name, list.map(name === "tools" ? toolOf : withoutNulls)] as const] : [];
  });
  const more = {
    ...(Array.isArray(content) ? { content: content.map(blockOf) } : {}),
    ...(Array.isArray(contents) ? { contents: contents.map(resourceOf) } : {}),
    ...(Array.isArray(messages) ? { messages: messages.map(turnOf) } : {}),
  };
  const { nextCursor: _, ...rest } = result;
  const whole = nextCursor === null ? rest : result;
  return { ...message, result: { ...whole, ...Object.fromEntries(listed), ...more } } as JSONRPCMessage;
}

/** What is listed, without the fields that are null: that is how servers of some languages leave one out. */
function withoutNulls(listed: unknown): unknown {
  if (!isRecord(listed)) return listed;
  return Object.fromEntries(Object.entries(listed).filter(([, value]) => value !== null));
}

/** Levels of a schema that are read: one with more than 200 is refused by the tool's name (TOOL-18), and reading goes deep. */
const deepestSchema = 300;

/** JSON up to a depth, and `true` in place of what lies deeper. */
function upTo(levels: number, value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (levels === 0) return true;
  if (Array.isArray(value)) return value.map((item) => upTo(levels - 1, item));
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, upTo(levels - 1, item)]));
}

/** A tool without a schema takes whatever object it is given; of its schemas and hints, too, null is left out. */
function toolOf(tool: unknown): unknown {
  const listed = withoutNulls(tool);
  if (!isRecord(listed)) return listed;
  const fields = Object.entries(listed).map(
    ([name, value]) => [name, upTo(deepestSchema, withoutNulls(value))] as const,
  );
  return { inputSchema: { type: "object" }, ...Object.fromEntries(fields) };
}

function turnOf(turn: unknown): unknown {
  return isRecord(turn) && isRecord(turn["content"]) ? { ...turn, content: blockOf(turn["content"]) } : turn;
}

function blockOf(block: unknown): unknown {
  if (!isRecord(block)) return block;
  const { type, data, resource } = block;
  if (type === "resource" && isRecord(resource)) return { ...block, resource: resourceOf(resource) };
  if (type !== "image" && type !== "audio") return block;
  const base64 = base64Of(data);
  if (base64 === undefined) return { type: "text", text: lineOf(type, block) };
  return { ...block, data: base64, mimeType: typeIn(block) ?? "" };
}

function resourceOf(resource: unknown): unknown {
  if (!isRecord(resource) || typeof resource["text"] === "string" || !("blob" in resource)) return resource;
  const { blob, mimeType: _, ...rest } = resource;
  const base64 = base64Of(blob);
  if (base64 === undefined) return { ...rest, text: lineOf("file", resource) };
  const mimeType = typeIn(resource);
  return { ...rest, blob: base64, ...(mimeType === undefined ? {} : { mimeType }) };
}

function typeIn({ mimeType }: Fields): string | undefined {
  return typeof mimeType === "string" ? mimeType : undefined;
}

/** What the model reads of a file whose data cannot be read. */
function lineOf(kind: string, file: Fields): string {
  const what = [kind, typeIn(file) ?? ""].filter((part) => part !== "").join(" ");
  return `[${what}: not shown, its data is not base64]`;
}

/** Base64 of what is base64, base64url, or a data: URL of either; undefined for anything else. */
function base64Of(data: unknown): string | undefined {
  if (typeof data !== "string") return undefined;
  const letters = data
    .replace(/^data:[^,]{0,200};base64,/i, "")
    .replaceAll("-", "+")
    .replaceAll("_", "/");
  try {
    atob(letters);
    return letters;
  } catch {
    return undefined;
  }
}

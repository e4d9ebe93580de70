// What prompts, answers, arguments and results look like in attributes: JSON by the schemas of the conventions.
import type { Message, ToolCall } from "@proviso/core";
import { parseJson, type FinishReason } from "@proviso/core/provider";
import { finishReason } from "./names.ts";

const encoder = /* @__PURE__ */ new TextEncoder();

function bytesOf(text: string): number {
  return encoder.encode(text).length;
}

interface Part {
  readonly type: string;
  readonly [field: string]: unknown;
}

/** The messages of a request but for the system's, and how many of the oldest were left out. */
export interface InputContent {
  readonly json: string;
  readonly dropped: number;
}

/** Goes from the newest message backwards: a request costs the same however many messages it has. */
export function inputMessages(messages: readonly Message[], maxBytes: number): InputContent {
  const kept: string[] = [];
  const system = messages[0]?.role === "system" ? 1 : 0;
  let left = maxBytes - 2;
  for (let index = messages.length - 1; index >= system; index--) {
    const message = messages[index] as Message;
    let json: string | undefined = JSON.stringify({ role: message.role, parts: partsOf(message) });
    // The newest message is cut, so that there is one.
    if (kept.length === 0 && bytesOf(json) > left) json = cutMessage(message, left);
    left -= bytesOf(json ?? "") + 1;
    if (left < -1 || json === undefined) return { json: `[${kept.join(",")}]`, dropped: index + 1 - system };
    kept.unshift(json);
  }
  return { json: `[${kept.join(",")}]`, dropped: 0 };
}

/** The system's instructions of a request; undefined: it has none, or nothing of them fits. */
export function systemInstructions([first]: readonly Message[], maxBytes: number): string | undefined {
  if (first?.role !== "system") return undefined;
  return cut(first.text, maxBytes, (text) => JSON.stringify([{ type: "text", content: text }]));
}

/** The answer of a turn as output messages; undefined: nothing of it fits. */
export function outputMessages(
  answer: {
    readonly text: string;
    readonly toolCalls: readonly ToolCall[];
    readonly reasoning?: string | undefined;
    readonly finishReason: FinishReason;
  },
  maxBytes: number,
): string | undefined {
  const reason = finishReason(answer.finishReason);
  const json = (parts: readonly Part[]): string =>
    JSON.stringify([{ role: "assistant", parts, finish_reason: reason }]);
  const whole = json(answerParts(answer));
  return bytesOf(whole) <= maxBytes ? whole : cut(answer.text, maxBytes, (text) => json([textPart(text)]));
}

/** The tools that are offered, by name. */
export function toolDefinitions(names: readonly string[], maxBytes: number): string | undefined {
  const json = JSON.stringify(names.map((name) => ({ type: "function", name })));
  return names.length === 0 || bytesOf(json) > maxBytes ? undefined : json;
}

/** Any value as JSON of at most so many bytes: one that is longer becomes a text that is cut. undefined: nothing fits. */
export function valueJson(value: unknown, maxBytes: number): string | undefined {
  const json = JSON.stringify(value) ?? "null";
  return bytesOf(json) <= maxBytes ? json : cut(json, maxBytes, (text) => JSON.stringify(text));
}

function textPart(content: string): Part {
  return { type: "text", content };
}

function partsOf(message: Message): readonly Part[] {
  if (message.role === "tool") {
    return [{ type: "tool_call_response", id: message.callId, response: message.text }];
  }
  return message.role === "assistant" ? answerParts(message) : [textPart(message.text)];
}

function answerParts({
  text,
  toolCalls,
  reasoning,
}: {
  readonly text: string;
  readonly toolCalls: readonly ToolCall[];
  readonly reasoning?: string | undefined;
}): readonly Part[] {
  return [
    ...(reasoning === undefined ? [] : [{ type: "reasoning", content: reasoning }]),
    ...(text === "" ? [] : [textPart(text)]),
    ...toolCalls.map(({ id, name, arguments: given }) => ({ type: "tool_call", id, name, arguments: parsed(given) })),
  ];
}

function parsed(text: string): unknown {
  const json = parseJson(text);
  return json.ok ? json.value : text;
}

function cutMessage(message: Message, maxBytes: number): string | undefined {
  return cut(message.text, maxBytes, (text) =>
    JSON.stringify({
      role: message.role,
      parts:
        message.role === "tool"
          ? [{ type: "tool_call_response", id: message.callId, response: text }]
          : [textPart(text)],
    }),
  );
}

/** The longest beginning of the text, by halves, whose JSON has at most so many bytes; undefined: none has. */
function cut(text: string, maxBytes: number, json: (text: string) => string): string | undefined {
  let [fits, tooLong] = [0, text.length + 1];
  if (bytesOf(json("")) > maxBytes) return undefined;
  while (tooLong - fits > 1) {
    const middle = Math.floor((fits + tooLong) / 2);
    if (bytesOf(json(text.slice(0, middle))) <= maxBytes) fits = middle;
    else tooLong = middle;
  }
  return json(text.slice(0, fits).toWellFormed());
}

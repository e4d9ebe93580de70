// Entries of the usual forms are written as lists: the number of the form, milliseconds after the frame's time, then the
// values in the form's order. An entry of any other form is written as an object with its names.
import type { ModelResponse, ToolCall, ToolResult } from "@proviso/core";
import type { EntryContent, RecordedEvent } from "@proviso/runtime/recording";
import { isSame, lastFields, longUsage, shortUsage, type FrameMemory } from "./format-events.ts";

type Fields = { readonly [name: string]: unknown };

/** The place of a form is its number in records: forms are only ever added at the end. */
const forms = [
  { kind: "asked", names: ["turn", "try", "same", "hashes"] },
  { kind: "answered", names: ["answer", "turn", "try"] },
  { kind: "started", names: ["turn", "callId", "idempotencyKey"] },
  { kind: "finished", names: ["turn", "callId", "idempotencyKey"] },
  { kind: "committed", names: ["turn", "callIds"] },
  { kind: "delta", names: ["turn", "try", "text"] },
  { type: "provider.requested", names: ["turn", "attempt", "messages"] },
  {
    type: "provider.responded",
    names: ["turn", "model", "text", "toolCalls", "usage", "finishReason", "durationMs"],
  },
  { type: "tool.requested", names: ["turn", "callId", "name", "arguments"] },
  { type: "tool.invoked", names: ["turn", "callId", "name", "params", "result", "durationMs", "ran"] },
] as const;

type Form = (typeof forms)[number];

interface Numbered {
  readonly number: number;
  readonly names: readonly string[];
}

const numbered: readonly (readonly [string, Numbered])[] = forms.map((form, number) => [
  nameOf(form),
  { ...form, number },
]);
const byName: ReadonlyMap<string, Numbered> = new Map(numbered);

function nameOf(form: Form): string {
  return "kind" in form ? form.kind : form.type;
}

/** Returns the content as a list; undefined: it has no usual form. */
export function listOf(content: EntryContent, at: number): readonly unknown[] | undefined {
  const form = byName.get(content.kind);
  if (form === undefined) return undefined;
  const fields = content as unknown as Fields;
  const list: unknown[] = [form.number, at];
  for (const name of form.names) {
    const value = fields[name];
    if (value === undefined) return undefined;
    list.push(value);
  }
  let count = 0;
  for (const name in fields) if (fields[name] !== undefined && !ofEntry.has(name)) count += 1;
  if (count !== form.names.length) return undefined;
  if (content.kind === "answered") list[2] = shortAnswer(content.answer);
  return list;
}

/** What an entry has beside its content. */
const ofEntry = new Set(["kind", "index", "attempt", "at", "evaluationId", "isVoid"]);

/**
 * Returns the event as a list, where it has exactly the usual fields in the usual order, with the numbers that the frame
 * says; undefined: it has not.
 */
export function eventList(event: RecordedEvent, at: number, memory: FrameMemory): readonly unknown[] | undefined {
  const form = byName.get(event.type);
  if (form === undefined || event.sessionId !== memory.sessionId || event.seq !== memory.seq) return undefined;
  const { names } = form;
  const fields = event as unknown as Fields;
  const list: unknown[] = [form.number, at];
  let place = -1;
  for (const name in fields) {
    if (place === -1) {
      if (name !== "type") return undefined;
    } else if (place < names.length) {
      if (name !== names[place] || fields[name] === undefined) return undefined;
      list.push(fields[name]);
    } else if (name !== lastFields[place - names.length]) return undefined;
    place += 1;
  }
  if (place !== names.length + lastFields.length) return undefined;
  memory.seq += 1;
  shorten(list, event, memory);
  return list;
}

/** What an event repeats of the answer is 0, or the place of the call. */
function shorten(list: unknown[], event: RecordedEvent, memory: FrameMemory): void {
  if (event.type === "provider.responded") {
    list[6] = shortUsage(event.usage);
    const answer = memory.answerOf(event.evaluationId);
    if (event.text === answer?.text) list[4] = 0;
    if (answer !== undefined && isSame(event.toolCalls, answer.toolCalls)) list[5] = 0;
  } else if (event.type === "tool.requested") {
    const answer = memory.answerOf(event.evaluationId);
    const place = answer?.toolCalls.findIndex(({ id }) => id === event.callId) ?? -1;
    if (answer?.toolCalls[place]?.arguments === event.arguments) list[5] = place;
  } else if (event.type === "tool.invoked") list[6] = shortResult(event.result);
}

/** A result that is its value and nothing else is a list of that; any other one stays as it is. */
function shortResult(result: ToolResult): unknown {
  if (!result.success || !hasFields(result, resultFields)) return result;
  const { message, value, hideValue } = result;
  return message === "" && value !== undefined && !hideValue ? [value] : result;
}

function longResult(written: unknown): unknown {
  return Array.isArray(written)
    ? { success: true, message: "", value: written[0] as unknown, hideValue: false }
    : written;
}

const resultFields = ["success", "message", "value", "hideValue"] as const;

/** Returns what a list says, as the object form has it; undefined: it is no list of a form that is known. */
export function fieldsOf(list: readonly unknown[]): Fields | undefined {
  const form = typeof list[0] === "number" ? forms[list[0]] : undefined;
  if (form === undefined || typeof list[1] !== "number" || list.length !== form.names.length + 2) return undefined;
  const fields: Record<string, unknown> = "kind" in form ? { kind: form.kind } : { type: form.type };
  for (let place = 0; place < form.names.length; place++) fields[form.names[place] as string] = list[place + 2];
  if (!("kind" in form)) {
    if (form.type === "tool.invoked") fields["result"] = longResult(fields["result"]);
    return { event: fields, at: list[1] };
  }
  if (form.kind === "answered") fields["answer"] = longAnswer(fields["answer"]);
  fields["at"] = list[1];
  return fields;
}

/** The answer as a list of its text, its calls, how it ended and its usage; any other one as it is. */
function shortAnswer(answer: Extract<EntryContent, { readonly kind: "answered" }>["answer"]): unknown {
  if (answer.failure !== undefined || !hasFields(answer, answerFields)) return answer;
  const { message, finishReason, usage } = answer;
  if (!hasFields(message, messageFields) || usage === undefined) return answer;
  const calls: unknown[] = [];
  for (const call of message.toolCalls) {
    if (!hasFields(call, callFields)) return answer;
    calls.push(call.id, call.name, call.arguments);
  }
  const { text } = message;
  return calls.length === 0 ? [text, finishReason, shortUsage(usage)] : [text, finishReason, shortUsage(usage), calls];
}

function longAnswer(written: unknown): unknown {
  if (!Array.isArray(written)) return written;
  const list: readonly unknown[] = written;
  const [text, finishReason, usage, calls = []] = list as readonly [string, string, unknown, (readonly string[])?];
  // Another program may have written anything there: its form is looked at next.
  if (!Array.isArray(calls)) return undefined;
  const toolCalls: ToolCall[] = [];
  for (let at = 0; at < calls.length; at += 3) {
    toolCalls.push({ id: calls[at] as string, name: calls[at + 1] as string, arguments: calls[at + 2] as string });
  }
  const message: ModelResponse["message"] = { role: "assistant", text, toolCalls };
  return { message, finishReason, usage: longUsage(usage) };
}

const answerFields = ["message", "finishReason", "usage"] as const;
const messageFields = ["role", "text", "toolCalls"] as const;
const callFields = ["id", "name", "arguments"] as const;

/** Whether an object has exactly these fields, in this order. */
function hasFields(object: object, names: readonly string[]): boolean {
  let place = 0;
  for (const name in object) if (name !== names[place++]) return false;
  return place === names.length;
}

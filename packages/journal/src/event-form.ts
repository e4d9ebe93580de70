// What readers of events rely on, field by field.
import type { Usage } from "@proviso/core";
import { isRecord } from "@proviso/core/provider";
import type { RecordedEvent } from "@proviso/runtime/recording";
import {
  anything,
  count,
  flag,
  listOf,
  number,
  optional,
  shape,
  text,
  time,
  type Check,
  type Checks,
} from "./shapes.ts";

/** The fields that all events have. */
type BaseField = keyof RecordedEvent;

type Fields<Type extends RecordedEvent["type"]> = Omit<Extract<RecordedEvent, { readonly type: Type }>, BaseField>;

/** Each type of event with a check for each of its fields: the compiler asks for those of a new one. */
type Table = { readonly [Type in RecordedEvent["type"]]: Checks<Fields<Type>> };

const usage = shape<Usage>({
  inputTokens: number,
  outputTokens: number,
  totalTokens: number,
  cachedInputTokens: number,
  cacheWriteTokens: number,
  reasoningTokens: number,
  costUsd: optional(number),
  unpricedTokens: optional(number),
  estimated: flag,
});
export const toolCall = shape({ id: text, name: text, arguments: text });
/** A reference to a file: what else it has depends on its kind. */
export const file = shape({ kind: text });
const texts = listOf(text);
const some = optional(listOf(isRecord));
const sections = listOf(shape({ path: text, part: text, shown: text, start: count, end: count }));
const limits = shape({ budget: optional(shape({ consumed: usage })), deadline: optional(number), maxTurns: number });
const result: Check = (value) =>
  isRecord(value) && flag(value["success"]) && text(value["message"]) && files(value["files"]);
const files = optional(listOf(file));
const call = { turn: count, callId: text, name: text };
const ended = { promptName: text, usage, turns: count, durationMs: number };

const table: Table = {
  "prompt.rendered": {
    promptName: text,
    adapter: text,
    model: text,
    text,
    tools: texts,
    params: isRecord,
    descriptor: isRecord,
    overrides: optional(shape({ tag: text, applied: texts, stale: texts })),
    sections,
    limits,
    output: text,
    earlierMessages: count,
  },
  "provider.requested": {
    turn: count,
    attempt: count,
    messages: count,
    // oxlint-disable-next-line proviso/plain-words -- the name is part of the public event
    said: optional(texts),
    prompt: optional(shape({ text, sections, tools: texts })),
  },
  "provider.throttled": {
    turn: count,
    attempt: count,
    kind: text,
    delayMs: optional(number),
    retryAfterMs: optional(number),
    route: some,
  },
  "provider.responded": {
    turn: count,
    usage,
    finishReason: text,
    durationMs: number,
    queuedMs: optional(number),
    model: text,
    text,
    toolCalls: listOf(toolCall),
    serviceTier: optional(text),
    reasoning: optional(text),
    sources: some,
    files,
    logprobs: some,
    route: some,
  },
  "provider.tool": { turn: count, callId: text, name: text, input: anything, output: anything, isError: flag },
  "tool.requested": { ...call, arguments: text },
  "tool.progress": { ...call, done: number, total: optional(number), message: optional(text) },
  "tool.invoked": { ...call, params: anything, result, cause: anything, durationMs: number, ran: flag },
  "transaction.failed": { turn: count, operation: text, callIds: texts, message: text },
  "sections.opened": { promptName: text, keys: texts, closed: optional(texts), reason: text },
  "feedback.given": { promptName: text, callId: text, provider: text, text },
  "history.compacted": {
    turn: count,
    why: text,
    before: number,
    after: number,
    elided: texts,
    replaced: count,
    summarised: flag,
    transcript: file,
  },
  "evaluation.restarted": { attempt: count, code: text, provider: text, model: text },
  "run.resumed": {
    runId: text,
    attempt: count,
    keptSteps: count,
    unknown: listOf(shape({ callId: text, name: text })),
    unanswered: optional(shape({ own: usage, inside: usage })),
  },
  "run.suspended": { runId: text, callId: text, name: text, question: text },
  "prompt.executed": { ...ended, output: anything, text: (value) => value === null || text(value) },
  "prompt.failed": { ...ended, code: text, phase: text, message: text },
};

/** What all events have, those of types that are not known too. */
const base = shape<Record<BaseField, unknown>>({
  type: text,
  sessionId: text,
  evaluationId: text,
  parent: optional(shape({ evaluationId: text, callId: text })),
  seq: count,
  at: time,
});

const checks = new Map<string, Check>(Object.entries(table).map(([type, fields]) => [type, shape<object>(fields)]));

/** Whether an event has the fields of its type. Types that are not known are passed over by who reads them. */
export function isEvent(event: unknown): boolean {
  if (!base(event)) return false;
  const check = checks.get((event as { readonly type: string }).type);
  return check === undefined || check(event);
}

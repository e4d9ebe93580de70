// How entries are written: those of the usual forms as lists, any other one with its names, and all come back as they were.
import { bodyOf, entriesOf } from "@proviso/journal/internal";
import type { JournalEntry } from "@proviso/journal";
import { expect, it } from "vitest";

const base = { index: 0, attempt: 1, at: 5, evaluationId: "e", isVoid: false };
const ofEvent = { evaluationId: "e", at: 5, sessionId: "s", seq: 7 };
const usage = {
  inputTokens: 1,
  outputTokens: 2,
  totalTokens: 3,
  cachedInputTokens: 0,
  cacheWriteTokens: 0,
  reasoningTokens: 0,
  estimated: false,
};
const call = { id: "c", name: "add", arguments: "{}" };
const responded = { type: "provider.responded", turn: 1, model: "m", text: "t", toolCalls: [call], usage };
const message = { role: "assistant", text: "t", toolCalls: [call] };
const invoked = { type: "tool.invoked", turn: 1, callId: "c", name: "add", params: {} };
const after = { durationMs: 1, ran: true, ...ofEvent };

const contents: Readonly<Record<string, object>> = {
  asked: { kind: "asked", turn: 1, try: 2, same: 3, hashes: ["x"] },
  "an answer with calls": { kind: "answered", turn: 1, try: 1, answer: { message, finishReason: "stop", usage } },
  "an answer without usage": { kind: "answered", turn: 1, try: 1, answer: { message, finishReason: "stop" } },
  "an answer whose usage has a cost": {
    kind: "answered",
    turn: 1,
    try: 1,
    answer: { message, finishReason: "stop", usage: { inputTokens: 1, costUsd: 0.5 } },
  },
  "an answer with more": {
    kind: "answered",
    turn: 1,
    try: 1,
    answer: { message: { ...message, reasoning: "r" }, finishReason: "stop", usage, model: "m" },
  },
  "an answer whose calls have more": {
    kind: "answered",
    turn: 1,
    try: 1,
    isRedacted: true,
    answer: { message: { ...message, toolCalls: [{ ...call, index: 0 }] }, finishReason: "stop", usage },
  },
  "a failure": { kind: "answered", turn: 1, try: 1, answer: { failure: "provider", reason: "other", message: "no" } },
  started: { kind: "started", turn: 1, callId: "c", idempotencyKey: "k" },
  committed: { kind: "committed", turn: 1, callIds: ["c"] },
  "a delta of a kind": { kind: "delta", turn: 1, try: 1, text: "a", of: "reasoning" },
  requested: { kind: "event", event: { type: "provider.requested", turn: 1, attempt: 1, messages: 2, ...ofEvent } },
  "requested, in another order": {
    kind: "event",
    event: { type: "provider.requested", attempt: 1, turn: 1, messages: 2, ...ofEvent },
  },
  "requested, with more": {
    kind: "event",
    event: { type: "provider.requested", turn: 1, attempt: 1, messages: 2, said: ["x"], ...ofEvent },
  },
  responded: { kind: "event", event: { ...responded, finishReason: "stop", durationMs: 1, ...ofEvent } },
  "responded, with a text that is 0": {
    kind: "event",
    event: { ...responded, text: "0", finishReason: "stop", durationMs: 1, ...ofEvent },
  },
  ...Object.fromEntries(
    Object.entries({
      "its value alone": { success: true, message: "", value: { sum: 3 }, hideValue: false },
      "a list as its value": { success: true, message: "", value: [1, [2]], hideValue: false },
      "the value null": { success: true, message: "", value: null, hideValue: false },
      "no value": { success: true, message: "", hideValue: false },
      "a message": { success: true, message: "m", value: 1, hideValue: false },
      "a value that is hidden": { success: true, message: "", value: 1, hideValue: true },
      files: { success: true, message: "", value: 1, hideValue: false, files: [{ kind: "image", hash: "h" }] },
      "another order": { message: "", success: true, value: 1, hideValue: false },
      "a failure": { success: false, message: "m" },
    }).map(([name, result]) => [`invoked, with ${name}`, { kind: "event", event: { ...invoked, result, ...after } }]),
  ),
  "an event of another time": {
    kind: "event",
    event: { type: "tool.requested", turn: 1, callId: "c", name: "add", arguments: "{}", ...ofEvent, at: 4 },
  },
  "an event of another number": {
    kind: "event",
    event: { type: "tool.requested", turn: 1, callId: "c", name: "add", arguments: "{}", ...ofEvent, seq: 70 },
  },
  "an event of another evaluation": {
    kind: "event",
    event: {
      type: "tool.requested",
      turn: 1,
      callId: "c",
      name: "add",
      arguments: "{}",
      ...ofEvent,
      evaluationId: "x",
    },
  },
  "an event of another session": {
    kind: "event",
    event: { type: "tool.requested", turn: 1, callId: "c", name: "add", arguments: "{}", ...ofEvent, sessionId: "x" },
  },
};

function readAgain(entries: readonly JournalEntry[]): readonly JournalEntry[] {
  const body = bodyOf(1, entries);
  return entriesOf({ run: "r", first: 0, count: entries.length, writer: "w", body, sum: 0, summary: "" }, "test");
}

it("JRN-8 entries of every form come back as they were, alone and behind each other", () => {
  const all = Object.values(contents);
  for (const [name, content] of Object.entries(contents)) {
    const alone = [{ ...base, ...content } as JournalEntry];
    expect(textOf(readAgain(alone)), name).toEqual(textOf(alone));
    const between = [...all, content, ...all].map((each, index) => ({ ...base, ...each, index }) as JournalEntry);
    expect(textOf(readAgain(between)), name).toEqual(textOf(between));
  }
  const inside = [base, { ...base, evaluationId: "inside" }].flatMap((of) => all.map((each) => ({ ...of, ...each })));
  const numbered = inside.map((each, index) => ({ ...each, index }) as JournalEntry);
  expect(textOf(readAgain(numbered))).toEqual(textOf(numbered));
});

/** Events byte for byte; of other entries the order of their fields does not matter. */
function textOf(entries: readonly JournalEntry[]): readonly unknown[] {
  return entries.map((entry) => (entry.kind === "event" ? [entry, JSON.stringify(entry.event)] : entry));
}

it("JRN-8 a frame of version 2 is read, whose results of calls are whole", () => {
  const result = { success: true, message: "", value: { sum: 3 }, hideValue: false };
  const entry = { ...base, kind: "event", event: { ...invoked, result, ...after } } as unknown as JournalEntry;
  const frame = JSON.parse(bodyOf(1, [entry])) as { readonly v: number; readonly e: readonly (readonly unknown[])[] };
  expect([frame.v, frame.e[0]?.[6]]).toEqual([3, [{ sum: 3 }]]);
  const body = JSON.stringify({ ...frame, v: 2, e: [frame.e[0]?.with(6, result)] });
  const read = entriesOf({ run: "r", first: 0, count: 1, writer: "w", body, sum: 0, summary: "" }, "test");
  expect(textOf(read)).toEqual(textOf([entry]));
});

it("JRN-8 a list of a form that is not known is damaged", () => {
  const written = JSON.parse(bodyOf(1, [{ ...base, ...contents["asked"] } as JournalEntry])) as { e: unknown[] };
  for (const list of [[99, 0, 1], [0, 0, 1], [], ["0", 0, 1, 2, 3, []]]) {
    const body = JSON.stringify({ ...written, e: [list] });
    const frame = { run: "r", first: 0, count: 1, writer: "w", body, sum: 0, summary: "" };
    expect(() => entriesOf(frame, "test")).toThrow(expect.objectContaining({ reason: "damaged" }));
  }
});

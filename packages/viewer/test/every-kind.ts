// One entry of each kind, and one event of each type: the compiler asks for those that are added.
import { noUsage } from "@proviso/core/internal";
import type { EntryContent, JournalEntry, RecordedEvent } from "@proviso/runtime/recording";

type Events = {
  readonly [Type in RecordedEvent["type"]]: Omit<Extract<RecordedEvent, { readonly type: Type }>, keyof RecordedEvent>;
};
type Contents = {
  readonly [Kind in Exclude<EntryContent["kind"], "event">]: Omit<
    Extract<EntryContent, { readonly kind: Kind }>,
    "kind"
  >;
};

const call = { turn: 1, callId: "c1", name: "note" };
const toolCall = { id: "c1", name: "note", arguments: '{"text":"a"}' };
const file = { kind: "stored", hash: "0".repeat(64), bytes: 3, mediaType: "text/plain", name: "a.txt" } as const;
const section = { path: "task", part: "section", shown: "full", start: 0, end: 5 } as const;
const route = [{ provider: "model", model: "m" }] as never;
const override = { tag: "latest", sections: { task: { hash: "h", text: "Work." } }, tools: {} };

const events: Events = {
  "prompt.rendered": {
    promptName: "test/every",
    adapter: "model",
    model: "m",
    text: "Work.",
    tools: ["note"],
    params: { name: "Ada" },
    descriptor: { name: "test/every", sections: [], tools: [] } as never,
    overrides: { tag: "latest", applied: ["task"], stale: [] },
    sections: [section],
    limits: { deadline: 60_000, maxTurns: 9, budget: { maxTotalTokens: 100, consumed: noUsage } as never },
    output: "text",
    earlierMessages: 0,
  },
  "provider.requested": {
    turn: 1,
    attempt: 1,
    messages: 1,
    said: ["Go on."],
    prompt: { text: "Work.", sections: [section], tools: ["note"] },
  },
  "provider.throttled": { turn: 1, attempt: 1, kind: "rate-limit" as never, delayMs: 5, retryAfterMs: 5, route },
  "provider.responded": {
    turn: 1,
    usage: noUsage,
    finishReason: "tool-calls",
    durationMs: 5,
    queuedMs: 1,
    model: "m",
    text: "Now.",
    toolCalls: [toolCall],
    serviceTier: "flex",
    reasoning: "Hm.",
    sources: [{ kind: "url", url: "https://example.org", title: "A page" }],
    files: [file],
    logprobs: [{ token: "N", logprob: -1 } as never],
    route,
  },
  "provider.tool": { turn: 1, callId: "p1", name: "search", input: { q: "a" }, output: [], isError: false },
  "tool.requested": { ...call, arguments: toolCall.arguments },
  "tool.progress": { ...call, done: 1, total: 2, message: "half" },
  "tool.invoked": {
    ...call,
    params: { text: "a" },
    result: { success: true, message: "noted", value: 1, hideValue: false, files: [file] },
    durationMs: 5,
    ran: true,
  },
  "transaction.failed": { turn: 1, operation: "rollback", callIds: ["c1"], message: "It failed." },
  "sections.opened": { promptName: "test/every", keys: ["more"], closed: ["less"], reason: "I want more." },
  "feedback.given": { promptName: "test/every", callId: "c1", provider: "tests", text: "They pass." },
  "history.compacted": {
    turn: 1,
    why: "threshold",
    before: 10,
    after: 5,
    elided: ["c1"],
    replaced: 1,
    summarised: true,
    transcript: file,
  },
  "evaluation.restarted": { attempt: 2, code: "provider", provider: "model", model: "m2" },
  "run.resumed": { runId: "every", attempt: 2, keptSteps: 1, unknown: [{ callId: "c1", name: "note" }] },
  "run.suspended": { runId: "every", callId: "c1", name: "note", question: "Shall I?" },
  "prompt.executed": {
    promptName: "test/every",
    output: { done: true },
    text: "Done.",
    usage: noUsage,
    turns: 1,
    durationMs: 9,
  },
  "prompt.failed": {
    promptName: "test/every",
    code: "provider",
    phase: "request",
    message: "No.",
    usage: noUsage,
    turns: 1,
    durationMs: 9,
  },
};

const event = { type: "noted", text: "a" } as never;
const handler = { turn: 1, callId: "c1", idempotencyKey: "k1" };
const asking = { turn: 1, policy: "chief", step: "check", key: "k1" } as const;

const contents: Contents = {
  begun: {
    prompt: "test/every",
    params: { name: "Ada" },
    adapter: "model",
    model: "m",
    nativeOutput: false,
    session: { id: "s1", seq: 0, state: [] },
    options: { maxTurns: 9, maxRepairs: 1 },
    history: {
      messages: [
        { role: "system", text: "Rules." },
        { role: "user", text: "Hello.", files: [{ at: 1, file }] },
        { role: "assistant", text: "Hi.", toolCalls: [toolCall], reasoning: "Hm." },
        { role: "tool", callId: "c1", name: "note", text: "noted" },
      ] as never,
      question: 1,
      earlier: 1,
      added: ["Go on."],
    },
    override,
  },
  resumed: { kept: 6 },
  adopted: { override, params: { name: "Bo" } },
  given: {
    params: { name: "Bo" },
    adapter: "other",
    model: "m2",
    nativeOutput: true,
    options: { maxTurns: 3, maxRepairs: 0, toolChoice: "none", maxDepth: 1 },
    history: { messages: [{ role: "user", text: "Hello." }], question: 0, earlier: 0 },
  },
  dispatched: { event, callId: "c1", before: 4, isInside: true },
  undone: { event, before: 4 },
  asked: { turn: 1, try: 1, same: 0, hashes: ["h"], key: "k", isAgent: true },
  called: { turn: 1, call: toolCall, produced: 5 },
  delta: { turn: 1, try: 1, text: "No", of: "reasoning" },
  answered: {
    turn: 1,
    try: 1,
    answer: {
      message: { role: "assistant", text: "Now.", toolCalls: [toolCall], reasoning: "Hm.", files: [{ at: 0, file }] },
      finishReason: "tool-calls",
      usage: { inputTokens: 5, costUsd: 0.1 },
      model: "m",
      queuedMs: 2,
    },
    isRedacted: true,
    produced: 5,
  },
  waited: { value: 1 },
  attempt: {},
  drew: { value: { costUsd: 0.1 } },
  lasting: {},
  fixed: {},
  started: handler,
  finished: handler,
  changed: { turn: 1, callId: "c1", resource: "files", changes: ["a"] },
  committed: { turn: 1, callIds: ["c1"] },
  checked: { missing: "A test." },
  stopped: { by: "race", failure: { stop: "deadline" }, produced: 5 },
  suspended: {
    ...asking,
    pending: { callId: "c1", tool: "note", input: {}, question: "Shall I?", about: "decision", expiresAt: 60_000 },
    tokenHash: "hash",
  },
  resolved: { ...asking, callId: "c1", decision: { allowed: false, reason: "No." } },
  cancelled: { reason: "Enough." },
  ended: { outcome: "failed", goesOn: true, staysOpen: true },
};

/** The entries, each of them once; they come in no order that a run has. */
export function everyKind(): readonly JournalEntry[] {
  const base = { attempt: 1, evaluationId: "e1", isVoid: false };
  const kept = Object.entries(contents).map(([kind, content]) => ({ kind, ...content }));
  const emitted = Object.entries(events).map(([type, fields], seq) => ({
    kind: "event",
    event: { type, ...fields, parent: undefined, evaluationId: "e1", at: seq + 1, sessionId: "s1", seq },
  }));
  const [begun, ...others] = kept;
  return [begun, ...emitted, ...others].map((entry, index) => ({ ...base, ...entry, index, at: index }) as never);
}

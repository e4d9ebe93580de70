// Tables of the structure in an evaluation's events, errors and logs. All else is text or data of others, and only that
// is redacted. A secret may be a word that we use ourselves, or the name of a tool.
import type {
  AppEvent,
  EvaluationDetails,
  FileRef,
  FrameworkEvent,
  Message,
  ModelFailure,
  RejectedParams,
  RenderedSection,
  SchemaIssue,
  Source,
  ToolCall,
  ToolResult,
} from "@proviso/core";
import { builtInTools, frozenInDepth } from "@proviso/core/internal";
import { isRecord } from "@proviso/core/provider";
import { isFailure, type Failure } from "../failures.ts";
import type { BareEvent } from "../session/session-core.ts";
import type { Secrets, Redact } from "../secrets.ts";

/**
 * How a field is treated. "kept": a name, an id, a number or a word of ours. "data": text or data that is not ours,
 * with the keys in it. "tool": kept where the prompt has a tool of that name; others are a model's invention. A shape:
 * an object of ours whose keys stay, or a list of such objects.
 */
type Treatment = "kept" | "data" | "tool" | Shape;
/** What it does not name is "data". */
type Shape = { readonly [field: string]: Treatment };

type KeyOf<T> = T extends unknown ? keyof T : never;
/** Names every field: a new one has to be decided on. */
type ShapeOf<T, Left extends PropertyKey = never> = { readonly [K in Exclude<KeyOf<T> & string, Left>]-?: Treatment };
type OfEveryEvent = "type" | "sessionId" | "evaluationId" | "parent" | "seq" | "at";

const kept = "kept";
const data = "data";
const rejectedParams: ShapeOf<RejectedParams> = { rawArguments: data, error: data };
/** An upload's ids are data with their keys: people write both. */
const file: ShapeOf<FileRef> = {
  kind: kept,
  name: data,
  mediaType: kept,
  detail: kept,
  hash: kept,
  bytes: kept,
  width: kept,
  height: kept,
  url: data,
  ids: data,
};
const toolResult: ShapeOf<ToolResult> = { success: kept, message: data, value: data, hideValue: kept, files: file };

const toolCall: ShapeOf<ToolCall> = { id: kept, name: "tool", arguments: data };
const section: ShapeOf<RenderedSection> = {
  path: kept,
  part: kept,
  start: kept,
  end: kept,
  shown: kept,
  replaced: data,
};
const source: ShapeOf<Source> = { kind: kept, url: data, title: data, fileName: data, at: kept };

const openCall = { callId: kept, name: "tool" } as const;
const events: { readonly [E in FrameworkEvent as E["type"]]: ShapeOf<E, OfEveryEvent> } = {
  "prompt.rendered": {
    promptName: kept,
    adapter: kept,
    model: kept,
    text: data,
    tools: kept,
    params: data,
    descriptor: kept,
    overrides: kept,
    sections: section,
    limits: kept,
    output: kept,
    earlierMessages: kept,
  },
  "provider.requested": {
    turn: kept,
    attempt: kept,
    messages: kept,
    // oxlint-disable-next-line proviso/plain-words -- the name is part of the public event
    said: data,
    prompt: { text: data, sections: section, tools: kept },
  },
  "run.resumed": { runId: kept, attempt: kept, keptSteps: kept, unknown: openCall, unanswered: kept },
  "provider.throttled": { turn: kept, attempt: kept, kind: kept, delayMs: kept, retryAfterMs: kept, route: data },
  "provider.responded": {
    turn: kept,
    usage: kept,
    finishReason: kept,
    durationMs: kept,
    queuedMs: kept,
    files: file,
    model: data,
    text: data,
    toolCalls: toolCall,
    serviceTier: data,
    reasoning: data,
    sources: source,
    logprobs: data,
    route: data,
  },
  "run.suspended": { runId: kept, callId: kept, name: kept, question: data },
  // Deltas are redacted before they are cut: a secret may come in pieces.
  "text.delta": { turn: kept, text: kept },
  "reasoning.delta": { turn: kept, text: kept },
  "provider.tool": { turn: kept, callId: kept, name: "tool", input: data, output: data, isError: kept },
  "text.reset": { turn: kept },
  "output.delta": { turn: kept, partial: data },
  "tool.requested": { turn: kept, callId: kept, name: "tool", arguments: data },
  "tool.progress": { turn: kept, callId: kept, name: "tool", done: kept, total: kept, message: data },
  "tool.invoked": {
    turn: kept,
    callId: kept,
    name: "tool",
    params: rejectedParams,
    result: toolResult,
    // Redacted by itself: it is no enumerable field.
    cause: kept,
    durationMs: kept,
    ran: kept,
  },
  "transaction.failed": { turn: kept, operation: kept, callIds: kept, message: data },
  "sections.opened": { promptName: kept, keys: kept, closed: kept, reason: data },
  "feedback.given": { promptName: kept, callId: kept, provider: kept, text: data },
  "history.compacted": {
    turn: kept,
    why: kept,
    before: kept,
    after: kept,
    elided: kept,
    replaced: kept,
    summarised: kept,
    transcript: kept,
  },
  "evaluation.restarted": { attempt: kept, code: kept, provider: kept, model: kept },
  "prompt.executed": { promptName: kept, output: data, text: data, usage: kept, turns: kept, durationMs: kept },
  "prompt.failed": {
    promptName: kept,
    code: kept,
    phase: kept,
    message: data,
    usage: kept,
    turns: kept,
    durationMs: kept,
  },
};

const message: ShapeOf<Message> = {
  role: kept,
  text: data,
  toolCalls: toolCall,
  reasoning: data,
  providerItems: data,
  callId: kept,
  name: "tool",
  isError: kept,
  cacheAt: kept,
  full: kept,
  // The bytes are found by the references, which therefore stay the same objects.
  files: kept,
};
const details: ShapeOf<EvaluationDetails> = {
  phase: kept,
  promptName: kept,
  providerPayload: data,
  usage: kept,
  messages: message,
  // Events, which were redacted when they were made.
  toolResults: kept,
  cause: data,
};
const issue: ShapeOf<SchemaIssue> = { path: data, message: data };
const failure: ShapeOf<Failure | ModelFailure> = {
  rateLimit: kept,
  route: data,
  stop: kept,
  failure: kept,
  phase: kept,
  option: kept,
  message: data,
  cause: data,
  payload: data,
  usage: kept,
  expiresAt: kept,
  dimension: kept,
  limit: kept,
  spent: kept,
  reserved: kept,
  wanted: kept,
  tracker: kept,
  text: data,
  reason: kept,
  status: kept,
  exitCode: kept,
  signal: kept,
  stderr: data,
  // The faults were redacted when they were reported.
  faults: kept,
  kind: kept,
  retryAfterMs: kept,
  retry: kept,
  attempts: kept,
  waitedFor: kept,
  heldBy: data,
  rawText: data,
  issues: issue,
  unlisted: kept,
};
/** The fields of log records; their keys are all ours. */
const logFields: Shape = {
  promptName: kept,
  evaluationId: kept,
  callId: kept,
  tool: "tool",
  code: kept,
  phase: kept,
  kind: kept,
  type: kept,
  checker: kept,
  provider: kept,
  model: kept,
};
const appEvent: Shape = { type: kept };

/** Redacts what an evaluation shows of itself. */
export interface Redaction {
  readonly event: (event: BareEvent) => BareEvent;
  /** Redacts an event of the application; its schema names its keys. */
  readonly appEvent: <T extends AppEvent>(event: T) => T;
  readonly failure: <T extends Failure | ModelFailure>(failure: T) => T;
  readonly details: <T extends Partial<EvaluationDetails>>(details: T) => T;
  readonly log: (fields: object) => object;
  readonly value: Redact;
}

const same = <T>(value: T): T => value;
const none: Redaction = { event: same, appEvent: same, failure: same, details: same, log: same, value: same };

/** `tools`: the keys are the names of those that the prompt has. */
export function redactionOf(secrets: Secrets | undefined, tools: object = {}): Redaction {
  if (secrets === undefined) return none;
  const { redact } = secrets;
  const isTool = (name: unknown): boolean =>
    typeof name === "string" && (Object.hasOwn(tools, name) || builtInTools.some((own) => own === name));

  const treat = (value: unknown, how: Treatment): unknown => {
    if (how === "kept" || (how === "tool" && isTool(value))) return value;
    if (typeof how !== "object") return redact(value);
    if (Array.isArray(value)) return listOf(value, (item) => treat(item, how));
    return isRecord(value) ? fields(value, how, redact) : redact(value);
  };
  const fields = <T extends object>(object: T, shape: Shape, key: (name: string) => string): T => {
    const entries = Object.entries(object).map(([name, value]: [string, unknown]) => {
      const how = Object.hasOwn(shape, name) ? shape[name] : undefined;
      return [how === undefined ? key(name) : name, treat(value, how ?? data), name, value] as const;
    });
    const changed = entries.some(([name, value, nameBefore, before]) => name !== nameBefore || value !== before);
    return changed ? (Object.fromEntries(entries) as T) : object;
  };
  return {
    event: (event) => {
      let copy: Record<string, unknown> | undefined;
      for (const [field, how] of dataOf.get(event.type) ?? []) {
        const value: unknown = (event as unknown as Record<string, unknown>)[field];
        const shown = treat(value, how);
        if (shown !== value) (copy ??= { ...event })[field] = shown;
      }
      return (copy as BareEvent | undefined) ?? event;
    },
    appEvent: (event) => fields(event, appEvent, same),
    failure(given) {
      const shown = fields(given, failure, same);
      // The copy has the brand of a failure, too.
      return given !== shown && isFailure(given) ? { ...given, ...shown } : shown;
    },
    details: (given) => fields(given, details, same),
    log: (record) => fields(record, logFields, same),
    value: redact,
  };
}

/** What has to be looked at in an event. */
const dataOf: ReadonlyMap<string, readonly (readonly [string, Treatment])[]> = /* @__PURE__ */ new Map(
  /* @__PURE__ */ Object.entries(events).map(([type, shape]) => [
    type,
    Object.entries<Treatment>(shape).filter(([, how]) => how !== "kept"),
  ]),
);

function listOf(list: readonly unknown[], each: (item: unknown) => unknown): readonly unknown[] {
  const items = list.map(each);
  // What takes the place of messages cannot be changed either.
  return items.every((item, index) => item === list[index]) ? list : frozenInDepth(items);
}

// What readers of entries rely on. The sum of a frame shows mistakes of a disk; this shows those of another program.
import type { EntryBase, EntryContent, EntryOf } from "@proviso/runtime/recording";
import { oddInJson } from "@proviso/core/internal";
import { isRecord } from "@proviso/core/provider";
import { file, isEvent, toolCall } from "./event-form.ts";
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
  wholeFrom,
  type Check,
  type Checks,
} from "./shapes.ts";

type Content<Kind extends EntryContent["kind"]> = Omit<Extract<EntryContent, { readonly kind: Kind }>, "kind">;

/** Each kind of entry with a check for each of its fields: the compiler asks for those of a new one. */
type Table = { readonly [Kind in EntryContent["kind"]]: Checks<Content<Kind>> };

const placed = optional(listOf(shape({ at: count, file })));
const feedback = optional(listOf(isRecord));
const assistant = shape({
  text,
  toolCalls: listOf(toolCall),
  reasoning: optional(text),
  providerItems: anything,
  files: placed,
});
const messages: Readonly<Record<string, Check>> = {
  assistant,
  system: shape({ text, files: placed }),
  user: shape({ text, files: placed }),
  tool: shape({ callId: text, name: text, text, files: placed }),
};
const message: Check = (value) => {
  if (!isRecord(value) || typeof value["role"] !== "string") return false;
  return Object.hasOwn(messages, value["role"]) && messages[value["role"]]!(value);
};
const history = shape({
  messages: listOf(message),
  question: optional(count),
  earlier: optional(count),
  added: optional(listOf(text)),
});
const toolChoice: Check = (value) =>
  value === "auto" || value === "none" || value === "required" || (isRecord(value) && text(value["tool"]));
/** What an evaluation is given again, which refuses anything else. */
const options = shape<EntryOf<"begun">["options"]>({
  maxTurns: optional(wholeFrom(1)),
  maxRepairs: optional(wholeFrom(0)),
  toolChoice: optional(toolChoice),
  maxDepth: optional(wholeFrom(0)),
});
const sliceFields: Checks<{ name: unknown; kind: unknown; state: unknown }> = {
  name: text,
  kind: (value) => value === "state" || value === "log",
  state: (value) => oddInJson(value) === undefined,
};
const isSlice = shape(sliceFields);
const slice: Check = (value) => isSlice(value) && Object.keys(value as object).every((key) => key in sliceFields);
const slices: Check = (value) =>
  listOf(slice)(value) && new Set((value as { name: string }[]).map(({ name }) => name)).size === (value as []).length;
/** A session's JSON; the slices of a prompt check their states. */
const session = shape({
  id: (value) => text(value) && value !== "",
  seq: (value) => wholeFrom(0)(value) && (value as number) <= 2 ** 52,
  state: slices,
});
const override = optional(shape({ tag: text, sections: isRecord, tools: isRecord }));
/** What a provider reports may have a part of the numbers. */
const reported: Check = (value) => isRecord(value) && Object.values(value).every((each) => number(each) || flag(each));
const failed = shape({ failure: text, message: text, usage: optional(reported), route: optional(listOf(isRecord)) });
const responded = shape({
  message: assistant,
  finishReason: text,
  usage: optional(reported),
  model: optional(text),
  refusal: optional(text),
  sources: feedback,
  providerCalls: feedback,
  logprobs: feedback,
  route: feedback,
  serviceTier: optional(text),
  queuedMs: optional(number),
});
const answer: Check = (value) => isRecord(value) && (value["failure"] === undefined ? responded(value) : failed(value));
/** An event of the application: what it holds is the application's. */
const appEvent = shape({ type: text });
const pending = shape({
  callId: text,
  tool: text,
  input: anything,
  question: text,
  details: anything,
  about: text,
  expiresAt: optional(time),
});
const decision: Check = (value) => {
  if (!isRecord(value)) return false;
  const { allowed, reason, result } = value;
  if (result !== undefined) return isRecord(result) && flag(result["success"]) && text(result["message"]);
  return allowed === true || (allowed === false && text(reason));
};
const ofCall = { turn: count, callId: text };
const begun = { ...ofCall, idempotencyKey: text };
const asking = { turn: count, policy: text, step: text, key: optional(text) };

const table: Table = {
  begun: {
    prompt: text,
    params: anything,
    adapter: text,
    model: text,
    nativeOutput: flag,
    session,
    options,
    history: optional(history),
    override,
  },
  resumed: { kept: count },
  adopted: { override, params: anything },
  given: {
    params: anything,
    adapter: optional(text),
    model: optional(text),
    nativeOutput: optional(flag),
    options: optional(options),
    history: optional(history),
  },
  event: { event: isEvent },
  dispatched: {
    event: appEvent,
    callId: optional(text),
    before: optional(count),
    order: optional(count),
    isInside: optional(flag),
  },
  undone: { event: appEvent, before: count, order: optional(count) },
  asked: { turn: count, try: count, same: count, hashes: listOf(text), key: optional(text), isAgent: optional(flag) },
  called: { turn: count, call: toolCall, produced: optional(number) },
  delta: { turn: count, try: count, text, of: optional(text) },
  answered: { turn: count, try: count, answer, isRedacted: optional(flag), produced: optional(number) },
  waited: { value: anything },
  attempt: {},
  drew: { value: anything },
  lasting: {},
  fixed: {},
  started: begun,
  finished: begun,
  changed: { ...ofCall, resource: text, changes: anything },
  committed: { turn: count, callIds: listOf(text) },
  checked: { missing: optional(text) },
  stopped: { by: text, failure: isRecord, produced: optional(number) },
  suspended: { ...asking, pending, tokenHash: text },
  resolved: { ...asking, callId: text, decision },
  cancelled: { reason: optional(text) },
  ended: {
    outcome: (value) => value === "executed" || value === "failed",
    goesOn: optional(flag),
    staysOpen: optional(flag),
    isEmpty: optional(flag),
    leaves: optional(shape({ count, hash: text })),
  },
};

const base = shape<Pick<EntryBase, "at" | "evaluationId">>({ at: time, evaluationId: text });

const checks = new Map<string, Check>(Object.entries(table).map(([kind, fields]) => [kind, shape<object>(fields)]));

/** Whether an entry has the fields of its kind. Kinds that are not known are passed over by who reads them. */
export function hasItsForm(entry: object): boolean {
  const { kind } = entry as { readonly kind?: unknown };
  if (typeof kind !== "string" || !base(entry)) return false;
  const check = checks.get(kind);
  return check === undefined || check(entry);
}

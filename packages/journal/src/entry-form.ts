// What readers of entries rely on. The sum of a frame shows mistakes of a disk; this shows those of another program.
import { isRecord } from "@proviso/core/provider";
import type { EntryContent } from "@proviso/runtime/recording";

type Fields = Readonly<Record<string, unknown>>;

const isText = (value: unknown): boolean => typeof value === "string";
const isCount = (value: unknown): boolean => Number.isSafeInteger(value);
const always = (): boolean => true;

const forms: Readonly<Record<EntryContent["kind"], (entry: Fields) => boolean>> = {
  begun: ({ prompt, model, session, options }) =>
    [prompt, model].every(isText) &&
    isRecord(options) &&
    isRecord(session) &&
    isText(session["id"]) &&
    isCount(session["seq"]) &&
    Array.isArray(session["state"]) &&
    session["state"].every(isRecord),
  adopted: always,
  resumed: ({ kept }) => isCount(kept),
  event: ({ event }) => isRecord(event) && isText(event["type"]) && hasField(event),
  dispatched: ({ event }) => isRecord(event) && isText(event["type"]),
  undone: ({ event, before }) => isRecord(event) && isText(event["type"]) && isCount(before),
  asked: ({ hashes }) => Array.isArray(hashes),
  called: ({ call }) => isRecord(call) && [call["id"], call["name"], call["arguments"]].every(isText),
  delta: ({ text }) => isText(text),
  answered: ({ answer }) => isRecord(answer) && (answer["failure"] !== undefined || isMessage(answer["message"])),
  waited: always,
  attempt: always,
  drew: always,
  lasting: always,
  started: ({ callId }) => isText(callId),
  finished: ({ callId }) => isText(callId),
  changed: ({ callId, resource }) => [callId, resource].every(isText),
  committed: ({ callIds }) => Array.isArray(callIds) && callIds.every(isText),
  checked: always,
  stopped: ({ failure }) => isRecord(failure),
  suspended: ({ pending, tokenHash }) => isRecord(pending) && isText(pending["callId"]) && isText(tokenHash),
  resolved: ({ callId, decision }) => isText(callId) && isRecord(decision),
  cancelled: always,
  ended: ({ outcome }) => isText(outcome),
};

/** The field of an event that its readers look into. */
const fieldOf: Readonly<Record<string, string>> = {
  "tool.invoked": "result",
  "provider.responded": "usage",
  "prompt.executed": "usage",
  "prompt.failed": "usage",
};

function hasField(event: Fields): boolean {
  const type = String(event["type"]);
  return !Object.hasOwn(fieldOf, type) || isRecord(event[fieldOf[type] as string]);
}

function isMessage(message: unknown): boolean {
  return isRecord(message) && isText(message["text"]) && Array.isArray(message["toolCalls"]);
}

/** Whether an entry has the fields of its kind. Kinds that are not known are passed over by who reads them. */
export function hasItsForm(entry: object): boolean {
  const fields = entry as Fields;
  const { kind } = fields;
  if (typeof kind !== "string") return false;
  return !Object.hasOwn(forms, kind) || forms[kind as EntryContent["kind"]](fields);
}

// How entries are written into frames. Each frame names the version of the format and the attempt that made it. What
// another entry of the frame says already is written as a number: whole texts are written once.
import { JournalError } from "@proviso/core";
import { parseOwnJson } from "@proviso/core/internal";
import { isRecord } from "@proviso/core/provider";
import {
  contentOf,
  type KeptEntry,
  type EntryContent,
  type JournalEntry,
  type RecordedEvent,
} from "@proviso/runtime/recording";
import { hasItsForm } from "./entry-form.ts";
import { FrameMemory, longEvent, shortEvent, type ShortEvent } from "./format-events.ts";
import { eventList, fieldsOf, listOf } from "./format-lists.ts";
import type { Frame } from "./store.ts";

/**
 * 2: entries of the usual forms are lists, and the number of the first event stands in the frame. 3: the result of a call that
 * is its value alone is a list of that.
 */
const version = 3;

/** An entry without what its frame says: `at` counts from the frame's time, and is left out where it is 0. */
interface ShortEntry {
  readonly at?: number | undefined;
  /** The place of the evaluation in the frame's list; left out: the first. */
  readonly evaluationId?: number | undefined;
  /** The whole entry of an event. */
  readonly event?: ShortEvent | undefined;
}

/** What a frame's body is. */
interface Body {
  readonly v: number;
  /** The number of the attempt. */
  readonly a: number;
  /** The time of its first entry, in epoch milliseconds. */
  readonly t: number;
  /** The ids of its evaluations. */
  readonly i: readonly string[];
  /** The id of the session of its first event; null: it has none. */
  readonly s: string | null;
  /** The number of its first event; left out: it has none, or that says it itself. */
  readonly n?: number | undefined;
  readonly e: readonly (ShortEntry | readonly unknown[])[];
}

/** Returns the body of a frame. */
export function bodyOf(attempt: number, entries: readonly (JournalEntry | KeptEntry)[]): string {
  const t = entries[0]?.at ?? 0;
  const i: string[] = [];
  const memory = new FrameMemory();
  let n: number | undefined;
  const e = entries.map((entry): ShortEntry | readonly unknown[] => {
    let evaluation = i.indexOf(entry.evaluationId);
    if (evaluation === -1) evaluation = i.push(entry.evaluationId) - 1;
    const content = contentOf(entry);
    const { at, evaluationId } = entry;
    if (content.kind === "answered") memory.answered({ evaluationId, answer: content.answer });
    if (content.kind === "event") {
      const { event } = content;
      memory.sessionId ??= event.sessionId;
      if (n === undefined) memory.seq = n = event.seq;
    }
    const list = evaluation === 0 ? listedEntry(content, evaluationId, at - t, memory, at) : undefined;
    if (list !== undefined) return list;
    const base = {
      at: at === t ? undefined : at - t,
      evaluationId: evaluation === 0 ? undefined : evaluation,
    };
    if (content.kind === "event")
      return { ...base, event: shortEvent({ event: content.event, evaluationId, at }, memory) };
    // The time and the evaluation are written shorter, and the frame says the rest.
    const rest = { ...content, index: undefined, attempt: undefined, isVoid: undefined, ...base };
    return rest as unknown as ShortEntry;
  });
  // JSON escapes what a database would change: a NUL, and half of a surrogate pair.
  return JSON.stringify({ v: version, a: attempt, t, i, s: memory.sessionId ?? null, n, e } satisfies Body);
}

/** Returns the entries of a frame. @throws {JournalError} "newer" for a later format, "damaged" for text that is no body of a frame. */
export function entriesOf(frame: Frame, store: string): readonly JournalEntry[] {
  const { a, t, i, s, n, e } = parsed(frame, store);
  const memory = new FrameMemory(s ?? undefined, n);
  return e.map((given, place): JournalEntry => {
    const short: ShortEntry | undefined = Array.isArray(given) ? fieldsOf(given) : (given as ShortEntry);
    if (short === undefined) {
      throw unreadable(frame, store, "damaged", `entry ${frame.first + place} is a list of another form`);
    }
    const { at = 0, evaluationId = 0 } = short;
    const base = {
      index: frame.first + place,
      attempt: a,
      at: t + at,
      evaluationId: i[evaluationId] ?? "",
      isVoid: false,
    };
    const isShort = isRecord(short.event) && !("kind" in short);
    // No one else has what was just read: it is completed where it is.
    const entry = isShort
      ? { ...base, kind: "event" as const, event: longEvent(short.event, base, memory) as unknown as RecordedEvent }
      : (Object.assign(short, base) as unknown as JournalEntry);
    if (!hasItsForm(entry)) throw unreadable(frame, store, "damaged", `entry ${base.index} has another form`);
    if (entry.kind === "answered") memory.answered(entry);
    return entry;
  });
}

/** The entry as a list; undefined: it has no usual form. */
function listedEntry(
  content: EntryContent,
  evaluationId: string,
  after: number,
  memory: FrameMemory,
  at: number,
): readonly unknown[] | undefined {
  if (content.kind !== "event") return listOf(content, after);
  const { event } = content;
  return event.evaluationId === evaluationId && event.at === at ? eventList(event, after, memory) : undefined;
}

function isWritten(entry: unknown): boolean {
  return isRecord(entry) || Array.isArray(entry);
}

function unreadable({ run, first }: Frame, store: string, reason: "newer" | "damaged", why: string): JournalError {
  const message = `The record of the run "${run}" in ${store} cannot be read from entry ${first} on: ${why}.`;
  return new JournalError(message, { reason, run });
}

function parsed(frame: Frame, store: string): Body {
  const fail = (reason: "newer" | "damaged", why: string): JournalError => unreadable(frame, store, reason, why);
  const read = parseOwnJson(frame.body);
  if (!read.ok) throw fail("damaged", read.error);
  const body = read.value;
  if (!isRecord(body) || typeof body["v"] !== "number") throw fail("damaged", "it has no version");
  if (body["v"] > version)
    throw fail("newer", `it has version ${body["v"]} of the format, and this release reads ${version}`);
  const { e, i, t } = body;
  if (!Array.isArray(e) || e.length !== frame.count) throw fail("damaged", "its entries are not as many as it says");
  if (!Array.isArray(i) || typeof t !== "number" || !Number.isSafeInteger(body["a"]) || !e.every(isWritten))
    throw fail("damaged", "it has another form");
  return body as unknown as Body;
}

// How entries are written into frames. Each frame names the version of the format and the attempt that made it.
import { JournalError } from "@proviso/core";
import { isRecord, parseJson } from "@proviso/core/provider";
import type { EntryContent, JournalEntry } from "@proviso/runtime/recording";
import type { Frame } from "./store.ts";

const version = 1;

/** What a frame's body is: a list of entries without what the frame or their event says already. */
interface Body {
  readonly v: number;
  /** The number of the attempt. */
  readonly a: number;
  readonly e: readonly (Omit<JournalEntry, "index" | "attempt" | "isVoid" | "at" | "evaluationId"> & {
    readonly at?: number;
    readonly evaluationId?: string;
  })[];
}

/** Returns the body of a frame. */
export function bodyOf(attempt: number, entries: readonly JournalEntry[]): string {
  const e = entries.map((entry) => {
    const { index: _index, attempt: _attempt, isVoid: _isVoid, ...rest } = entry;
    if (rest.kind !== "event") return rest;
    // The event has both.
    return { kind: rest.kind, event: rest.event };
  });
  // JSON escapes what a database would change: a NUL, and half of a surrogate pair.
  return JSON.stringify({ v: version, a: attempt, e } satisfies Body);
}

/** Returns the entries of a frame. @throws {JournalError} "newer" for a later format, "damaged" for text that is no body of a frame. */
export function entriesOf(frame: Frame, store: string): readonly JournalEntry[] {
  const body = parsed(frame, store);
  return body.e.map((entry, at): JournalEntry => {
    const base = { index: frame.first + at, attempt: body.a, isVoid: false };
    const rest = entry as unknown as EntryContent & { readonly at: number; readonly evaluationId: string };
    if (rest.kind !== "event") return { ...base, ...rest };
    const { event } = rest;
    return { ...base, at: event.at, evaluationId: event.evaluationId, kind: "event", event };
  });
}

function parsed(frame: Frame, store: string): Body {
  const fail = (reason: "newer" | "damaged", why: string): JournalError => {
    const message = `The record of the run "${frame.run}" in ${store} cannot be read from entry ${frame.first} on: ${why}.`;
    return new JournalError(message, { reason, run: frame.run });
  };
  const read = parseJson(frame.body, { maxLength: Infinity, maxDepth: Infinity });
  if (!read.ok) throw fail("damaged", read.error);
  const body = read.value;
  if (!isRecord(body) || typeof body["v"] !== "number") throw fail("damaged", "it has no version");
  if (body["v"] > version)
    throw fail("newer", `it has version ${body["v"]} of the format, and this release reads ${version}`);
  if (!Array.isArray(body["e"]) || body["e"].length !== frame.count)
    throw fail("damaged", "its entries are not as many as it says");
  return body as unknown as Body;
}

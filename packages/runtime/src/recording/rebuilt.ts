// The session of a run, from its record alone.
import type { Session, Slice } from "@proviso/core";
import { openedSections } from "@proviso/core/internal";
import { coreOf } from "../session/session-core.ts";
import { sessionFormat } from "../session/session-json.ts";
import { restoreSession } from "../session/session.ts";
import type { JournalEntry } from "./entries.ts";
import { reduceAll } from "./kept-calls.ts";

/**
 * Returns the session as it was after these entries: the one that the run began with, and what was emitted and dispatched
 * since, reduced again.
 * @throws {DefinitionError} for slices that do not fit.
 */
export function sessionAfter(entries: readonly JournalEntry[], slices: readonly Slice[]): Session {
  const [begun] = entries;
  if (begun?.kind !== "begun") return restoreSession(undefined, { slices });
  const known = new Set([...slices, openedSections].map(({ name }) => name));
  const state = (begun.session.state as readonly { readonly name: string }[]).filter(({ name }) => known.has(name));
  const { id, seq } = begun.session;
  const session = restoreSession({ format: sessionFormat, version: 1, id, seq, slices: state }, { slices });
  reduceAll(entries.slice(1), coreOf(session));
  return session;
}

// The session of a run: the one that it began with, whichever process goes on.
import { DefinitionError, type EvaluateOptions, type Prompt, type Session, type Slice } from "@proviso/core";
import { canonicalJson, openedSections } from "@proviso/core/internal";
import { readOption } from "../failures.ts";
import { isSaved } from "../content/saved-sessions.ts";
import { coreOf, type SessionCore } from "../session/session-core.ts";
import { sessionFormat } from "../session/session-json.ts";
import { callToReplay } from "./fault.ts";
import { createSession, restoreSession } from "../session/session.ts";
import type { JournalEntry } from "./entries.ts";
import type { RunSource } from "./run-source.ts";

/** A session, and what it held when the run began. */
export interface RecordedSession {
  readonly core: SessionCore;
  /** The slices of its JSON. */
  readonly state: unknown;
  readonly seq: number;
}

type SavedSlices = readonly { readonly name: string }[];

/** Returns the session of a run. @throws an option's fault for one that is not the recorded one. */
export function recordedSession(
  begun: JournalEntry | undefined,
  options: EvaluateOptions,
  prompt: Prompt,
  of: Pick<RunSource, "mode"> & { readonly runId: string; readonly isEnded?: boolean; newId(): string },
): RecordedSession {
  const given = options.session;
  if (begun?.kind !== "begun") {
    const session = given ?? createSession({ id: of.newId() });
    return readOption("session", () => {
      const core = coreOf(session);
      const { slices, seq } = session.toJSON() as unknown as { readonly slices: unknown; readonly seq: number };
      return { core, state: slices, seq };
    });
  }
  const slices: readonly Slice[] = [
    ...prompt.template.slices,
    ...(options.policies ?? []).flatMap((policy) => policy.slices ?? []),
  ];
  const known = new Set([...slices, openedSections].map(({ name }) => name));
  const { id, seq } = begun.session;
  // Other slices belong to other prompts: nothing of this one reads them.
  const state = (begun.session.state as SavedSlices).filter(({ name }) => known.has(name));
  const json = { format: sessionFormat, version: 1, id, seq, slices: state };
  if (given === undefined) return { core: coreOf(restoreSession(json, { slices: [...new Set(slices)] })), state, seq };
  return readOption("session", () => {
    const core = coreOf(given);
    if (of.mode !== "fork" && given.id !== id) {
      throw new DefinitionError(
        `The session of the run "${of.runId}" is "${id}", not "${given.id}". ${remedy(given, id, of)}`,
      );
    }
    const now = given.toJSON() as unknown as { readonly slices: SavedSlices; readonly seq: number };
    const present = now.slices.filter(({ name }) => known.has(name));
    if (canonicalJson(present) !== canonicalJson(state)) {
      if (!isNew(given, now)) {
        throw new DefinitionError(
          `The session "${given.id}" is not as it was when the run "${of.runId}" began. ${remedy(given, id, of)}`,
        );
      }
      const restored = restoreSession(json, { slices: [...new Set(slices)] });
      core.join([...new Set(slices)]);
      for (const { name } of state) {
        const slice = [...slices, openedSections].find((each) => each.name === name);
        if (slice !== undefined) core.put(slice, restored.get(slice));
      }
    }
    core.renumber(seq);
    return { core, state, seq };
  });
}

/** What to do about a session that is not the recorded one. */
function remedy(
  given: Session,
  id: string,
  { runId, isEnded = false }: { readonly runId: string; readonly isEnded?: boolean },
): string {
  if (isSaved(given) && isEnded) {
    return (
      "The run has ended, and its turn is not in the conversation, or not as it was recorded. Its answer is read without " +
      `the conversation: ${callToReplay(runId)}.`
    );
  }
  if (isSaved(given)) {
    return (
      "A run of a conversation has to end before the conversation goes on: end it outside, by adapter.evaluate with its " +
      `messages and without a session, or give it up with journal.cancel(${JSON.stringify(runId)}).`
    );
  }
  return (
    "Leave it out, and the run brings its own; or, to listen to it, give a new one with that id: " +
    `createSession({ id: ${JSON.stringify(id)}, slices: prompt.slices }). An id that is made of the run's is known before.`
  );
}

/** Whether nothing has happened in a session: its slices hold what they begin with. */
function isNew(given: Session, { slices, seq }: { readonly slices: SavedSlices; readonly seq: number }): boolean {
  if (seq > 0) return false;
  const fresh = createSession({ slices: given.slices() }).toJSON() as unknown as { readonly slices: SavedSlices };
  return canonicalJson(slices) === canonicalJson(fresh.slices);
}

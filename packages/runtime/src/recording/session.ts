// The session of a run: the one that it began with, whichever process goes on.
import { DefinitionError, type EvaluateOptions, type Prompt, type Slice } from "@proviso/core";
import { canonicalJson, openedSections } from "@proviso/core/internal";
import { readOption } from "../failures.ts";
import { coreOf, type SessionCore } from "../session/session-core.ts";
import { sessionFormat } from "../session/session-json.ts";
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
  of: Pick<RunSource, "mode"> & { readonly runId: string; newId(): string },
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
        `The session of the run "${of.runId}" is "${id}", not "${given.id}": leave it out, and the run brings its own.`,
      );
    }
    const now = given.toJSON() as unknown as { readonly slices: SavedSlices; readonly seq: number };
    const present = now.slices.filter(({ name }) => known.has(name));
    if (canonicalJson(present) !== canonicalJson(state)) {
      if (now.slices.length > 0 || now.seq > 0) {
        throw new DefinitionError(
          `The session "${given.id}" is not as it was when the run "${of.runId}" began: leave it out, and the run brings its own.`,
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

import { DefinitionError, type Session, type Slice } from "@proviso/core";
import { checkOptionNames } from "@proviso/core/provider";
import { openedSections } from "@proviso/core/internal";
import { parseSession } from "./session-json.ts";
import { createCore } from "./session.ts";

/**
 * Brings a session's JSON back, with its id and its numbering; slices that it does not name begin anew.
 * @throws {DefinitionError} for JSON that is damaged, foreign or newer, and for slices that are not given or do not
 * fit, with the path of the fault; nothing exists then.
 */
export function restoreSession(json: unknown, options: { readonly slices: readonly Slice[] }): Session {
  const slices: unknown = options?.slices;
  if (!Array.isArray(slices)) throw new DefinitionError("restoreSession needs the slices: { slices: prompt.slices }.");
  checkOptionNames("restoreSession", options, { slices: true });
  // An override opens and closes sections of prompts that have no such slice of their own.
  const all = [...new Set([...options.slices, openedSections])];
  const saved = parseSession(json, all);
  const core = createCore(saved.id, saved.seq);
  core.join(options.slices);
  for (const { name, state } of saved.slices) {
    const slice = all.find((known) => known.name === name);
    if (slice === undefined) continue;
    core.join([slice]);
    core.put(slice, state);
  }
  return core.session;
}

import { DefinitionError, type Session, type Slice } from "@proviso/core";
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
  const saved = parseSession(json, options.slices);
  const core = createCore(saved.id, saved.seq);
  core.join(options.slices);
  for (const { name, state } of saved.slices) {
    const slice = options.slices.find((known) => known.name === name);
    if (slice !== undefined) core.put(slice, state);
  }
  return core.session;
}

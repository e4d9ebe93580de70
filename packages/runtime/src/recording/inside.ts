// Evaluations inside calls that are run again: the answers that they were given in earlier attempts.
import type { EntryOf, JournalEntry } from "./entries.ts";

/**
 * Returns the answers that evaluations inside calls without an end were given, in any attempt, by the key of the request.
 * They are read from the whole record: no attempt goes on from them, since the call is run again as one.
 */
export function insideAnswers(entries: readonly JournalEntry[]): ReadonlyMap<string, EntryOf<"answered">> {
  const own = entries[0]?.evaluationId;
  const asked = new Map<string, string>();
  const calls = new Map<string, string>();
  const kept = new Map<string, Map<string, EntryOf<"answered">>>();
  let isStopped = false;
  for (const entry of entries) {
    const { evaluationId } = entry;
    if (evaluationId === own) {
      // What a limit has stopped is run again.
      if (entry.kind === "stopped" || entry.kind === "resumed") isStopped = entry.kind === "stopped";
      if (!isStopped) for (const callId of endedBy(entry)) kept.delete(callId);
    } else if (entry.kind === "event") {
      const { parent } = entry.event;
      const callId = parent?.evaluationId === own ? parent?.callId : calls.get(parent?.evaluationId ?? "");
      if (callId !== undefined) calls.set(evaluationId, callId);
    } else if (entry.kind === "asked" && entry.key !== undefined) asked.set(evaluationId, entry.key);
    else if (entry.kind === "answered" && entry.answer.failure === undefined && entry.isRedacted !== true) {
      const [key, callId] = [asked.get(evaluationId), calls.get(evaluationId)];
      // An answer that was cut is asked for again: the budget that cut it may be another one now.
      if (key === undefined || callId === undefined || entry.answer.finishReason === "length") continue;
      const ofCall = kept.get(callId) ?? new Map<string, EntryOf<"answered">>();
      kept.set(callId, ofCall.set(key, entry));
    }
  }
  return new Map(Array.from(kept.values(), (ofCall) => Array.from(ofCall)).flat());
}

/** The calls of the run's own evaluation that end with an entry: what was inside them is not asked again. */
function endedBy(entry: JournalEntry): readonly string[] {
  if (entry.kind === "committed") return entry.callIds;
  const isFailure = entry.kind === "event" && entry.event.type === "tool.invoked" && !entry.event.result.success;
  return isFailure && entry.event.type === "tool.invoked" ? [entry.event.callId] : [];
}

// The steps of a run: what is kept, forked at, and named in errors.
import type { EntryContent, JournalEntry } from "./entries.ts";
import { kindOf, knownContent, type KeptEntry } from "./kept-entry.ts";

/**
 * Counts the steps of the run's own evaluation, entry after entry: answers of the model and ends of calls. A whole turn of
 * an agent, with its calls, is one.
 */
export class StepCounter {
  #own: string | undefined;
  /** Whether the entries belong to a turn of an agent that has no answer yet. */
  isInTurn = false;

  /** How many steps end with this entry. */
  add(entry: JournalEntry | KeptEntry): number {
    this.#own ??= entry.evaluationId;
    if (entry.evaluationId !== this.#own) return 0;
    const wasInTurn = this.isInTurn;
    const kind = kindOf(entry);
    if (kind === "asked") this.isInTurn = "isAgent" in entry && entry.isAgent === true;
    else if (kind === "answered" || kind === "resumed") this.isInTurn = false;
    const content = knownContent(entry);
    // What has to be made yet ends no step.
    if (content === undefined) return 0;
    if (content.kind === "answered") return content.answer.failure === undefined ? 1 : 0;
    return wasInTurn ? 0 : stepsOfCalls(content);
  }
}

function stepsOfCalls(entry: EntryContent): number {
  if (entry.kind === "committed") return entry.callIds.length;
  return entry.kind === "event" && entry.event.type === "tool.invoked" && !entry.event.result.success ? 1 : 0;
}

/** How many steps the entries of a run have, from its first one on. */
export function stepsIn(entries: readonly JournalEntry[]): number {
  const counter = new StepCounter();
  let steps = 0;
  for (const entry of entries) steps += counter.add(entry);
  return steps;
}

/** Whether an entry announces an answer: what the evaluation comes to by itself when it has the answer. */
export function isAnnouncement(entry: JournalEntry): boolean {
  return entry.kind === "event" && (entry.event.type === "provider.tool" || entry.event.type === "provider.responded");
}

/**
 * The place of the last entry that belongs to a step which ends at a place: the announcement of an answer, or feedback on a
 * call. What stands of it is not emitted again where the run goes on.
 */
export function endOfStep(entries: readonly JournalEntry[], place: number): number {
  const own = entries[0]?.evaluationId;
  let last = place;
  for (let next = place + 1; next < entries.length; next++) {
    const entry = entries[next] as JournalEntry;
    // What an answer costs is kept before it is announced.
    if (entry.evaluationId !== own || entry.kind === "drew") continue;
    const isFeedback = entry.kind === "event" && entry.event.type === "feedback.given";
    if (!isFeedback && !isAnnouncement(entry)) break;
    last = next;
  }
  return last;
}

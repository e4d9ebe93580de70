// What a record has of what came from outside, for an evaluation that runs its calls again.
import type { EntryOf, JournalEntry } from "./entries.ts";
import { Lifts } from "./lifts.ts";

/** Each list has what comes next at its end. */
export interface Queues {
  /** Answers of the run's own evaluation, and of those beside its calls, by the evaluation. */
  readonly answers: ReadonlyMap<string, EntryOf<"answered">[]>;
  readonly checked: EntryOf<"checked">[];
  readonly numbers: unknown[];
  readonly texts: unknown[];
  readonly lifts: Lifts;
}

export function queuesOf(entries: readonly JournalEntry[]): Queues {
  const own = entries[0]?.evaluationId;
  /** Evaluations inside calls: their requests have keys. */
  const inside = new Set<string>();
  const answers = new Map<string, EntryOf<"answered">[]>();
  const queues = {
    answers,
    checked: [] as EntryOf<"checked">[],
    numbers: [] as unknown[],
    texts: [] as unknown[],
    lifts: new Lifts(entries),
  };
  for (const entry of entries) {
    if (entry.kind === "asked" && entry.key !== undefined) inside.add(entry.evaluationId);
    if (entry.kind === "answered" && !inside.has(entry.evaluationId)) addTo(answers, entry.evaluationId, entry);
    if (entry.evaluationId !== own) continue;
    if (entry.kind === "checked") queues.checked.push(entry);
    if (entry.kind === "drew" && typeof entry.value === "number") queues.numbers.push(entry.value);
    if (entry.kind === "drew" && typeof entry.value === "string") queues.texts.push(entry.value);
  }
  for (const list of [...answers.values(), queues.checked, queues.numbers, queues.texts]) list.reverse();
  return queues;
}

/** Adds a value to the end of the list of a key. A copy of the list for each value would make long lists quadratic. */
export function addTo<K, V>(lists: Map<K, V[]>, key: K, value: V): void {
  const list = lists.get(key);
  if (list === undefined) lists.set(key, [value]);
  else list.push(value);
}

/** Takes what is next; undefined: nothing is left. */
export function taken<T>(queue: T[]): T | undefined {
  return queue.pop();
}

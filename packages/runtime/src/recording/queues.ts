// What a record has of what came from outside, for an evaluation that runs its calls again.
import { requestOfKey } from "./asked.ts";
import type { EntryOf, JournalEntry } from "./entries.ts";

/** Each list has what comes next at its end. */
export interface Queues {
  /** Answers of the run's own evaluation, and of those beside its calls, by the evaluation. */
  readonly answers: ReadonlyMap<string, EntryOf<"answered">[]>;
  /** Answers of evaluations inside calls, by the key of the request. */
  readonly inside: ReadonlyMap<string, EntryOf<"answered">[]>;
  readonly checked: EntryOf<"checked">[];
  readonly numbers: unknown[];
  readonly texts: unknown[];
}

export function queuesOf(entries: readonly JournalEntry[]): Queues {
  const own = entries[0]?.evaluationId;
  const keys = new Map<string, string>();
  const [answers, inside] = [new Map<string, EntryOf<"answered">[]>(), new Map<string, EntryOf<"answered">[]>()];
  const queues = {
    answers,
    inside,
    checked: [] as EntryOf<"checked">[],
    numbers: [] as unknown[],
    texts: [] as unknown[],
  };
  for (const entry of entries) {
    if (entry.kind === "asked" && entry.key !== undefined) keys.set(entry.evaluationId, requestOfKey(entry.key));
    if (entry.kind === "answered") {
      const key = keys.get(entry.evaluationId);
      const [of, at] = key === undefined ? [answers, entry.evaluationId] : [inside, key];
      const list = of.get(at);
      if (list === undefined) of.set(at, [entry]);
      else list.push(entry);
    }
    if (entry.evaluationId !== own) continue;
    if (entry.kind === "checked") queues.checked.push(entry);
    if (entry.kind === "drew" && typeof entry.value === "number") queues.numbers.push(entry.value);
    if (entry.kind === "drew" && typeof entry.value === "string") queues.texts.push(entry.value);
  }
  for (const list of [...answers.values(), ...inside.values(), queues.checked, queues.numbers, queues.texts])
    list.reverse();
  return queues;
}

/** Takes what is next; undefined: nothing is left. */
export function taken<T>(queue: T[]): T | undefined {
  return queue.pop();
}

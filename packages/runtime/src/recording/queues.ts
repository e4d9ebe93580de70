// What a record has of what came from outside, for an evaluation that runs its calls again.
import type { ModelRequest } from "@proviso/core";
import type { Run } from "../run.ts";
import { RequestHashes, requestOfKey } from "./asked.ts";
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
      addTo(of, at, entry);
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

/** The answers of evaluations inside calls, each for the request that it was given to. */
export class InsideAnswers {
  readonly #queues: Queues["inside"];
  readonly #hashes = new RequestHashes();
  /** The key of the last request, by the evaluation. */
  readonly #keys = new Map<string, string>();

  constructor(queues: Queues["inside"]) {
    this.#queues = queues;
  }

  /** Takes the answer to a request; undefined: the record has none. */
  next(run: Run, request: ModelRequest | undefined): EntryOf<"answered"> | undefined {
    this.#hashes.of(run, request);
    this.#keys.set(run.evaluationId, this.#hashes.key(run)?.request ?? "");
    return this.#queueOf(run)?.pop();
  }

  /** The answer that the last request would be given next. */
  peek(run: Run): EntryOf<"answered"> | undefined {
    return this.#queueOf(run)?.at(-1);
  }

  #queueOf({ evaluationId }: Run): EntryOf<"answered">[] | undefined {
    return this.#queues.get(this.#keys.get(evaluationId) ?? "");
  }
}

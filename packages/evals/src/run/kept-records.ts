import type { AttemptKey, AttemptRecord } from "../results.ts";
import { ByKey } from "./by-key.ts";

/** A key, and what the record of it is about. */
type Asked = AttemptKey & Pick<AttemptRecord, "rowHash" | "subjectHash">;

/** The records of one key. */
interface Versions {
  readonly records: readonly AttemptRecord[];
  /** The one that was kept last; undefined: that one is about something else, which is not asked now. */
  readonly newest: AttemptRecord | undefined;
}

/** What a run finds in its store, by key, row and prompt. */
export class KeptRecords {
  readonly #subjects: ReadonlySet<string>;
  readonly #byKey = new ByKey<Versions>();

  /** `subjects`: the hashes of what the run asks. Attempts about anything else take no memory. */
  constructor(subjects: ReadonlySet<string>) {
    this.#subjects = subjects;
  }

  get isEmpty(): boolean {
    return this.#byKey.size === 0;
  }

  /** Takes what is kept, the oldest first: of two records about one thing the later one counts. */
  add(record: AttemptRecord): void {
    const { records = [] } = this.#byKey.get(record) ?? {};
    if (!this.#subjects.has(record.subjectHash) && !isBesideAttempts(record)) {
      if (records.length > 0) this.#byKey.set(record, { records, newest: undefined });
      return;
    }
    const others = records.filter((other) => !isAbout(other, record));
    this.#byKey.set(record, { records: [...others, record], newest: record });
  }

  /** undefined: nothing is kept about this row and prompt. */
  get(asked: Asked): AttemptRecord | undefined {
    return this.#byKey.get(asked)?.records.find((record) => isAbout(record, asked));
  }

  /** Whether nothing of its key was kept later. */
  isNewest(record: AttemptRecord): boolean {
    return this.#byKey.get(record)?.newest === record;
  }
}

/** Whether a record is about the same row and prompt. */
export function isAbout(
  { rowHash, subjectHash }: AttemptRecord,
  asked: Pick<AttemptRecord, "rowHash" | "subjectHash">,
): boolean {
  return rowHash === asked.rowHash && subjectHash === asked.subjectHash;
}

/** Pairs of answers, and what was cut short, have keys whose variant is a list. What they are about is known later. */
function isBesideAttempts({ variant }: AttemptRecord): boolean {
  return variant.startsWith("[");
}

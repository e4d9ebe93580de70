// 1. Recording costs the same for any number of entries: they are pushed to a list, and a rollback cuts them off again.
// 2. A list that was handed out never changes: it is a copy, made when it is asked for and kept until the next entry.
// 3. Marks end last in, first out: a cut ends the marks that were taken after its own.
// 4. A draft changes nothing itself: what was pushed to it is recorded when its reducer has ended.
import { DefinitionError, type LogDraft } from "@proviso/core";
import { frozenState } from "@proviso/core/internal";
import { atOnce } from "./reducers.ts";

/** The entries of a log slice whose state is a list. */
export interface Log {
  /** The entries as a frozen list; the same reference until they change. */
  get(): readonly unknown[];
  /** How long the log is now; see `cut`. */
  mark(): LogMark;
  /** Removes what was recorded since the mark. */
  cut(mark: LogMark): void;
  /** Runs a reducer. One that throws changes nothing. */
  reduce(reducer: (draft: LogDraft<unknown>) => unknown): void;
  /** Replaces all entries. @throws {DefinitionError} for entries that are not plain data. */
  replace(list: readonly unknown[]): void;
}

export interface LogMark {
  readonly entries: unknown[];
  readonly length: number;
}

/** `initial` is frozen at every depth; `slice` names it in errors. */
export function createLog(slice: string, initial: readonly unknown[]): Log {
  // Changed by pushing and cutting only; any other change takes a new list.
  let entries: unknown[] = [...initial];
  let view: readonly unknown[] | undefined = initial;

  // V8 copies a list that is not frozen by the block.
  const get = (): readonly unknown[] => (view ??= Object.freeze([...entries]));
  const replace = (list: readonly unknown[]): void => {
    // The copy is frozen with what is in it; the entries stay a list that can be pushed to.
    entries = [...frozenState(slice, [...list], entries)];
    view = undefined;
  };
  const record = (added: readonly unknown[]): void => {
    if (added.length === 0) return;
    // Every item is checked before the first one is kept.
    for (const item of added) frozenState(slice, item);
    for (const item of added) entries.push(item);
    view = undefined;
  };
  return {
    get,
    mark: () => ({ entries, length: entries.length }),
    cut(mark) {
      if (entries === mark.entries && entries.length === mark.length) return;
      ({ entries } = mark);
      entries.length = mark.length;
      view = undefined;
    },
    reduce(reducer) {
      const draft = new Draft(slice, get);
      try {
        const returned: unknown = atOnce(reducer(draft));
        if (returned === undefined) record(draft.end());
        else if (Array.isArray(returned)) replace(returned);
        else throw new DefinitionError("A log's state is a list: its reducer cannot return anything else.");
      } finally {
        draft.end();
      }
    },
    replace,
  };
}

class RecordingDraft implements LogDraft<unknown> {
  readonly sliceName: string;
  readonly #before: () => readonly unknown[];
  readonly #added: unknown[] = [];
  #isOver = false;

  constructor(slice: string, before: () => readonly unknown[]) {
    this.sliceName = slice;
    this.#before = before;
    Object.freeze(this);
  }

  get entries(): readonly unknown[] {
    this.#assertUsable();
    const before = this.#before();
    return this.#added.length === 0 ? before : Object.freeze([...before, ...this.#added]);
  }

  push(...items: readonly unknown[]): void {
    this.#assertUsable();
    for (const item of items) this.#added.push(item);
  }

  /** Returns what was pushed; the draft cannot be used any more. */
  end(): readonly unknown[] {
    this.#isOver = true;
    return this.#added;
  }

  #assertUsable(): void {
    if (this.#isOver) throw new TypeError("A draft of a log cannot be used after its reducer has ended.");
  }
}

/** The draft, where every other name of a list throws an error that says what there is instead. */
const Draft = /* @__PURE__ */ refusingOtherNames(RecordingDraft);

function refusingOtherNames(draft: typeof RecordingDraft): typeof RecordingDraft {
  for (const name of Reflect.ownKeys(Array.prototype)) {
    if (name in draft.prototype) continue;
    const refuse = function (this: RecordingDraft): never {
      throw new DefinitionError(
        `The draft of the log slice "${this.sliceName}" has no "${String(name)}": a reducer of a log calls draft.push(entry), reads draft.entries, or returns the list that replaces them.`,
      );
    };
    Object.defineProperty(draft.prototype, name, { get: refuse, set: refuse });
  }
  return draft;
}

/** How long each log is. */
export type LogMarks = readonly (readonly [Log, LogMark])[];

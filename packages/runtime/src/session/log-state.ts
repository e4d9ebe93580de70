// 1. Recording costs the same however many entries there are: they are pushed, and cut off again.
// 2. What was handed out never changes: it is a copy, made when somebody asks and kept until the next entry.
// 3. Marks end last in, first out: a cut ends those that were taken after its own.
import { DefinitionError } from "@proviso/core";
import { frozenState } from "@proviso/core/internal";
import { draftLog, logChange, type DraftScope, type LogChange } from "./log-draft.ts";
import { atOnce } from "./reducers.ts";

/** The entries of a log slice whose state is a list. */
export interface LogState {
  /** As a frozen list; the same reference until it changes. */
  get(): readonly unknown[];
  /** How far it is; see `cut`. */
  mark(): LogMark;
  /** Takes back what was recorded since. */
  cut(mark: LogMark): void;
  /** Lets a reducer add to it. One that throws changes nothing. */
  reduce(reducer: (draft: unknown[]) => unknown): void;
  replace(list: readonly unknown[]): void;
}
export interface LogMark {
  readonly entries: unknown[];
  readonly length: number;
}

/** `initial` is frozen at every depth; `slice` names it in errors. */
export function logState(slice: string, initial: readonly unknown[]): LogState {
  // Never changed but by pushing and cutting; any other change takes a new one.
  let entries: unknown[] = [...initial];
  let view: readonly unknown[] | undefined = initial;

  const replace = (list: readonly unknown[]): void => {
    // The copy is frozen with what is in it; the entries stay a list that can be pushed to.
    entries = [...frozenState(slice, [...list], entries)];
    view = undefined;
  };
  const take = ({ added, replaced }: LogChange): void => {
    if (replaced !== undefined) return replace(replaced);
    if (added.length === 0) return;
    // All of them, before the first is kept.
    for (const item of added) frozenState(slice, item);
    for (const item of added) entries.push(item);
    view = undefined;
  };
  return {
    // Of a list that is not frozen V8 makes a copy by the block.
    get: () => (view ??= Object.freeze([...entries])),
    mark: () => ({ entries, length: entries.length }),
    cut(mark) {
      if (entries === mark.entries && entries.length === mark.length) return;
      ({ entries } = mark);
      entries.length = mark.length;
      view = undefined;
    },
    reduce(reducer) {
      const scope: DraftScope = { live: true };
      const draft = draftLog(entries, scope);
      try {
        const returned: unknown = atOnce(reducer(draft));
        const change = logChange(returned === undefined ? draft : returned, entries);
        if (change !== undefined) take(change);
        else if (Array.isArray(returned)) replace(returned);
        else throw new DefinitionError("A log's state is a list: its reducer cannot return anything else.");
      } finally {
        scope.live = false;
      }
    },
    replace,
  };
}

// 1. Recording costs the same however many entries there are: they are pushed, and cut off again.
// 2. What was handed out never changes: it is a copy, made when somebody asks and kept until the next entry.
import { frozen } from "./frozen.ts";

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
}
export interface LogMark {
  readonly entries: unknown[];
  readonly length: number;
}

/** Lists that a reducer is adding to just now: `append` pushes instead of copying. */
const openLogs = new WeakMap<object, (item: unknown) => void>();

/** Adds to a log that a reducer was given; false for any other list. */
export function pushToLog(list: object, item: unknown): boolean {
  const push = openLogs.get(list);
  push?.(item);
  return push !== undefined;
}

export function logState(initial: readonly unknown[]): LogState {
  // Never changed but by pushing and cutting; any other change takes a new one.
  let entries: unknown[] = [...initial];
  let view: readonly unknown[] | undefined = initial;

  const mark = (): LogMark => ({ entries, length: entries.length });
  const cut = (marked: LogMark): void => {
    if (entries === marked.entries && entries.length === marked.length) return;
    ({ entries } = marked);
    entries.length = marked.length;
    view = undefined;
  };
  return {
    get: () => (view ??= frozen([...entries]) as readonly unknown[]),
    mark,
    cut,
    reduce(reducer) {
      const before = mark();
      let copy: unknown[] | undefined;
      const push = (...items: unknown[]): number => {
        for (const item of items) (copy ?? entries).push(frozen(item));
        return (copy ?? entries).length;
      };
      /** Whatever is not a push works on a copy. */
      const changing = (): unknown[] => (copy ??= [...entries]);
      const draft = new Proxy(entries, {
        get: (_, key) => (key === "push" ? push : (Reflect.get(copy ?? entries, key) as unknown)),
        set: (_, key, value: unknown) => Reflect.set(changing(), key, value),
        deleteProperty: (_, key) => Reflect.deleteProperty(changing(), key),
        defineProperty: (_, key, descriptor) => Reflect.defineProperty(changing(), key, descriptor),
        ownKeys: () => Reflect.ownKeys(copy ?? entries),
        has: (_, key) => Reflect.has(copy ?? entries, key),
        getOwnPropertyDescriptor: (_, key) => Reflect.getOwnPropertyDescriptor(copy ?? entries, key),
      });
      openLogs.set(draft, push);
      try {
        const returned = reducer(draft);
        if (returned !== undefined && returned !== draft) entries = [...(returned as readonly unknown[])].map(frozen);
        else if (copy !== undefined) entries = copy.map(frozen);
      } catch (error) {
        cut(before);
        throw error;
      } finally {
        openLogs.delete(draft);
      }
      if (entries !== before.entries || entries.length !== before.length) view = undefined;
    },
  };
}

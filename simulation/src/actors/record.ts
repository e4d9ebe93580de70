// What calls and transactions of actors did, without the runtime: the state that each store has to hold.
// 1. A store is the session's or a resource's; what happened to it is a list of facts, each with the operation it is of.
// 2. An operation that is undone takes its facts with it, and those of operations inside it.
// 3. A store holds what its facts say, in their order.
import type { Book } from "../checks.ts";

/** A tool call, or a public transaction. */
export interface Operation {
  readonly id: string;
  readonly parent: Operation | undefined;
  /** Calls of tools that use nothing overlap, and see each other, when these are the same. */
  readonly overlaps: string | undefined;
  readonly readOnly: boolean;
  ended: boolean;
  /** Its handler came to a good end. */
  finished: boolean;
  /** It has failed: what it did is undone, or will be, and that may be reported much later. */
  failing: boolean;
}

interface Entry {
  readonly operation: Operation | undefined;
  readonly text: string;
}
type Fact = Entry | { readonly operation: Operation | undefined; readonly restored: readonly string[] };

export interface Store {
  readonly name: string;
  facts: Fact[];
  /** What the facts come to; a fact that is added is applied to it, and where one is taken away it is made again. */
  view: Entry[] | undefined;
}

export type Record = ReturnType<typeof createRecord>;

export function createRecord(book: Book) {
  const stores: Store[] = [];
  const operations = new Map<string, Operation>();
  const add = (store: Store, fact: Fact): void => {
    store.facts.push(fact);
    if (store.view !== undefined) store.view = withFact(store.view, fact);
  };
  return {
    store(name: string): Store {
      const store: Store = { name, facts: [], view: [] };
      stores.push(store);
      return store;
    },
    begin(parent: Operation | undefined, more: Partial<Pick<Operation, "overlaps" | "readOnly">> = {}): Operation {
      const { overlaps, readOnly = false } = more;
      const id = `op${operations.size + 1}`;
      const operation = { id, parent, overlaps, readOnly, ended: false, finished: false, failing: false };
      operations.set(id, operation);
      return operation;
    },
    operation: (id: string): Operation | undefined => operations.get(id),
    operations: (): readonly Operation[] => [...operations.values()],
    did: (store: Store, operation: Operation | undefined, text: string): void => add(store, { operation, text }),
    restored: (store: Store, texts: readonly string[]): void => add(store, { operation: undefined, restored: texts }),
    /** What the operation did is gone; it may go on. */
    undo(outer: Operation): void {
      for (const store of stores) {
        const { length } = store.facts;
        store.facts = store.facts.filter(({ operation }) => !isWithin(operation, outer));
        if (store.facts.length < length) store.view = undefined;
      }
    },
    texts: (store: Store): readonly string[] => viewOf(store).map(({ text }) => text),
    /**
     * What the operation sees: everything that stands, and nothing of what others have not ended. Of a call that overlaps
     * with it and has failed it may see what that did, or not.
     */
    sees(viewer: Operation, store: Store, actual: readonly string[]): void {
      const seen = new Set(actual);
      const view = viewOf(store).filter(({ operation, text }) => seen.has(text) || !isUndone(operation, viewer));
      const wanted = view.map(({ text }) => text);
      book.same(actual, wanted, `TX-2 what ${viewer.id} sees of ${store.name}`);
      for (const { operation, text } of view) {
        const live = liveOutside(operation, viewer);
        book.demand(live === undefined, `TX-11 ${viewer.id} sees ${text} of ${live?.id}, which has not ended`);
      }
    },
  };
}

function viewOf(store: Store): readonly Entry[] {
  return (store.view ??= store.facts.reduce<Entry[]>(withFact, []));
}

function withFact(view: Entry[], fact: Fact): Entry[] {
  if (!("text" in fact)) return fact.restored.map((text) => ({ operation: fact.operation, text }));
  view.push(fact);
  return view;
}

function isWithin(operation: Operation | undefined, outer: Operation): boolean {
  for (let one = operation; one !== undefined; one = one.parent) if (one === outer) return true;
  return false;
}

/** They are calls of one turn that use nothing, or inside such calls. */
function overlaps({ overlaps: turn }: Operation, viewer: Operation): boolean {
  for (let one: Operation | undefined = viewer; one !== undefined; one = one.parent)
    if (turn !== undefined && one.overlaps === turn) return true;
  return false;
}

/** It is, or is inside, a call that overlaps with the viewer, has failed, and whose failure is not reported yet. */
function isUndone(operation: Operation | undefined, viewer: Operation): boolean {
  for (let one = operation; one !== undefined; one = one.parent)
    if (one.failing && overlaps(one, viewer) && !isWithin(viewer, one)) return true;
  return false;
}

/** The one of these around the fact that has not ended and is not around the viewer. */
function liveOutside(operation: Operation | undefined, viewer: Operation): Operation | undefined {
  let live: Operation | undefined;
  for (let one = operation; one !== undefined; one = one.parent) {
    if (isWithin(viewer, one)) return live;
    if (overlaps(one, viewer)) return undefined;
    if (!one.ended) live = one;
  }
  return live;
}

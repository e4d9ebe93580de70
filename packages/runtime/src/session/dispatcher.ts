// 1. Listeners are told in the order of their subscription, each isolated from the others' errors.
// 2. Who subscribes or leaves while an event is told does so from the next event on.
// 3. Everyone hears events in the same order: one that a listener causes is told when all have heard the one before.
// 4. Events inside events end: past a depth nothing more is dispatched until the outermost one is over.
import {
  DefinitionError,
  eventKeys,
  filterKey,
  isThenable,
  type AppEvent,
  type EventFilter,
  type FrameworkEvent,
  type Session,
} from "@proviso/core";

type Event = AppEvent | FrameworkEvent;
interface Subscription {
  readonly listener: (event: Event) => unknown;
  readonly order: number;
}

/** An event that is being told. */
interface Telling {
  readonly event: Event;
  readonly listeners: readonly Subscription[];
  /** Who is next. */
  at: number;
  errors: unknown[] | undefined;
}

export interface Dispatcher {
  readonly on: Session["on"];
  /** The errors of those that threw. */
  notify(event: Event): readonly unknown[];
  /**
   * Called before an event is dispatched: where a listener dispatches it, everyone hears first of the event that it is
   * told of. @throws {DefinitionError} too deep inside other events.
   */
  finish(type: string): void;
}

/** Events that listeners dispatch inside events. */
const deepest = 100;

const none: readonly never[] = Object.freeze([]);

export function createDispatcher(): Dispatcher {
  const subscriptions = new Map<string, readonly Subscription[]>();
  /** Who hears an event, by the last of its keys. */
  const heardBy = new Map<string, readonly Subscription[]>();
  let order = 0;
  let telling: Telling | undefined;
  let depth = 0;
  let tooDeep: DefinitionError | undefined;

  const assertNotTooDeep = (type: string): void => {
    if (tooDeep === undefined && depth < deepest) return;
    // Until the outermost is over: with several listeners the rest would be 2^100 events.
    tooDeep ??= new DefinitionError(
      `"${type}" is dispatched inside more than ${deepest} other events: a listener of it dispatches it again, itself or by way of others.`,
    );
    throw tooDeep;
  };

  const listenersOf = (event: Event): readonly Subscription[] => {
    const keys = eventKeys(event);
    // Tools that nobody listens to share one list: their names may be a model's invention.
    const last = keys.findLast((key) => subscriptions.has(key)) ?? "";
    const known = heardBy.get(last);
    if (known !== undefined) return known;
    const all = ["*", ...keys].flatMap((key) => subscriptions.get(key) ?? []);
    const heard = all.toSorted((a, b) => a.order - b.order);
    heardBy.set(last, heard);
    return heard;
  };
  return {
    on<F extends EventFilter | "*">(filter: F, listener: (event: never) => void): () => void {
      const key = filter === "*" ? "*" : filterKey(filter as EventFilter);
      const subscription: Subscription = { listener: listener as Subscription["listener"], order: order++ };
      subscriptions.set(key, [...(subscriptions.get(key) ?? []), subscription]);
      heardBy.clear();
      return () => {
        subscriptions.set(
          key,
          (subscriptions.get(key) ?? []).filter((other) => other !== subscription),
        );
        heardBy.clear();
      };
    },
    notify(event) {
      if (order === 0) return none;
      const outer = telling;
      if (outer !== undefined) tell(outer);
      const own: Telling = { event, listeners: listenersOf(event), at: 0, errors: undefined };
      telling = own;
      depth += 1;
      tell(own);
      depth -= 1;
      telling = outer;
      if (depth === 0 && tooDeep !== undefined) {
        if (own.errors?.includes(tooDeep) !== true) (own.errors ??= []).push(tooDeep);
        tooDeep = undefined;
      }
      return own.errors ?? none;
    },
    finish(type) {
      assertNotTooDeep(type);
      if (telling !== undefined) tell(telling);
    },
  };
}

function tell(telling: Telling): void {
  const { event, listeners } = telling;
  while (telling.at < listeners.length) {
    try {
      const result = listeners[telling.at++]?.listener(event);
      // An async listener's rejection is its own affair, but must not end the process.
      if (isThenable(result)) Promise.resolve(result).catch(() => {});
    } catch (error) {
      (telling.errors ??= []).push(error);
    }
  }
}

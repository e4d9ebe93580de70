// 1. Listeners are told in the order of their subscription, each isolated from the others' errors.
// 2. Who subscribes or leaves while an event is told does so from the next event on.
// 3. Everyone hears events in the same order: one that a listener causes is told when all have heard the one before.
// 4. Events inside events end: past a depth nothing more is dispatched until the outermost one is over.
import { DefinitionError, type AppEvent, type EventFilter, type FrameworkEvent, type Session } from "@proviso/core";
import { eventKeys, filterKey, isThenable } from "@proviso/core/internal";
import { EventEmitter } from "eventemitter3";

type Event = AppEvent | FrameworkEvent;
/** A listener, once for each time that it subscribed: the same one may do so twice, and leave once. */
interface Subscription {
  (event: Event): unknown;
  readonly order: number;
}
/** Who subscribed to which key; its own `emit` is not used, because the delivery's order and isolation are ours. */
type Registry = EventEmitter<Record<string, (event: Event) => unknown>>;

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
  /** Whether a listener was ever added. */
  hasListeners(): boolean;
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
  const registry: Registry = new EventEmitter();
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
    const last = keys.findLast((key) => registry.listenerCount(key) > 0) ?? "";
    const known = heardBy.get(last);
    if (known !== undefined) return known;
    const all = ["*", ...keys].flatMap((key) => registry.listeners(key) as Subscription[]);
    const heard = all.toSorted((a, b) => a.order - b.order);
    heardBy.set(last, heard);
    return heard;
  };
  return {
    on<F extends EventFilter | "*">(filter: F, listener: (event: never) => void): () => void {
      const key = filter === "*" ? "*" : filterKey(filter as EventFilter);
      const call = (event: Event): unknown => (listener as (event: Event) => unknown)(event);
      const subscription: Subscription = Object.assign(call, { order: order++ });
      registry.on(key, subscription);
      heardBy.clear();
      return () => {
        registry.off(key, subscription);
        heardBy.clear();
      };
    },
    hasListeners: () => order > 0,
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
      const result = listeners[telling.at++]?.(event);
      // An async listener's rejection is its own affair, but must not end the process.
      if (isThenable(result)) Promise.resolve(result).catch(() => {});
    } catch (error) {
      (telling.errors ??= []).push(error);
    }
  }
}

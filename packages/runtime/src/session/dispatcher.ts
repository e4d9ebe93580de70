// 1. Listeners are called in the order of their subscription, each isolated from the others' errors.
// 2. A listener that is added or removed while an event is delivered is added or removed from the next event on.
// 3. All listeners receive events in the same order: an event that a listener dispatches is delivered when all have received the one before.
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
/** The subscriptions by key; the emitter's own `emit` is not used, because the delivery's order and isolation are ours. */
type Registry = EventEmitter<Record<string, (event: Event) => unknown>>;

/** An event that is being delivered. */
interface Delivery {
  readonly event: Event;
  readonly listeners: readonly Subscription[];
  /** The place of the listener that is called next. */
  next: number;
  errors: unknown[] | undefined;
}

export interface Dispatcher {
  readonly on: Session["on"];
  /** Whether a listener was ever added. */
  hasListeners(): boolean;
  /** The errors of those that threw. */
  notify(event: Event): readonly unknown[];
  /**
   * Called before an event is dispatched: where a listener dispatches it, all listeners first receive the event that
   * this listener was called with.
   * @throws {DefinitionError} too deep inside other events.
   */
  finish(type: string): void;
}

/** Events that listeners dispatch inside events. */
const deepest = 100;

const none: readonly never[] = Object.freeze([]);

export function createDispatcher(): Dispatcher {
  const registry: Registry = new EventEmitter();
  /** The listeners of an event, by the last of its keys. */
  const receivers = new Map<string, readonly Subscription[]>();
  let order = 0;
  let current: Delivery | undefined;
  let depth = 0;
  let tooDeep: DefinitionError | undefined;

  const assertNotTooDeep = (type: string): void => {
    if (tooDeep === undefined && depth < deepest) return;
    // Every dispatch is refused until the outermost is over: with several listeners the rest would be 2^100 events.
    tooDeep ??= new DefinitionError(
      `"${type}" is dispatched inside more than ${deepest} other events: a listener of it dispatches it again, itself or by way of others.`,
    );
    throw tooDeep;
  };

  const listenersOf = (event: Event): readonly Subscription[] => {
    const keys = eventKeys(event);
    // Tools without listeners share one list: their names may be a model's invention.
    const last = keys.findLast((key) => registry.listenerCount(key) > 0) ?? "";
    const known = receivers.get(last);
    if (known !== undefined) return known;
    const all = ["*", ...keys].flatMap((key) => registry.listeners(key) as Subscription[]);
    const ordered = all.toSorted((a, b) => a.order - b.order);
    receivers.set(last, ordered);
    return ordered;
  };
  return {
    on<F extends EventFilter | "*">(filter: F, listener: (event: never) => void): () => void {
      const key = filter === "*" ? "*" : filterKey(filter as EventFilter);
      const call = (event: Event): unknown => (listener as (event: Event) => unknown)(event);
      const subscription: Subscription = Object.assign(call, { order: order++ });
      registry.on(key, subscription);
      receivers.clear();
      return () => {
        registry.off(key, subscription);
        receivers.clear();
      };
    },
    hasListeners: () => order > 0,
    notify(event) {
      if (order === 0) return none;
      const outer = current;
      if (outer !== undefined) deliver(outer);
      const own: Delivery = { event, listeners: listenersOf(event), next: 0, errors: undefined };
      current = own;
      depth += 1;
      deliver(own);
      depth -= 1;
      current = outer;
      if (depth === 0 && tooDeep !== undefined) {
        if (own.errors?.includes(tooDeep) !== true) (own.errors ??= []).push(tooDeep);
        tooDeep = undefined;
      }
      return own.errors ?? none;
    },
    finish(type) {
      assertNotTooDeep(type);
      if (current !== undefined) deliver(current);
    },
  };
}

function deliver(delivery: Delivery): void {
  const { event, listeners } = delivery;
  while (delivery.next < listeners.length) {
    try {
      const result = listeners[delivery.next++]?.(event);
      // An async listener is not awaited; its rejection must not end the process.
      if (isThenable(result)) Promise.resolve(result).catch(() => {});
    } catch (error) {
      (delivery.errors ??= []).push(error);
    }
  }
}

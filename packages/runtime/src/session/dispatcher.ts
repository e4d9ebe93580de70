// 1. Listeners are called in the order of their subscription, each isolated from the others' errors.
// 2. A listener that is added or removed while an event is delivered is added or removed from the next event on.
// 3. All listeners receive events in the same order: an event that a listener dispatches is delivered when all have received the one before.
// 4. Events inside events end: past a depth nothing more is dispatched until the outermost one is over.
import { DefinitionError, type AppEvent, type EventFilter, type FrameworkEvent } from "@proviso/core";
import { describeValue, eventKeys, filterKey, isThenable } from "@proviso/core/internal";
import { EventEmitter } from "eventemitter3";
import { outsideAttempt } from "../transactions/async-context.ts";

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

/** Events that listeners dispatch inside events. */
const deepest = 100;

const none: readonly never[] = Object.freeze([]);

/** The listeners of a session. */
export class Dispatcher {
  /** undefined: there was never a listener. */
  #registry: Registry | undefined;
  /** The listeners of an event, by the last of its keys. */
  readonly #receivers = new Map<string, readonly Subscription[]>();
  /** The listeners, where each of them receives every event; false: one does not; undefined: not known since the last change. */
  #ofAll: readonly Subscription[] | false | undefined;
  /** How many listeners were ever added. */
  added = 0;
  #current: Delivery | undefined;
  #depth = 0;
  #tooDeep: DefinitionError | undefined;

  /** @throws {DefinitionError} for what is no filter of events, and for a listener that is no function. */
  on<F extends EventFilter | "*">(filter: F, listener: (event: never) => void): () => void {
    if (typeof listener !== "function") {
      throw new DefinitionError(`A listener of a session must be a function, not ${describeValue(listener)}.`);
    }
    const key = filter === "*" ? "*" : filterKey(filter as EventFilter);
    const call = (event: Event): unknown => (listener as (event: Event) => unknown)(event);
    const subscription: Subscription = Object.assign(call, { order: this.added++ });
    const registry: Registry = (this.#registry ??= new EventEmitter());
    registry.on(key, subscription);
    this.#forget();
    return () => {
      registry.off(key, subscription);
      this.#forget();
    };
  }

  /** Calls the listeners, and returns the errors of those that threw. */
  notify(event: Event): readonly unknown[] {
    if (this.#registry === undefined) return none;
    const outer = this.#current;
    if (outer !== undefined) deliver(outer);
    const listeners = this.#listenersOf(event, this.#registry);
    const own: Delivery = { event, listeners, next: 0, errors: undefined };
    this.#current = own;
    this.#depth += 1;
    outsideAttempt(() => deliver(own));
    this.#depth -= 1;
    this.#current = outer;
    if (this.#depth === 0 && this.#tooDeep !== undefined) {
      if (own.errors?.includes(this.#tooDeep) !== true) (own.errors ??= []).push(this.#tooDeep);
      this.#tooDeep = undefined;
    }
    return own.errors ?? none;
  }

  /**
   * Called before an event is dispatched: where a listener dispatches it, all listeners first receive the event that
   * this listener was called with.
   * @throws {DefinitionError} too deep inside other events.
   */
  finish(type: string): void {
    this.#assertNotTooDeep(type);
    if (this.#current !== undefined) deliver(this.#current);
  }

  #assertNotTooDeep(type: string): void {
    if (this.#tooDeep === undefined && this.#depth < deepest) return;
    // Every dispatch is refused until the outermost is over: with several listeners the rest would be 2^100 events.
    this.#tooDeep ??= new DefinitionError(
      `"${type}" is dispatched inside more than ${deepest} other events: a listener of it dispatches it again, itself or by way of others.`,
    );
    throw this.#tooDeep;
  }

  #forget(): void {
    this.#ofAll = undefined;
    this.#receivers.clear();
  }

  #listenersOf(event: Event, registry: Registry): readonly Subscription[] {
    this.#ofAll ??= registry.eventNames().every((name) => name === "*") && (registry.listeners("*") as Subscription[]);
    if (this.#ofAll !== false) return this.#ofAll;
    const keys = eventKeys(event);
    // Tools without listeners share one list: their names may be a model's invention.
    const last = keys.findLast((key) => registry.listenerCount(key) > 0) ?? "";
    const known = this.#receivers.get(last);
    if (known !== undefined) return known;
    const all = ["*", ...keys].flatMap((key) => registry.listeners(key) as Subscription[]);
    const ordered = all.toSorted((a, b) => a.order - b.order);
    this.#receivers.set(last, ordered);
    return ordered;
  }
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

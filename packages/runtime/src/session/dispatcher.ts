import {
  eventKeys,
  filterKey,
  type AppEvent,
  type EventFilter,
  type FrameworkEvent,
  type Session,
} from "@proviso/core";
import { EventEmitter } from "eventemitter3";

type Event = AppEvent | FrameworkEvent;
interface Subscription {
  (event: Event): unknown;
  readonly order: number;
}

/** Listeners in subscription order, each isolated from the others' errors. */
export interface Dispatcher {
  readonly on: Session["on"];
  /** The errors of those that threw. */
  notify(event: Event): readonly unknown[];
}

export function createDispatcher(): Dispatcher {
  const emitter = new EventEmitter<string>();
  let order = 0;
  return {
    on<F extends EventFilter | "*">(filter: F, listener: (event: never) => void): () => void {
      const key = filter === "*" ? "*" : filterKey(filter as EventFilter);
      const call = (event: Event): unknown => listener(event as never);
      const subscription: Subscription = Object.assign(call, { order: order++ });
      emitter.on(key, subscription);
      return () => void emitter.off(key, subscription);
    },
    notify(event) {
      if (emitter.eventNames().length === 0) return [];
      const heard = ["*", ...eventKeys(event)].flatMap((key) => emitter.listeners(key) as Subscription[]);
      const errors: unknown[] = [];
      for (const listener of heard.toSorted((a, b) => a.order - b.order)) {
        try {
          const result = listener(event);
          // An async listener's rejection is its own affair, but must not end the process.
          if (result instanceof Promise) result.catch(() => {});
        } catch (error) {
          errors.push(error);
        }
      }
      return errors;
    },
  };
}

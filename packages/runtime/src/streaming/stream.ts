// 1. The evaluation never waits for its reader: what is unread waits here.
// 2. Beyond the bound, neighbouring deltas of a turn become one; nothing else is merged, nothing is dropped.
// 3. Leaving the iteration early ends the evaluation; `response` never becomes an unhandled rejection.
import {
  DefinitionError,
  type EvaluateOptions,
  type EvaluationStream,
  type PromptResponse,
  type StreamEvent,
} from "@proviso/core";
import { isRecord } from "@proviso/core/provider";
import { isAbortSignal } from "../evaluate-options.ts";
import { onAbort } from "../abort.ts";

/** Unread events, until deltas are merged. */
const mostUnread = 1_024;

/** Begins the evaluation at once, whether or not its events are read. */
export function startStream<Output>(
  options: EvaluateOptions,
  evaluate: (options: EvaluateOptions, watch: (event: StreamEvent) => void) => Promise<PromptResponse<Output>>,
): EvaluationStream<Output> {
  const unread = openQueue();
  const leaving = new AbortController();
  const { own, stopListening } = leaveableBy(leaving, options);
  const response = evaluate(own, unread.push).finally(stopListening);
  const reader = readerOf<Output>(unread, response, () => {
    leaving.abort(new DOMException("The stream's reader left.", "AbortError"));
  });
  let reading = false;
  return {
    response,
    [Symbol.asyncIterator]() {
      if (reading) throw new DefinitionError("A stream is read once: it has a reader already.");
      reading = true;
      return reader;
    },
  };
}

/** Returns the options with a signal that also aborts when the reader leaves. */
function leaveableBy(
  leaving: AbortController,
  options: EvaluateOptions,
): { readonly own: EvaluateOptions; readonly stopListening: () => void } {
  try {
    const signal = (options as EvaluateOptions | null)?.signal;
    if (isRecord(options) && (signal === undefined || isAbortSignal(signal))) {
      const own = { ...options, signal: leaving.signal };
      return { own, stopListening: onAbort(signal, (reason) => leaving.abort(reason)) };
    }
  } catch {
    // Options that throw when they are read.
  }
  // What cannot be listened to is the evaluation's to refuse.
  return { own: options, stopListening: () => {} };
}

/**
 * Behaves as an async generator: it fails once, and is done after its end, `return` and `throw`. But these do not wait for
 * a `next` before them: they end it.
 */
function readerOf<Output>(
  unread: Queue,
  response: Promise<PromptResponse<Output>>,
  leave: () => void,
): AsyncIterableIterator<StreamEvent<Output>, unknown> {
  let failure: { readonly error: unknown } | undefined;
  let executed = false;
  response.then(unread.close, (error: unknown) => {
    failure = { error };
    unread.close();
  });
  const end = async (): Promise<void> => {
    leave();
    unread.drop();
    await response.catch(() => {});
    failure = undefined;
  };
  return {
    async next() {
      const event = await unread.next();
      if (event !== undefined) {
        executed ||= event.type === "prompt.executed";
        // What the deltas are made of was read for this output.
        return { done: false, value: event as StreamEvent<Output> };
      }
      const failed = failure;
      failure = undefined;
      // A listener's error after `prompt.executed` is reported by `response`.
      if (failed !== undefined && !executed) throw failed.error;
      return { done: true, value: undefined };
    },
    async return(value?: unknown) {
      await end();
      return { done: true, value: await value };
    },
    async throw(error?: unknown) {
      await end();
      throw error;
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}

interface Queue {
  push(event: StreamEvent): void;
  /** The next event; undefined after the last. */
  next(): Promise<StreamEvent | undefined>;
  /** Nothing more comes. */
  close(): void;
  /** Drops all events: the reader left. */
  drop(): void;
}

function openQueue(): Queue {
  let events: StreamEvent[] = [];
  let read = 0;
  let closed = false;
  /** Readers may ask again before they were answered: all are, in their order. */
  let waiting: (() => void)[] = [];
  const waking = (): void => {
    const woken = waiting;
    waiting = [];
    for (const wake of woken) wake();
  };
  return {
    push(event) {
      if (closed) return;
      events.push(events.length - read < mostUnread ? event : takeIn(events, event));
      waking();
    },
    async next() {
      while (read >= events.length && !closed) {
        await new Promise<void>((resolve) => waiting.push(resolve));
      }
      if (read >= events.length) return undefined;
      const event = events[read];
      read += 1;
      if (read === events.length || read >= mostUnread) {
        events = events.slice(read);
        read = 0;
      }
      return event;
    },
    close() {
      closed = true;
      waking();
    },
    drop() {
      closed = true;
      events = [];
      read = 0;
      waking();
    },
  };
}

/**
 * The event together with the delta of its kind among the three before it, which is taken out. Between the deltas of two turns
 * there is an event of another type.
 */
function takeIn(events: StreamEvent[], event: StreamEvent): StreamEvent {
  if (!isDelta(event)) return event;
  for (const at of [events.length - 1, events.length - 2, events.length - 3]) {
    const earlier = events[at];
    if (earlier === undefined || !isDelta(earlier)) return event;
    if (earlier.type !== event.type) continue;
    events.splice(at, 1);
    if (earlier.type === "output.delta" || event.type === "output.delta") return event;
    return Object.freeze({ ...event, text: earlier.text + event.text });
  }
  return event;
}

type Delta = Extract<StreamEvent, { readonly type: "text.delta" | "reasoning.delta" | "output.delta" }>;

function isDelta(event: StreamEvent): event is Delta {
  const { type } = event;
  return type === "text.delta" || type === "reasoning.delta" || type === "output.delta";
}

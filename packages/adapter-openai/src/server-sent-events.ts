import { systemClock } from "@proviso/core";
import { longestBody, longestStream } from "@proviso/adapter-kit";
import { createParser, type EventSourceMessage } from "eventsource-parser";
import { sourceOf, type Source } from "./receive.ts";
import { fromConnection } from "./request-failure.ts";

/**
 * The events of a body, until the signal fires. `received` is called for each piece of it, comments included. An event
 * that the end of the body cuts short is one too: some servers leave out the blank line after their last one.
 * @throws {ConnectionError} where the body cannot be read. {RangeError} for an event over `longestBody`, and for a body
 * over `longestStream`.
 */
export async function* serverSentEvents(
  body: unknown,
  { signal, received }: { readonly signal: AbortSignal; readonly received: () => void },
): AsyncGenerator<EventSourceMessage, void> {
  const source = sourceOf(body, signal);
  if (source === undefined) return;
  const decoder = new TextDecoder();
  let events: EventSourceMessage[] = [];
  const parser = createParser({
    onEvent: (event) => void events.push(event),
    onError({ type, message }) {
      if (type === "max-buffer-size-exceeded") throw new RangeError(message);
    },
    maxBufferSize: longestBody,
  });
  let bytes = 0;
  let state: "reading" | "ended" | "broken" = "reading";
  const more = async (): Promise<void> => {
    const { done, value } = await fromConnection(() => source.next());
    received();
    bytes += value?.byteLength ?? 0;
    if (bytes > longestStream) throw new RangeError(`The provider's stream is longer than ${longestStream} bytes.`);
    parser.feed(done === true ? `${decoder.decode()}\n\n` : decoder.decode(value, { stream: true }));
    if (done === true) state = "ended";
  };
  try {
    while (state === "reading" && !signal.aborted) {
      await more().catch((error: unknown) => {
        state = "broken";
        throw error;
      });
      const parsed = events;
      events = [];
      yield* parsed;
    }
  } finally {
    // A reader that needs no more events leaves early.
    if (state === "reading" && !signal.aborted && (await endsSoon(source))) state = "ended";
    if (state !== "ended") source.cancel();
  }
}

/** Milliseconds that the end of a body may come after its last event. */
const mostLateMs = 100;

/** A body that is read to its end leaves its connection to the next request. */
async function endsSoon(source: Source): Promise<boolean> {
  const over = new AbortController();
  const late = systemClock.sleep(mostLateMs, over.signal).then(
    () => "late" as const,
    () => "late" as const,
  );
  try {
    for (;;) {
      const piece = await Promise.race([source.next(), late]);
      if (piece === "late") return false;
      if (piece.done === true) return true;
    }
  } catch {
    return false;
  } finally {
    over.abort("over");
  }
}

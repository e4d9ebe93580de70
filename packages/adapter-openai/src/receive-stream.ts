import { type Clock, type ModelFailure } from "@proviso/core";
import { costIn, receiveBody, type RawResponse, type Received } from "./receive.ts";
import type { StreamReader } from "./stream-responses.ts";

/** What is used of the SDK's `APIPromise` of a stream. */
interface RawStream {
  withResponse(): Promise<{ readonly data: unknown; readonly response: RawResponse }>;
}

export interface StallGuard {
  readonly clock: Clock;
  /** Milliseconds between two events. */
  readonly stallMs: number;
  /** Ends the request. */
  abort(reason: Error): void;
}

/**
 * The answer that a stream adds up to. A server that sends JSON instead is read as JSON. Throws what the SDK and the
 * network throw.
 */
export async function receiveStream(
  sent: unknown,
  reader: StreamReader,
  guard: StallGuard,
): Promise<Received | ModelFailure> {
  const { data, response } = isRaw(sent) ? await sent.withResponse() : { data: await sent, response: undefined };
  if (response !== undefined && !isStream(response.headers)) return receiveBody(response);
  // A stand-in for the client that does not stream.
  if (!isIterable(data)) return { body: data, costUsd: undefined };
  await readAll(data, reader, guard);
  const result = reader.result();
  if (result === "cut") {
    return { failure: "throttle", kind: "unknown", message: "The provider's stream ended before its last event." };
  }
  return "failure" in result ? result : { body: result.body, costUsd: response && costIn(response.headers) };
}

/** The SDK ends the loop in silence when the connection is gone: whoever reads on looks at the signals. */
async function readAll(events: AsyncIterable<unknown>, reader: StreamReader, guard: StallGuard): Promise<void> {
  const watch = watchGaps(guard);
  try {
    for await (const event of events) {
      watch.heard();
      if (reader.read(event)) break;
    }
  } finally {
    watch.end();
  }
}

/** One timer at a time, whatever comes in between. */
function watchGaps({ clock, stallMs, abort }: StallGuard): { heard(): void; end(): void } {
  const ending = new AbortController();
  let heardAt = clock.now();
  const wait = async (): Promise<void> => {
    for (let left = stallMs; left > 0; left = stallMs - (clock.now() - heardAt)) await clock.sleep(left, ending.signal);
    abort(new DOMException(`The stream stood still for ${stallMs} ms.`, "TimeoutError"));
  };
  // Ended in time.
  wait().catch(() => {});
  return {
    heard: () => void (heardAt = clock.now()),
    end: () => ending.abort("over"),
  };
}

function isRaw(sent: unknown): sent is RawStream {
  return typeof (sent as Partial<RawStream> | undefined)?.withResponse === "function";
}

function isStream(headers: Headers): boolean {
  return !/\b(json|html)\b/i.test(headers.get("content-type") ?? "");
}

function isIterable(data: unknown): data is AsyncIterable<unknown> {
  return typeof data === "object" && data !== null && Symbol.asyncIterator in data;
}

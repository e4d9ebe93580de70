import type { ModelFailure } from "@proviso/core";
import { isRecord } from "@proviso/core/provider";
import {
  errorObjectFailure,
  invalidResponse,
  parseBody,
  unreadableBody,
  type RequestGuard,
} from "@proviso/adapter-kit";
import type { Opened } from "./connection.ts";
import { receiveBody, statedIn, type Received } from "./receive.ts";
import { serverSentEvents } from "./server-sent-events.ts";
import type { StreamReader } from "./stream-responses.ts";

export interface StallGuard {
  readonly guard: RequestGuard;
  /** Milliseconds between two pieces of a stream. */
  readonly stallMs: number;
  readonly secrets: readonly string[];
}

/**
 * The answer that a stream adds up to: its bytes are read here, or the events that a client reads. A server that sends
 * JSON instead is read as JSON. @throws what the client and the network throw.
 */
export async function receiveStream(
  { data, response }: Opened,
  reader: StreamReader,
  { guard, stallMs, secrets }: StallGuard,
): Promise<Received | ModelFailure> {
  if (response !== undefined && !isStream(response.headers)) return receiveBody({ response }, secrets, guard);
  // A stand-in for the client that does not stream.
  if (response === undefined && !isIterable(data)) return { body: data, ...statedIn(undefined) };
  const listening = listenTo(reader, secrets, guard.signal);
  guard.expect(stallMs);
  const received = (): void => guard.received();
  try {
    const reading = isIterable(data)
      ? readEvents(data, listening.readEvent, received)
      : readBody(response?.body, listening.read, { signal: guard.signal, received });
    await Promise.race([reading, guard.ended]);
  } catch (error) {
    // The usage is all that comes behind the end of an answer, and is estimated then.
    if (reader.isWhole()) return ended(reader, listening, response);
    // More than is read of any answer: asking again would bring it again.
    if (error instanceof RangeError) return invalidResponse(error.message, undefined);
    throw error;
  }
  return ended(reader, listening, response);
}

/** What a stream that has ended comes to. */
function ended(
  reader: StreamReader,
  listening: ReturnType<typeof listenTo>,
  response: Opened["response"],
): Received | ModelFailure {
  const result = listening.failure() ?? reader.result();
  if (result === "cut") {
    return { failure: "throttle", kind: "unknown", message: "The provider's stream ended before its last event." };
  }
  return "failure" in result ? result : { body: result.body, isWhole: reader.isWhole(), ...statedIn(response) };
}

/** Events on their way to the reader; an error among them is the end. */
function listenTo(reader: StreamReader, secrets: readonly string[], signal: AbortSignal) {
  let failure: ModelFailure | undefined;
  const readEvent = (event: unknown, name?: string): boolean => {
    // What comes of a request that was given up is read no more.
    if (signal.aborted) return true;
    if (name !== "error" && !(isRecord(event) && isRecord(event["error"]))) return reader.read(event);
    failure = errorObjectFailure(event);
    return true;
  };
  return {
    readEvent,
    /** An event as it stands in the stream. */
    read(data: string, name: string | undefined): boolean {
      if (data === "[DONE]") return true;
      const json = parseBody(data);
      if (json.ok) return readEvent(json.value, name);
      failure = unreadableBody(data, json.error, secrets);
      return true;
    },
    failure: () => failure,
  };
}

/** The SDK ends the loop without an error when the connection is gone: the caller has to check the signals. */
async function readEvents(
  events: AsyncIterable<unknown>,
  read: (event: unknown) => boolean,
  received: () => void,
): Promise<void> {
  for await (const event of events) {
    received();
    if (read(event)) break;
  }
}

async function readBody(
  body: unknown,
  read: (data: string, name: string | undefined) => boolean,
  until: Parameters<typeof serverSentEvents>[1],
): Promise<void> {
  for await (const { data, event } of serverSentEvents(body, until)) if (read(data, event)) break;
}

function isStream(headers: Headers): boolean {
  return !/\b(json|html)\b/i.test(headers.get("content-type") ?? "");
}

function isIterable(data: unknown): data is AsyncIterable<unknown> {
  return typeof data === "object" && data !== null && Symbol.asyncIterator in data;
}

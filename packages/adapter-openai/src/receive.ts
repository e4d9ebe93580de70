import { type Clock, type ModelFailure } from "@proviso/core";
import { parseBody, reportedCost, unreadableBody } from "@proviso/runtime/adapter";

/** A body that was read, with what the headers say of its cost in US dollars. */
export interface Received {
  readonly failure?: undefined;
  readonly body: unknown;
  readonly costUsd: number | undefined;
}

/** What is used of the SDK's `APIPromise`. */
interface RawAnswer {
  asResponse(): Promise<RawResponse>;
}

export type RawResponse = Pick<Response, "headers" | "text"> & Partial<Pick<Response, "bodyUsed">>;

/**
 * The answer's body, read here: the SDK's own reading throws at a wrong shape and loses the body. A stand-in for the
 * client gives its body as it is. Throws what the SDK and the network throw.
 */
export async function receive(sent: unknown): Promise<Received | ModelFailure> {
  if (!isRaw(sent)) return { body: await sent, costUsd: undefined };
  const response = await sent.asResponse();
  // Somebody reads along, a tracer say: what the SDK made of the body is there for both.
  if (response.bodyUsed === true) return { body: await (sent as unknown), costUsd: reportedCost(response.headers) };
  return receiveBody(response);
}

/** The body of an answer that came as JSON. */
export async function receiveBody(response: RawResponse): Promise<Received | ModelFailure> {
  const text = await response.text();
  const json = parseBody(text);
  if (json.ok) return { body: json.value, costUsd: reportedCost(response.headers) };
  return unreadableBody(text, json.error);
}

/**
 * Runs a request that ends after `ms` milliseconds, its body included: the SDK's own timeout ends with the headers.
 * `stop` ends it with an error of ours. Rejects with the reason, whatever the SDK made of it.
 */
export async function within<T>(
  ms: number,
  clock: Clock,
  signal: AbortSignal,
  call: (signal: AbortSignal, stop: (reason: Error) => void) => Promise<T>,
): Promise<T> {
  const own = new AbortController();
  const settled = new AbortController();
  let stopped: Error | undefined;
  const stop = (reason: Error): void => {
    stopped ??= reason;
    own.abort(reason);
  };
  const abort = (): void => own.abort(signal.reason);
  if (signal.aborted) abort();
  else signal.addEventListener("abort", abort, { once: true });
  clock.sleep(ms, settled.signal).then(
    () => stop(new DOMException(`No answer within ${ms} ms.`, "TimeoutError")),
    () => {},
  );
  try {
    const received = await call(own.signal, stop);
    // An aborted stream ends as if it were whole.
    if (own.signal.aborted) throw own.signal.reason;
    return received;
  } catch (error) {
    throw stopped ?? error;
  } finally {
    signal.removeEventListener("abort", abort);
    settled.abort("over");
  }
}

function isRaw(sent: unknown): sent is RawAnswer {
  return typeof (sent as Partial<RawAnswer> | undefined)?.asResponse === "function";
}

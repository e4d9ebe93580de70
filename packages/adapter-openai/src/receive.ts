import type { ModelFailure } from "@proviso/core";
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

function isRaw(sent: unknown): sent is RawAnswer {
  return typeof (sent as Partial<RawAnswer> | undefined)?.asResponse === "function";
}

import type { ModelFailure } from "@proviso/core";
import { parseBody, reportedCost, unreadableBody } from "@proviso/adapter-kit";
import type { Sent } from "./client.ts";

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
export async function receive(sent: Sent): Promise<Received | ModelFailure> {
  if (sent.response !== undefined) return receiveBody(await sent.response);
  const { answer } = sent;
  if (!isRaw(answer)) return { body: await answer, costUsd: undefined };
  const response = await answer.asResponse();
  // Somebody reads along, a tracer say: what the SDK made of the body is there for both.
  if (response.bodyUsed === true) return { body: await (answer as unknown), costUsd: reportedCost(response.headers) };
  return receiveBody(response);
}

/** The body of an answer that came as JSON. */
export async function receiveBody(response: RawResponse): Promise<Received | ModelFailure> {
  const text = await response.text();
  const json = parseBody(text);
  if (json.ok) return { body: json.value, costUsd: reportedCost(response.headers) };
  return unreadableBody(text, json.error);
}

function isRaw(answer: unknown): answer is RawAnswer {
  return typeof (answer as Partial<RawAnswer> | undefined)?.asResponse === "function";
}

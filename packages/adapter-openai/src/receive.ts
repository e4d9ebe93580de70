import type { ModelFailure } from "@proviso/core";
import { invalidResponse, longestBody, parseBody, reportedCost, unreadableBody } from "@proviso/adapter-kit";
import { textOf } from "./body-source.ts";
import type { Opened, OpenResponse } from "./connection.ts";

/** A body that was read, with what the headers say of its cost in US dollars. */
export interface Received {
  readonly failure?: undefined;
  readonly body: unknown;
  readonly costUsd: number | undefined;
}

/** The body of an answer that was asked for as a whole. @throws what reading it throws. */
export async function receive({ data, response }: Opened): Promise<Received | ModelFailure> {
  if (response !== undefined && data === undefined) return receiveBody(response);
  return { body: data, costUsd: response && reportedCost(response.headers) };
}

/** The body of an answer that came as JSON. */
export async function receiveBody(response: OpenResponse): Promise<Received | ModelFailure> {
  const text = await textOf(response);
  if (text === undefined) {
    return invalidResponse(`The provider's answer is longer than ${longestBody} bytes.`, undefined);
  }
  const json = parseBody(text);
  if (json.ok) return { body: json.value, costUsd: reportedCost(response.headers) };
  return unreadableBody(text, json.error);
}

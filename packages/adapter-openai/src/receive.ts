import type { ModelFailure } from "@proviso/core";
import type { RateLimit } from "@proviso/core";
import {
  invalidResponse,
  longestBody,
  parseBody,
  rateLimitFrom,
  reportedCost,
  unreadableBody,
} from "@proviso/adapter-kit";
import { textOf } from "./body-source.ts";
import type { Opened, OpenResponse } from "./connection.ts";

/** What the headers of an answer say. */
export interface Stated {
  /** US dollars. */
  readonly costUsd: number | undefined;
  readonly rateLimit: RateLimit | undefined;
}

/** A body that was read, with what its headers say. */
export interface Received extends Stated {
  readonly failure?: undefined;
  readonly body: unknown;
}

/** A client of a user's own may show no headers. */
export function statedIn(response: OpenResponse | undefined): Stated {
  if (response === undefined) return nothing;
  const { headers } = response;
  return { costUsd: reportedCost(headers), rateLimit: rateLimitFrom(headers) };
}

const nothing: Stated = { costUsd: undefined, rateLimit: undefined };

/** The body of an answer that was asked for as a whole. @throws what reading it throws. */
export async function receive({ data, response }: Opened): Promise<Received | ModelFailure> {
  if (response !== undefined && data === undefined) return receiveBody(response);
  return { body: data, ...statedIn(response) };
}

/** The body of an answer that came as JSON. */
export async function receiveBody(response: OpenResponse): Promise<Received | ModelFailure> {
  const text = await textOf(response);
  if (text === undefined) {
    return invalidResponse(`The provider's answer is longer than ${longestBody} bytes.`, undefined);
  }
  const json = parseBody(text);
  if (json.ok) return { body: json.value, ...statedIn(response) };
  return unreadableBody(text, json.error);
}

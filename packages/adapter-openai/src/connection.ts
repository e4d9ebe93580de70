import type { RequestGuard } from "@proviso/adapter-kit";
import type { ModelFailure, ModelRequest } from "@proviso/core";
import type { ReadableAnswer } from "./receive.ts";
import { clientConnection } from "./client-connection.ts";
import { fetchConnection } from "./fetch-connection.ts";
import type { CheckedOptions } from "./options.ts";

/** The way to the service: the adapter's own requests, or a client that the caller made. */
export interface Connection {
  /** Where requests go, for a message. */
  readonly address: string;
  /** Milliseconds for one request, its body included. */
  readonly timeoutMs: number;
  /**
   * Sends one request and resolves when the headers of its answer are there. A refusal is a failure.
   * @throws what the network, or the client, throws, and whatever ended the request.
   */
  open(request: ModelRequest, guard: RequestGuard): Promise<Opened | ModelFailure>;
}

/** An answer whose headers have arrived. */
export interface Opened {
  readonly failure?: undefined;
  /** undefined where a stand-in for the client gave only what it had read. */
  readonly response?: OpenResponse | undefined;
  /** What a client has read, or the events that it reads; undefined where the bytes are left to the adapter. */
  readonly data?: unknown;
  /** Whether the global `fetch` gave the response: its body ends when the signal fires, and at its announced length. */
  readonly isOfGlobalFetch?: boolean | undefined;
}

/** What is used of a `Response`. */
export type OpenResponse = ReadableAnswer & { readonly body: unknown };

/** @throws {DefinitionError} for headers that HTTP does not allow. */
export function connect(options: CheckedOptions): Connection {
  const { client } = options;
  return client === undefined ? fetchConnection(options) : clientConnection(options, client);
}

// The connections of one queue, worker or pace to its Redis. They reconnect by themselves; what was asked waits meanwhile.
import { messageOf } from "@proviso/core/internal";
import { Redis } from "ioredis";
import { QueueError } from "../queue.ts";

/** How BullMQ and we connect: a command waits for the server to come back. */
export const patient = { maxRetriesPerRequest: null } as const;

/** Connections that are made when they are first used. */
export class Connections implements AsyncDisposable {
  readonly #url: string;
  readonly #made = new Set<Redis>();
  #commands: Promise<Redis> | undefined;
  #messages: Promise<Redis> | undefined;
  readonly #listeners = new Map<string, Set<(message: string) => void>>();
  #isClosed = false;

  constructor(url: string) {
    this.#url = url;
  }

  /** @throws {QueueError} "unreachable" where the first connection fails. */
  commands(): Promise<Redis> {
    if (this.#isClosed) return Promise.reject(closed());
    this.#commands ??= this.#connect().catch((error: unknown) => {
      this.#commands = undefined;
      throw error;
    });
    return this.#commands;
  }

  /** Calls `listener` with the messages of a channel until the returned function is called. */
  async subscribe(channel: string, listener: (message: string) => void): Promise<() => void> {
    if (this.#isClosed) throw closed();
    this.#messages ??= this.#subscriber().catch((error: unknown) => {
      this.#messages = undefined;
      throw error;
    });
    const connection = await this.#messages;
    const listeners = this.#listeners.get(channel) ?? new Set();
    this.#listeners.set(channel, listeners.add(listener));
    await connection.subscribe(channel);
    return () => void listeners.delete(listener);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    for (const connection of this.#made) connection.disconnect();
    await Promise.allSettled([this.#commands, this.#messages]);
  }

  async #subscriber(): Promise<Redis> {
    const connection = await this.#connect();
    connection.on("message", (channel: string, message: string) => {
      for (const listener of this.#listeners.get(channel) ?? []) listener(message);
    });
    return connection;
  }

  async #connect(): Promise<Redis> {
    if (this.#isClosed) throw closed();
    const connection = new Redis(this.#url, { ...patient, lazyConnect: true });
    let fault: unknown;
    // Later faults are mended by a new connection.
    connection.on("error", (error) => (fault = error));
    this.#made.add(connection);
    try {
      await connection.connect();
    } catch (error) {
      connection.disconnect();
      this.#made.delete(connection);
      const cause = fault ?? error;
      throw new QueueError(`No Redis answers at ${withoutPassword(this.#url)}: ${messageOf(cause)}`, {
        reason: "unreachable",
        cause,
      });
    }
    return connection;
  }
}

function closed(): QueueError {
  return new QueueError("The queue is closed.", { reason: "unreachable" });
}

function withoutPassword(url: string): string {
  try {
    const { protocol, host } = new URL(url);
    return `${protocol}//${host}`;
  } catch {
    return "the given url";
  }
}

// The connections of one queue, worker or pace to its Redis. They reconnect by themselves; what was asked waits meanwhile.
import { messageOf } from "@proviso/core/internal";
import { Redis } from "ioredis";
import { QueueError } from "../queue.ts";
import { settledIn } from "./settled-in.ts";

/** How BullMQ and we connect: a command waits for the server to come back, and a server that hangs delays no end. */
const patient = { maxRetriesPerRequest: null, disconnectTimeout: 500 } as const;

/** Milliseconds that a server has to answer a new connection at first. */
const answerMs = 10_000;

/** What ends a connection, ours or one that BullMQ made. */
interface Endable {
  readonly status: string;
  connect(): Promise<void>;
  disconnect(): void;
}

/** Ends a connection, also one that waits to connect again: what was asked of it is refused. */
export function endConnection(connection: Endable): void {
  if (connection.status === "end") return;
  // A client has no socket between two tries, and one that is disconnected there never says that it has ended.
  if (connection.status === "reconnecting") void connection.connect().catch(() => {});
  connection.disconnect();
}

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

  /** @throws {QueueError} "unreachable" where the first connection fails, or is not answered in ten seconds. */
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

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Whether all of them answer, as far as is known. */
  get areUp(): boolean {
    return [...this.#made].every(({ status }) => status === "ready");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    for (const connection of this.#made) endConnection(connection);
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
      const connecting = connection.connect();
      if (!(await settledIn(answerMs, connecting))) throw new Error(`It is silent for ${answerMs} milliseconds.`);
      await connecting;
    } catch (error) {
      endConnection(connection);
      this.#made.delete(connection);
      throw this.unreachable(fault ?? error);
    }
    return connection;
  }

  unreachable(cause: unknown): QueueError {
    const message = `No Redis answers at ${withoutPassword(this.#url)}: ${messageOf(cause)}`;
    return new QueueError(message, { reason: "unreachable", cause });
  }
}

/** What is asked of one that was disposed rejects with it. */
export function closed(cause?: unknown): QueueError {
  return new QueueError("It was disposed, and is closed: make a new one.", { reason: "unreachable", cause });
}

function withoutPassword(url: string): string {
  try {
    const { protocol, host } = new URL(url);
    return `${protocol}//${host}`;
  } catch {
    return "the given url";
  }
}

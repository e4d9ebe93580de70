// The connections of one run or worker to its Redis. They reconnect by themselves; what was asked waits meanwhile.
import { DefinitionError, systemClock } from "@proviso/core";
import { messageOf } from "@proviso/core/internal";
import { Redis } from "ioredis";
import { bounded } from "../bounded.ts";

/** Milliseconds that a server has to answer at first. */
const answerMs = 10_000;
/** Milliseconds that closing takes at most where Redis hangs: before its connections are ended, and after that. */
const [closeMs, endedMs] = [5_000, 1_000];

/** A connection, and the copies of it on which BullMQ waits for jobs and for events. */
export class OwnRedis extends Redis {
  readonly #copies: Redis[] = [];
  readonly #url: string;
  #fault: unknown;

  constructor(url: string) {
    // A command waits for the server to come back, and a server that hangs delays no end.
    super(url, { maxRetriesPerRequest: null, disconnectTimeout: 500, lazyConnect: true });
    this.#url = url;
    this.on("error", (error) => (this.#fault = error));
  }

  override duplicate(...override: Parameters<Redis["duplicate"]>): Redis {
    const copy = super.duplicate(...override);
    copy.on("error", () => {});
    this.#copies.push(copy);
    return copy;
  }

  /** @throws {DefinitionError} where no server answers. {Unsettled} for an abort. */
  async open(signal?: AbortSignal): Promise<void> {
    try {
      await bounded(this.connect(), { clock: systemClock, signal, ms: answerMs });
    } catch (error) {
      this.#end();
      if (signal?.aborted === true) throw error;
      const { host } = new URL(this.#url);
      const cause = this.#fault ?? error;
      throw new DefinitionError(`No Redis answers at ${host}: ${messageOf(cause)}`, { cause });
    }
  }

  /** Ends all connections after the closing of what uses them, which may wait for Redis without end. */
  async endAfter(closing: Promise<unknown>): Promise<void> {
    const settled = async (ms: number): Promise<unknown> =>
      bounded(closing, { clock: systemClock, ms }).catch(() => {});
    await settled(this.status === "ready" ? closeMs : 0);
    this.#end();
    await settled(endedMs);
  }

  #end(): void {
    for (const connection of [this, ...this.#copies]) {
      if (connection.status === "end") continue;
      // A client has no socket between two tries, and one that is disconnected there never says that it has ended.
      if (connection.status === "reconnecting") void connection.connect().catch(() => {});
      connection.disconnect();
    }
  }
}

// BullMQ's worker, which can be closed also while Redis is away or hangs.
import { Worker } from "bullmq";
import { endConnection } from "./connections.ts";
import type { JobData } from "./shelf.ts";

/** Takes jobs of a queue. */
export class OwnWorker extends Worker<JobData> {
  /** Begins nothing more; resolves when what was begun is over, and may wait for Redis without end until `cut` is called. */
  async closeSoon(): Promise<void> {
    const closed = this.close();
    const blocking = await this.#blocking();
    // Closing waits for this connection to end, which a connection between two tries does not do by itself.
    if (blocking?.status === "reconnecting") endConnection(blocking);
    await closed;
  }

  /** Ends what a closing waits for, and leaves no timer. */
  async cut(): Promise<void> {
    await this.pause(true);
    await this.lockManager.close();
    const blocking = await this.#blocking();
    if (blocking !== undefined) endConnection(blocking);
  }

  /** The connection on which it waits for jobs; undefined: it has none yet. */
  async #blocking(): Promise<Awaited<ReturnType<OwnWorker["getBackend"]>["blockingClient"]>> {
    return this.getBackend().blockingClient?.catch(() => undefined);
  }
}

import { memoryJournal } from "@proviso/journal";
import { bullmqQueue } from "@proviso/worker/bullmq";
import { Queue } from "bullmq";
import { randomUUID } from "node:crypto";
import { onTestFinished } from "vitest";
import { startRedis } from "./redis-server.ts";

/** A queue in a Redis of its own, and BullMQ's view of it, until the test ends. */
export async function ownQueue() {
  const server = await startRedis();
  onTestFinished(() => server[Symbol.asyncDispose]());
  const options = { url: server.url, queue: `q-${randomUUID()}`, journal: memoryJournal() };
  const queue = bullmqQueue(options);
  onTestFinished(() => queue[Symbol.asyncDispose]());
  const raw = new Queue(options.queue, { connection: { url: server.url } });
  raw.on("error", () => {});
  onTestFinished(() => raw.close());
  return { server, options, queue, raw };
}

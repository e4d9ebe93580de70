// node disposes.ts <redis> <queue>
// Works on one run without end. Told to by a line, it disposes its worker and its queue, and writes a line; then nothing of
// them keeps it alive.
import { memoryJournal } from "@proviso/journal";
import { bullmqQueue, serveRuns } from "@proviso/worker/bullmq";
import { once } from "node:events";
import { counting, gate } from "../support.ts";

const [url = "", queueName = ""] = process.argv.slice(2);
const options = { url, queue: queueName, journal: memoryJournal() };
const begun = gate();
const kind = counting((_, { signal }) => {
  begun.open();
  return new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason as Error)));
});
const queue = bullmqQueue(options);
await queue.add(kind, { name: "ada", upTo: 1 }, { id: "r" });
const worker = await serveRuns([kind], options);
await begun.opened;
process.stdout.write("ready\n");
await once(process.stdin, "data");
await Promise.all([worker[Symbol.asyncDispose](), queue[Symbol.asyncDispose]()]);
process.stdout.write("disposed\n");
process.stdin.destroy();

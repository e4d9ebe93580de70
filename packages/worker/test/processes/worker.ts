// node worker.ts <redis> <queue> <file of the journal> <file of the lines> <milliseconds of a lease>
// Works on runs that count, and writes a line with each call that begins and one with each that ends.
import { sqliteJournal } from "@proviso/journal/node";
import { serveRuns } from "@proviso/worker/bullmq";
import { appendFileSync } from "node:fs";
import { counting } from "../support.ts";

const [url = "", queue = "", file = "", lines = "", leaseMs = ""] = process.argv.slice(2);
const journal = sqliteJournal(file);
const kind = counting(async (number, _, name) => {
  appendFileSync(lines, `${process.pid} begins ${name} ${number}\n`);
  await new Promise((resolve) => setTimeout(resolve, 40));
  appendFileSync(lines, `${process.pid} ends ${name} ${number}\n`);
});
const worker = await serveRuns([kind], { url, queue, journal, leaseMs: Number(leaseMs), concurrency: 4 });
process.stdout.write("ready\n");
// Whoever started it is gone.
process.stdin.on("end", () => process.kill(process.pid, "SIGKILL")).resume();
process.once("SIGTERM", () => {
  void worker[Symbol.asyncDispose]().then(async () => {
    await journal.close();
    process.exit(0);
  });
});

// node worker.ts <redis> <journal's file> <base URL of the model>
// A worker process: it works until it is told to end, and hands back what it has.
import { sqliteJournal } from "@proviso/journal/node";
import { serveRuns } from "@proviso/worker/bullmq";
import { bookings } from "./booking.ts";

const [redis = "", file = "", baseURL = ""] = process.argv.slice(2);
const journal = sqliteJournal(file);
const kinds = [bookings(journal, { redis, baseURL })];
const worker = await serveRuns(kinds, { url: redis, queue: "bookings", journal, concurrency: 16, leaseMs: 2_000 });
process.stdout.write("ready\n");
process.once("SIGTERM", () => void worker[Symbol.asyncDispose]().then(() => process.exit(0)));
// The process that started it is gone.
process.stdin.on("end", () => process.kill(process.pid, "SIGKILL")).resume();

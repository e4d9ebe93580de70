// node kills-worker.ts <redis> <queue> <folder of the socket of Postgres> <file of the lines>
// Works on runs that count over a journal in Postgres, and writes a line with each request, and with each call that begins.
import { postgresJournal } from "@proviso/journal/postgres";
import { serveRuns } from "@proviso/worker/bullmq";
import { appendFileSync } from "node:fs";
import { Pool } from "pg";
import { counting } from "../support.ts";

const [url = "", queue = "", host = "", lines = ""] = process.argv.slice(2);
const pool = new Pool({ host, user: "proviso", database: "postgres", max: 4 });
// A connection that ends with the server.
pool.on("error", () => {});
const journal = postgresJournal(pool);
const note = (text: string): void => appendFileSync(lines, `${Date.now()} ${process.pid} ${text}\n`);
const kind = counting(async (number, { idempotencyKey }, name) => {
  note(`begins ${name} ${number} ${idempotencyKey}`);
  await new Promise((resolve) => setTimeout(resolve, 20));
});
await serveRuns([kind], { url, queue, journal, leaseMs: 1_000, concurrency: 4, maxAttempts: 1_000 });
process.stdout.write("ready\n");
// Whoever started it is gone.
process.stdin.on("end", () => process.kill(process.pid, "SIGKILL")).resume();

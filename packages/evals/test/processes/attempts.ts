// node attempts.ts <redis> <queue>
// Makes attempts of slow mails until it is killed, or the process that started it is gone.
import { serveAttempts } from "@proviso/evals/bullmq";
import { slowMails } from "./slow-mails.ts";

const [url = "", queue = ""] = process.argv.slice(2);
process.stdin.on("end", () => process.kill(process.pid, "SIGKILL")).resume();
process.stdout.write("ready\n");
await serveAttempts([slowMails], { url, queue, leaseMs: 1_000, concurrency: 20 });

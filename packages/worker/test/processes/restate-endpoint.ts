// node restate-endpoint.ts <port> <file of the journal> <file of the lines>
// Serves runs that count to Restate, and writes a line with each call that begins and one with each that ends.
import { sqliteJournal } from "@proviso/journal/node";
import { restateRuns } from "@proviso/worker/restate";
import { serve } from "@restatedev/restate-sdk";
import { appendFileSync } from "node:fs";
import { counting } from "../support.ts";

const [port = "", file = "", lines = ""] = process.argv.slice(2);
const journal = sqliteJournal(file);
const kind = counting(async (number, _, name) => {
  appendFileSync(lines, `${process.pid} begins ${name} ${number}\n`);
  await new Promise((resolve) => setTimeout(resolve, 100));
  appendFileSync(lines, `${process.pid} ends ${name} ${number}\n`);
});
await serve({ port: Number(port), services: [restateRuns([kind], { journal })] });
process.stdout.write("ready\n");
process.stdin.on("end", () => process.kill(process.pid, "SIGKILL")).resume();

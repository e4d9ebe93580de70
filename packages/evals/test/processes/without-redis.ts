// node without-redis.ts <redis> <queue>
// Hands attempts out, and has one in hand. Told to by a line, it ends its run and its serving, and writes a line; then nothing
// of them keeps it alive.
import { defineEval, runEval } from "@proviso/evals";
import { redisWorkers, serveAttempts } from "@proviso/evals/bullmq";
import { once } from "node:events";
import { answering, mails, triage, type Mail } from "../support.ts";

const [url = "", queue = ""] = process.argv.slice(2);
process.stdin.on("end", () => process.kill(process.pid, "SIGKILL"));
const [begun, ending] = [Promise.withResolvers<void>(), new AbortController()];
const of = defineEval({
  name: "spam",
  data: mails(4),
  prompt: ({ text }: Mail) => triage.bind({ text }),
  adapter: answering(() => {
    begun.resolve();
    return new Promise<never>(() => {});
  }),
  scorers: { right: ({ row, output }) => output.label === row.label },
});
const { signal } = ending;
const workers = redisWorkers({ url, queue });
const closed = Promise.withResolvers<void>();
const watched: typeof workers = {
  run: (...job) => workers.run(...job),
  close: () => {
    const closing = workers.close();
    void closing.then(closed.resolve);
    return closing;
  },
};
const serving = serveAttempts([of], { url, queue, concurrency: 1, signal });
const running = runEval(of, { workers: watched, signal });
await begun.promise;
process.stdout.write("ready\n");
await once(process.stdin, "data");
ending.abort();
await Promise.all([serving, running, closed.promise]);
process.stdout.write("ended\n");
process.stdin.destroy();

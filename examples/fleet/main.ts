// node --conditions=@proviso/source main.ts [runs]
// Hands runs in, starts three workers, kills one and stops another for longer than its lease, and counts what came of it.
import { sqliteJournal } from "@proviso/journal/node";
import { startSimulator, type SimulatedRequest, type SimulatorStep } from "@proviso/simulator";
import { bullmqQueue } from "@proviso/worker/bullmq";
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { bookings } from "./booking.ts";
import { hasRedis, startRedis } from "./redis.ts";

const count = Number(process.argv[2] ?? 2_000);
if (!Number.isSafeInteger(count) || count < 20) {
  console.error(`The number of runs has to be a whole number from 20, not ${process.argv[2]}.`);
  process.exit(2);
}
if (!hasRedis()) {
  console.error("redis-server is missing: install it (Debian: apt-get install redis-server), and start this again.");
  process.exit(2);
}

let answered = 0;
/** Plays the model: it looks for a room, books it, and says so. */
function answer({ messages }: SimulatedRequest): SimulatorStep {
  answered++;
  const [, guest = "", day = ""] = /A room for (\S+) on (\S+)\./.exec(JSON.stringify(messages)) ?? [];
  const results = messages.filter(({ role }) => role === "tool").length;
  if (results === 0) return { toolCalls: [{ name: "rooms", arguments: { day } }] };
  if (results === 1) return { toolCalls: [{ name: "book", arguments: { guest, room: "blue" } }] };
  return { text: `The blue room is yours, ${guest}.` };
}

const folder = await mkdtemp(join(tmpdir(), "fleet-"));
const file = join(folder, "runs.sqlite");
const children = new Set<ChildProcess>();
try {
  await using redis = await startRedis(folder);
  let requests = 0;
  await using service = await startSimulator({
    rules: [answer],
    latencyMs: 50,
    rateLimit: { requestsPerMinute: 15_000, burst: 0.02 },
    keepRequests: false,
    onRequest: () => void requests++,
  });
  await using journal = sqliteJournal(file);
  await using queue = bullmqQueue({ url: redis.url, queue: "bookings", journal });
  const kind = bookings(journal, { redis: redis.url, baseURL: service.baseURL });

  const startWorker = async (): Promise<ChildProcess> => {
    const program = join(import.meta.dirname, "worker.ts");
    const child = spawn(process.execPath, [...process.execArgv, program, redis.url, file, service.baseURL], {
      stdio: ["pipe", "pipe", "inherit"],
    });
    children.add(child);
    await once(child.stdout, "data");
    return child;
  };

  /** Stops it where it holds no lock of the file: with one it would stop the other workers too. */
  const stop = async (child: ChildProcess | undefined): Promise<void> => {
    using database = new DatabaseSync(file, { timeout: 500 });
    for (;;) {
      child?.kill("SIGSTOP");
      try {
        database.exec("BEGIN IMMEDIATE; ROLLBACK");
        return;
      } catch {
        child?.kill("SIGCONT");
        await sleep(20);
      }
    }
  };

  const ids = Array.from({ length: count }, (_, at) => `booking/${at}`);
  for (const [at, id] of ids.entries()) {
    await queue.add(kind, { guest: `guest-${at}`, day: `2027-01-${(at % 28) + 1}` }, { id, priority: at % 3 });
  }
  const begun = performance.now();
  const [killed, stopped] = await Promise.all([startWorker(), startWorker(), startWorker()]);
  const executed = async (share: number): Promise<void> => {
    while ((await queue.counts()).executed < count * share) await sleep(20);
  };
  await executed(0.2);
  killed?.kill("SIGKILL");
  await executed(0.4);
  await stop(stopped);
  const stoppedAt = performance.now();
  await executed(0.6);
  // Longer than its lease, and the check for lost leases after it.
  await sleep(Math.max(0, stoppedAt + 4_000 - performance.now()));
  stopped?.kill("SIGCONT");
  for (const id of ids) await queue.result(kind, id);
  const seconds = (performance.now() - begun) / 1_000;

  let [takenOver, longestMs] = [0, 0];
  for (const id of ids) {
    let lastAt = 0;
    for await (const entry of journal.entries(id)) {
      if (entry.kind === "resumed") {
        takenOver++;
        longestMs = Math.max(longestMs, entry.at - lastAt);
      }
      lastAt = entry.at;
    }
  }
  const database = new DatabaseSync(file, { readOnly: true });
  const row = database.prepare("SELECT COUNT(*) AS rows, COUNT(DISTINCT guest) AS guests FROM bookings").get();
  database.close();
  const counts = await queue.counts();
  const whole = new Intl.NumberFormat("en-US");
  const needed = count * 3;
  console.log(`${whole.format(counts.executed)} of ${whole.format(count)} runs executed in ${seconds.toFixed(1)} s`);
  console.log(
    `bookings    ${whole.format(Number(row?.["rows"]))} rows for ${whole.format(Number(row?.["guests"]))} guests`,
  );
  console.log(`taken over  ${takenOver} runs, the longest after ${(longestMs / 1_000).toFixed(1)} s without a step`);
  console.log(
    `requests    ${whole.format(answered)} answered, ${answered - needed} more than without a loss; ${requests - answered} refused by the rate limit`,
  );
  const isWhole = counts.executed === count && row?.["rows"] === count && row["guests"] === count;
  process.exitCode = isWhole ? 0 : 1;
} finally {
  const ended = [...children].filter(({ exitCode, signalCode }) => exitCode === null && signalCode === null);
  for (const child of ended) child.kill("SIGTERM");
  await Promise.race([Promise.all(ended.map((child) => once(child, "close"))), sleep(5_000)]);
  for (const child of ended) child.kill("SIGKILL");
  await rm(folder, { recursive: true, force: true });
}

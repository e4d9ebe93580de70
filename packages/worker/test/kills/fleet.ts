// Workers of one queue, over a journal in Postgres: one after the other is killed, and now and then one is stopped past its
// lease and woken. Afterwards every run is held against what it should have done.
import { postgresJournal } from "@proviso/journal/postgres";
import { bullmqQueue } from "@proviso/worker/bullmq";
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Journal, RunDescription } from "@proviso/journal";
import { startPostgres } from "../../../journal/test/postgres-server.ts";
import { startRedis } from "../redis-server.ts";
import { counting, until } from "../support.ts";

/** What a campaign takes. */
export interface FleetOptions {
  /** An empty folder. */
  readonly folder: string;
  /** How many workers are killed. */
  readonly kills: number;
  /** Picks the moments and the workers. */
  readonly random: () => number;
  /** Node's arguments before the program. */
  readonly nodeArguments: readonly string[];
  /** Called with each kill. */
  readonly progress?: ((kill: number) => void) | undefined;
}

/** What came of it. `lost`, `doubled`, `invalid` and `unfenced` have to be 0. */
export interface FleetReport {
  readonly kills: number;
  /** Workers that were stopped past their lease, and woken. */
  readonly woken: number;
  readonly runs: number;
  /** Handlers of idempotent calls that a kill interrupted, and that ran again under the same key. */
  readonly ranAgain: number;
  /** Answers that were kept, and asked for again. */
  readonly lost: number;
  /** Calls that were kept, and begun again; or that had two keys. */
  readonly doubled: number;
  /** Runs that did not end with their answer, or whose record is not whole. */
  readonly invalid: number;
  /** Woken workers that went on with a run that another one had, by more than the call that they were about to begin. */
  readonly unfenced: number;
  readonly faults: readonly string[];
}

const program = join(import.meta.dirname, "..", "processes", "kills-worker.ts");
const callsOfRun = 8;
const workersAtOnce = 3;
const runsAtOnce = 12;

/** A line of a worker: when, who, what. */
interface Line {
  readonly at: number;
  readonly pid: number;
  readonly what: string;
  readonly run: string;
  readonly number: number;
  readonly key: string;
}

export async function killWorkers({
  folder,
  kills,
  random,
  nodeArguments,
  progress,
}: FleetOptions): Promise<FleetReport> {
  await using redis = await startRedis();
  await using postgres = await startPostgres();
  const journal = postgresJournal(postgres.pool());
  const lines = join(folder, "lines");
  writeFileSync(lines, "");
  const read = (): readonly Line[] => linesIn(readFileSync(lines, "utf8"));
  const kind = counting(() => {});
  const queue = bullmqQueue({ url: redis.url, queue: "kills", journal });
  const children = new Set<ChildProcess>();
  const start = async (): Promise<ChildProcess> => {
    const child = spawn(process.execPath, [...nodeArguments, program, redis.url, "kills", postgres.host, lines], {
      stdio: ["pipe", "pipe", "inherit"],
    });
    children.add(child);
    await once(child.stdout, "data");
    child.stdout.resume();
    return child;
  };
  try {
    const ids: string[] = [];
    /** Hands in as many as are not done. */
    const fill = async (): Promise<void> => {
      const { executed, failed } = await queue.counts();
      while (ids.length - executed - failed < runsAtOnce) {
        const id = `run-${ids.length}`;
        ids.push(id);
        await queue.add(kind, { name: id, upTo: callsOfRun }, { id });
      }
    };
    await fill();
    let workers = await Promise.all(Array.from({ length: workersAtOnce }, start));
    const woken: { readonly pid: number; readonly stoppedAt: number }[] = [];
    for (let kill = 1; kill <= kills; kill++) {
      const before = read().length;
      await until(() => read().length > before + 2);
      await sleep(random() * 150);
      const place = Math.floor(random() * workers.length);
      const [chosen] = workers.splice(place, 1);
      if (kill % 10 === 0 && chosen !== undefined) {
        const stoppedAt = Date.now();
        chosen.kill("SIGSTOP");
        // Longer than its lease and a look for stalled runs.
        await sleep(2_500);
        chosen.kill("SIGCONT");
        woken.push({ pid: chosen.pid ?? 0, stoppedAt });
        await sleep(random() * 500);
      }
      chosen?.kill("SIGKILL");
      workers = [...workers, await start()];
      await fill();
      progress?.(kill);
    }
    await until(async () => {
      const { executed, failed } = await queue.counts();
      return executed + failed === ids.length;
    });
    return await reportOf(journal, ids, read(), woken, kills);
  } finally {
    for (const child of children) child.kill("SIGKILL");
    await queue[Symbol.asyncDispose]();
    await journal.close();
  }
}

function linesIn(text: string): readonly Line[] {
  return text
    .split("\n")
    .slice(0, -1)
    .map((line) => {
      const [at = "", pid = "", what = "", run = "", number = "", key = ""] = line.split(" ");
      return { at: Number(at), pid: Number(pid), what, run, number: Number(number), key };
    });
}

async function reportOf(
  journal: Journal,
  ids: readonly string[],
  lines: readonly Line[],
  woken: readonly { readonly pid: number; readonly stoppedAt: number }[],
  kills: number,
): Promise<FleetReport> {
  const lost: string[] = [];
  const doubled: string[] = [];
  const invalid: string[] = [];
  const unfenced: string[] = [];
  let ranAgain = 0;
  for (const id of ids) {
    const own = lines.filter(({ run }) => run === id);
    const described = await journal.describe(id);
    const fault = faultOf(described);
    if (fault !== undefined) invalid.push(`${id} ${fault}`);
    const begun = own.filter(({ what }) => what === "begins");
    for (let number = 1; number <= callsOfRun; number++) {
      const calls = begun.filter((line) => line.number === number);
      ranAgain += calls.length - 1;
      if (new Set(calls.map(({ key }) => key)).size !== 1) doubled.push(`call ${number} of ${id} had several keys`);
      const step = described?.timeline.find(
        (each) => each.kind === "call" && (each.input as { readonly number: number }).number === number,
      );
      const kept = step?.at.getTime() ?? Infinity;
      // A woken worker may have been about to begin a call when it was stopped.
      const late = calls.filter(({ at, pid }) => at > kept && !woken.some((each) => each.pid === pid));
      if (late.length > 0) doubled.push(`call ${number} of ${id} was begun after it was kept`);
    }
    for (const { pid, stoppedAt } of woken) {
      const taken = own.find((line) => line.pid !== pid && line.at > stoppedAt)?.at ?? Infinity;
      const later = begun.filter((line) => line.pid === pid && line.at > taken);
      if (later.length > 1) unfenced.push(`${pid} began ${later.length} calls of ${id} after it was taken over`);
    }
    lost.push(...(await lostAnswers(journal, id)));
  }
  return {
    kills,
    woken: woken.length,
    runs: ids.length,
    ranAgain,
    lost: lost.length,
    doubled: doubled.length,
    invalid: invalid.length,
    unfenced: unfenced.length,
    faults: [...lost, ...doubled, ...invalid, ...unfenced],
  };
}

function faultOf(described: RunDescription | undefined): string | undefined {
  if (described?.state !== "executed") return `is ${described?.state ?? "not there"}`;
  const kinds = described.timeline.map(({ kind }) => kind[0]).join("");
  return kinds === `${"ac".repeat(callsOfRun)}a` ? undefined : `has the steps ${kinds}`;
}

/** Answers that a later attempt asked for again though they had been kept. */
async function lostAnswers(journal: Journal, id: string): Promise<readonly string[]> {
  const lost: string[] = [];
  const answered = new Set<number>();
  for await (const entry of journal.entries(id)) {
    if (entry.kind !== "answered" || entry.answer.failure !== undefined) continue;
    if (answered.has(entry.turn)) lost.push(`turn ${entry.turn} of ${id} was answered twice`);
    answered.add(entry.turn);
  }
  return lost;
}

import { memoryJournal, type Journal } from "@proviso/journal";
import { sqliteJournal } from "@proviso/journal/node";
import { postgresJournal } from "@proviso/journal/postgres";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { noServer, startPostgres } from "../../packages/journal/test/postgres-server.ts";
import { generateTextOf } from "./contenders.ts";
import { journaled, type Given } from "./journaled.ts";
import { median, micros, race, row, type Row, type Work } from "./measure.ts";
import { argumentsText, instructions, ofTurns, question, scenarios, type Scenario } from "./scenarios.ts";

const longRun = scenarios[2] as Scenario;
/** Answers and calls. */
const stepsOf = ({ turns, calls }: Scenario): number => turns * (1 + calls) + 1;

/** What recording costs. */
export async function journal(quick: boolean): Promise<readonly Row[]> {
  return [
    ...(await inMemory(quick)),
    ...(await onDisk(quick)),
    ...(await bytes()),
    ...(await readAgain(quick)),
    ...(await overPostgres(quick)),
  ];
}

/** Evaluations whose runs are in journals of so many. */
function inJournals(evaluate: (given: Given) => Promise<unknown>, make: () => Journal, runs: number): Work {
  let count = 0;
  let open = make();
  return () => {
    if (count++ % runs === 0) open = make();
    return evaluate({ run: open.run(`run ${count}`) });
  };
}

async function inMemory(quick: boolean): Promise<readonly Row[]> {
  const rows: Row[] = [];
  for (const scenario of [...scenarios, ofTurns(100)]) {
    const evaluate = journaled(scenario);
    const measured = await race(
      { without: () => evaluate(), recorded: inJournals(evaluate, memoryJournal, 50) },
      {
        times: Math.max(6, Math.floor((quick ? 300 : 1_500) / stepsOf(scenario))),
        rounds: quick ? 7 : 15,
        warmUpMs: quick ? 1_000 : 2_000,
      },
    );
    const detail = `without ${micros(measured.without)} · recorded ${micros(measured.recorded)}`;
    rows.push(
      row(
        `${scenario.name}: in a memory journal / without a run`,
        measured.recorded / measured.without,
        detail,
        "≤ 1.15",
      ),
    );
  }
  return rows;
}

/** A journal in a file of its own, for as long as `use` takes. */
async function inFile<T>(use: (journal: Journal, file: string) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), "proviso-bench-"));
  const file = join(folder, "runs.db");
  const open = sqliteJournal(file);
  try {
    return await use(open, file);
  } finally {
    await open.close();
    rmSync(folder, { recursive: true });
  }
}

async function onDisk(quick: boolean): Promise<readonly Row[]> {
  const evaluate = journaled(longRun);
  const steps = stepsOf(longRun);
  const atOnce = 64;
  return inFile(async (open) => {
    let count = 0;
    const recorded = (): Promise<unknown> => evaluate({ run: open.run(`run ${count++}`) });
    const many = (work: () => Promise<unknown>) => async (): Promise<void> => {
      await Promise.all(Array.from({ length: atOnce }, work));
    };
    const rounds = quick ? 5 : 11;
    const single = await race(
      { without: () => evaluate(), recorded, ai: generateTextOf(longRun) },
      { times: quick ? 20 : 60, rounds, warmUpMs: 1_500 },
    );
    const manyOnes = await race(
      { without: many(() => evaluate()), recorded: many(recorded) },
      { times: 2, rounds, warmUpMs: 1_500 },
    );
    const [alone, each] = [
      (single.recorded - single.without) / steps,
      (manyOnes.recorded - manyOnes.without) / (steps * atOnce),
    ];
    const what = "20 tool turns in an SQLite journal: CPU added a step, µs";
    return [
      row(
        `${what}, ${atOnce} at once`,
        each,
        `without ${micros(manyOnes.without / atOnce)} · recorded ${micros(manyOnes.recorded / atOnce)}`,
        "≤ 60",
      ),
      row(
        `${what}, one by one`,
        alone,
        `without ${micros(single.without)} · recorded ${micros(single.recorded)}`,
        "≤ 90",
      ),
      row(
        "20 tool turns in an SQLite journal / generateText without any",
        single.recorded / single.ai,
        `proviso recorded ${micros(single.recorded)} · ai ${micros(single.ai)}`,
        "≤ 1.1",
      ),
    ];
  });
}

/** What a step takes in the file, but for the texts and values that it is about. */
async function bytes(): Promise<readonly Row[]> {
  return inFile(async (open, file) => {
    await journaled(longRun)({ run: open.run("r") });
    for await (const _ of open.list()) break;
    const database = new DatabaseSync(file, { readOnly: true });
    const { all } = database
      .prepare("SELECT sum(length(body) + length(summary) + length(writer)) AS all_bytes FROM proviso_frames")
      .all()
      .map(({ all_bytes: given }) => ({ all: Number(given) }))[0] ?? { all: Number.NaN };
    database.close();
    // The arguments, the value that they became, and what the handler returned, in each call.
    const ofCall = 2 * argumentsText.length + JSON.stringify({ sum: 3 }).length;
    const texts = instructions.length + question.length + longRun.turns * ofCall;
    const steps = stepsOf(longRun);
    return [
      row(
        "20 tool turns in an SQLite journal: bytes a step, beside texts and values",
        (all - texts) / steps,
        `${all} bytes in all, ${texts} of texts and values, ${steps} steps`,
        "≤ 400",
      ),
    ];
  });
}

/** Replays, and runs that go on. */
async function readAgain(quick: boolean): Promise<readonly Row[]> {
  return inFile(async (open) => {
    const replays: Record<number, Work> = {};
    for (const turns of [50, 500]) {
      await journaled(ofTurns(turns))({ run: open.run(`of ${turns}`) });
      replays[turns] = () => journaled(ofTurns(turns))({ run: open.replay(`of ${turns}`), session: "recorded" });
    }
    const [short, long] = [replays[50] as Work, replays[500] as Work];
    const used = await race(
      { live: () => journaled(ofTurns(50))(), short, long },
      { times: quick ? 3 : 6, rounds: quick ? 5 : 9, warmUpMs: 1_500 },
    );
    const times: number[] = [];
    for (let round = 0; round < (quick ? 5 : 15); round++) {
      const id = `goes on ${round}`;
      await journaled(ofTurns(1_000))({ run: open.run(id), maxTurns: 500 }).catch(() => {});
      const before = process.cpuUsage();
      let after: NodeJS.CpuUsage | undefined;
      const asked = (): void => void (after = process.cpuUsage(before));
      await journaled(ofTurns(501))({ run: open.run(id), asked, session: "recorded" });
      times.push(after === undefined ? Number.NaN : (after.user + after.system) / 1_000);
    }
    return [
      row(
        "50 turns: replayed from an SQLite journal / live without a run",
        used.short / used.live,
        `live ${micros(used.live)} · replayed ${micros(used.short)}`,
        "≤ 2",
      ),
      row(
        "a replay of 500 turns / of 50",
        used.long / used.short,
        `${micros(used.short)} → ${micros(used.long)}`,
        "≤ 12",
      ),
      row(
        "a run of 500 turns that goes on: ms of CPU to its first request",
        median(times),
        `from ${Math.min(...times).toFixed(0)} to ${Math.max(...times).toFixed(0)} ms`,
        "≤ 60",
      ),
    ];
  });
}

/** Runs at once over a server of Postgres on this machine. */
async function overPostgres(quick: boolean): Promise<readonly Row[]> {
  if (noServer !== undefined) return [];
  await using server = await startPostgres();
  const open = postgresJournal(server.pool(8));
  const evaluate = journaled(longRun);
  let count = 0;
  const all = (given: () => Given) => () => Promise.all(Array.from({ length: 64 }, () => evaluate(given())));
  const recorded = all(() => ({ run: open.run(`run ${count++}`) }));
  const without = all(() => ({}));
  for (let warm = 0; warm < 4; warm++) await Promise.all([recorded(), without()]);
  const walls: number[] = [];
  const own: number[] = [];
  const counting = server.pool(1);
  const framesNow = async (): Promise<number> => {
    const { rows } = await counting.query<{ n: string }>("SELECT count(*) AS n FROM proviso_frames");
    return Number(rows[0]?.n);
  };
  for (let round = 0; round < (quick ? 3 : 7); round++) {
    const cpu = await cpuOf(without);
    const before = await framesNow();
    const begun = performance.now();
    const used = await cpuOf(recorded);
    const wall = (performance.now() - begun) * 1_000;
    const frames = (await framesNow()) - before;
    walls.push(wall / frames);
    own.push((used - cpu) / frames);
  }
  await open.close();
  const detail = "64 runs of 20 tool turns at once";
  return [
    row("a frame in a Postgres journal, µs", median(walls), detail, "≤ 300"),
    row("a frame in a Postgres journal: CPU added here, µs", median(own), detail, "≤ 25"),
  ];
}

async function cpuOf(work: () => Promise<unknown>): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return user + system;
}

import { deadlineIn, definePrompt } from "@proviso/core";
import { defineEval, memoryEvalStore, runEval, type EvalStore } from "@proviso/evals";
import { sqliteEvalStore } from "@proviso/evals/node";
import { meanInterval, type Observation } from "@proviso/evals/statistics";
import { createSession, modelAdapter } from "@proviso/runtime";
import { sharedPacing } from "@proviso/runtime/routing";
import { recordEvents } from "@proviso/runtime/testing";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { z } from "zod";
import { collected } from "./in-process.ts";
import { micros, race, row, type Row } from "./measure.ts";

const answer = {
  message: { role: "assistant" as const, text: "ham", toolCalls: [] },
  finishReason: "stop" as const,
  usage: { inputTokens: 100, outputTokens: 5, totalTokens: 105 },
};
const adapter = modelAdapter({
  name: "constant",
  model: "gpt-4o-mini",
  capabilities: { tools: true, nativeOutput: true },
  generate: async () => answer,
});
const triage = definePrompt({
  key: "triage",
  params: z.object({ text: z.string() }),
  text: "Is this mail spam or ham?\n\n{{text}}",
});
const rowsOf = (count: number) =>
  Array.from({ length: count }, (_, at) => ({ id: `mail-${at}`, text: `You have won a prize, claim number ${at}.` }));
const evalOf = (count: number, repetitions = 1) =>
  defineEval({
    name: "mails",
    data: rowsOf(count),
    prompt: ({ text }) => triage.bind({ text }),
    adapter,
    scorers: { correct: ({ output }) => output === "ham" },
    repetitions,
  });

/** What an eval costs beside the evaluations that it makes. */
export async function evals(quick: boolean): Promise<readonly Row[]> {
  return [...(await attempts(quick)), ...(await many(quick)), await intervals(quick)];
}

/** The evaluations of the attempts, with what each attempt needs: a session, its events, a deadline, a signal and a pace. */
async function alike(rows: ReturnType<typeof rowsOf>): Promise<void> {
  const { signal } = new AbortController();
  const pacing = sharedPacing();
  for (const { text } of rows) {
    const session = createSession();
    recordEvents(session);
    await adapter.evaluate(triage.bind({ text }), { session, signal, pacing, deadline: deadlineIn(600_000) });
  }
}

/** CPU time of an attempt, against a bare `evaluate` of the same prompts without session, budget or deadline. */
async function attempts(quick: boolean): Promise<readonly Row[]> {
  const count = quick ? 500 : 2_000;
  const of = evalOf(count);
  const rows = rowsOf(count);
  const folder = await mkdtemp(join(tmpdir(), "proviso-bench-"));
  let files = 0;
  const kept = memoryEvalStore();
  await runEval(of, { store: kept });
  const inFile = async (): Promise<void> => {
    using store = sqliteEvalStore(join(folder, `${++files}.sqlite`));
    await runEval(of, { store });
  };
  using filled = sqliteEvalStore(join(folder, "filled.sqlite"));
  await runEval(of, { store: filled });
  const again = (store: EvalStore) => () => runEval(of, { store });
  const cost = await race(
    {
      bare: async () => {
        for (const { text } of rows) await adapter.evaluate(triage.bind({ text }));
      },
      alike: () => alike(rows),
      memory: () => runEval(of, { store: memoryEvalStore() }),
      file: inFile,
      again: again(kept),
      "again, from a file": again(filled),
    },
    { times: 1, rounds: quick ? 5 : 15, warmUpMs: quick ? 1_000 : 2_000 },
  );
  await rm(folder, { recursive: true });
  const each = (name: keyof typeof cost): number => cost[name] / count;
  const line = (what: string, name: keyof typeof cost, bound: string): readonly Row[] => {
    const detail = `${micros(each(name))} · bare ${micros(each("bare"))}`;
    const told = `${micros(each(name))} · so ${micros(each("alike"))}`;
    return [
      row(`CPU of ${what} / a bare evaluate`, cost[name] / cost.bare, detail, bound),
      row(`CPU of ${what} / an evaluate with session, events, deadline, pace`, cost[name] / cost.alike, told),
    ];
  };
  return [
    ...line("an attempt, kept in memory", "memory", "≤ 2"),
    ...line("an attempt, kept in SQLite", "file", "≤ 5"),
    ...line("an attempt that is kept in memory and used again", "again", "≤ 0.6"),
    ...line("an attempt that is kept in SQLite and used again", "again, from a file", "≤ 0.6"),
  ];
}

/** A large run with an SQLite file: CPU time, and the heap that its report keeps beside the outputs. */
async function many(quick: boolean): Promise<readonly Row[]> {
  const { gc } = globalThis as { readonly gc?: () => void };
  if (gc === undefined) return [];
  const [rows, repetitions] = [quick ? 1_000 : 5_000, quick ? 10 : 20];
  const count = rows * repetitions;
  const of = evalOf(rows, repetitions);
  const folder = await mkdtemp(join(tmpdir(), "proviso-bench-"));
  const store = sqliteEvalStore(join(folder, "evals.sqlite"));
  await collected(gc);
  const [heap, cpu] = [process.memoryUsage().heapUsed, process.cpuUsage()];
  const report = await runEval(of, { store });
  const { user, system } = process.cpuUsage(cpu);
  await collected(gc);
  const bytes = (process.memoryUsage().heapUsed - heap) / report.attempts.length;
  await store.close();
  await rm(folder, { recursive: true });
  const seconds = (user + system) / 1e6;
  const shown = `${count.toLocaleString("en-US")} attempts`;
  return [
    row(`CPU of ${shown} in SQLite, s`, seconds, `${micros((user + system) / count)} each`, quick ? undefined : "≤ 20"),
    row(`memory of an attempt of ${shown} beside its output, kB`, bytes / 1_000, `${bytes.toFixed(0)} bytes`, "≤ 2"),
  ];
}

/** The interval of many rows. */
async function intervals(quick: boolean): Promise<Row> {
  const rows: Observation[] = Array.from({ length: 100_000 }, (_, at) => ({
    value: at % 3 === 0 ? 0 : 1,
    cluster: `group ${Math.floor(at / 5)}`,
  }));
  const cost = await race({ interval: () => meanInterval(rows, { range: [0, 1] }) }, { times: quick ? 2 : 5 });
  const seconds = cost.interval / 1e6;
  return row("an interval of 100,000 rows in 20,000 groups, s", seconds, micros(cost.interval), "≤ 0.2");
}

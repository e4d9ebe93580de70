import { definePrompt, type AttemptView, type EvalReader } from "@proviso/core";
import { defineEval, runEval, saveRun, type Eval, type EvalReport } from "@proviso/evals";
import { openEvals, sqliteEvalStore, writeRun } from "@proviso/evals/node";
import type { Estimate } from "@proviso/evals/statistics";
import { memoryJournal } from "@proviso/journal";
import { createHash } from "node:crypto";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { DatabaseSync } from "node:sqlite";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { mails, triage, wordList, type Mail } from "./support.ts";

async function folder(): Promise<string> {
  const made = await mkdtemp(join(tmpdir(), "proviso-evals-"));
  onTestFinished(() => rm(made, { recursive: true }));
  return made;
}

type Answered = { readonly row: Mail; readonly output: { readonly label: string } };
const correct = ({ row, output }: Answered) => output.label === row.label;

function spam(rows: readonly Mail[], asked: string[] = []): Eval {
  return defineEval({
    name: "spam",
    data: rows,
    prompt: (mail: Mail) => triage.bind({ text: mail.text }),
    variants: {
      money: { adapter: wordList(["money"], asked) },
      win: { adapter: wordList(["Win"], asked) },
    },
    scorers: { label: correct },
    gates: { label: { atLeast: 0.5 } },
  });
}

async function attemptsOf(reader: EvalReader, id: string): Promise<readonly AttemptView[]> {
  const all: AttemptView[] = [];
  for await (const attempt of reader.attempts(id)) all.push(attempt);
  return all;
}

const shown = ({ attempts }: EvalReport) =>
  attempts.map(({ rowId, variant, repetition, status, scores }) => ({ rowId, variant, repetition, status, scores }));

test("EVL-63 a run that was kept is shown as its report: intervals, differences, gates, attempts in the order of rows", async () => {
  const file = join(await folder(), "evals.sqlite");
  using store = sqliteEvalStore(file);
  const report = await runEval(spam(mails(20)), { store, seed: 3 });
  using reader = openEvals(file);
  expect(await reader.list()).toEqual([
    {
      name: "spam",
      runId: report.runId,
      startedAt: report.startedAt,
      status: "done",
      rows: 20,
      variants: ["money", "win"],
    },
  ]);
  const view = await reader.report(report.runId);
  const { value, low, high, confidence } = report.variants["win"]?.scores["label"] ?? {};
  expect(view?.scores["win"]?.["label"]).toEqual({ value, low, high, confidence });
  expect(view?.differences["win"]?.["label"]).toMatchObject({ value: report.differences["win"]?.["label"]?.value });
  expect(view?.gates).toEqual([
    { scorer: "label", variant: "money", gate: "atLeast", bound: 0.5, verdict: report.gates[0]?.verdict },
    { scorer: "label", variant: "win", gate: "atLeast", bound: 0.5, verdict: report.gates[1]?.verdict },
  ]);
  const attempts = await attemptsOf(reader, report.runId);
  expect(attempts).toMatchObject(shown(report));
  expect(attempts[0]).not.toHaveProperty("output");
  expect(await reader.report("nothing")).toBeUndefined();
  expect(await attemptsOf(reader, "nothing")).toEqual([]);
});

test("EVL-63 a later run of a part shows what it kept of the earlier one, and the earlier one stays as it was", async () => {
  const file = join(await folder(), "evals.sqlite");
  const asked: string[] = [];
  using store = sqliteEvalStore(file);
  const first = await runEval(spam(mails(10), asked), { store });
  const before = asked.length;
  const second = await runEval(spam(mails(12), asked), { store, onlyVariants: ["win"] });
  expect(second.reused).toBe(10);
  expect(asked.length - before).toBe(2);
  using reader = openEvals(file);
  expect((await reader.list()).map(({ runId }) => runId)).toEqual([second.runId, first.runId]);
  expect(await attemptsOf(reader, second.runId)).toMatchObject(shown(second));
  expect(await attemptsOf(reader, first.runId)).toMatchObject(shown(first));
  expect(await attemptsOf(reader, first.runId)).toHaveLength(20);
});

test("EVL-63 a run that has not ended shows its attempts without intervals, and one whose process is gone is stopped", async () => {
  const file = join(await folder(), "evals.sqlite");
  using store = sqliteEvalStore(file);
  const seen: unknown[] = [];
  using reader = await runEval(spam(mails(1)), { store }).then(() => openEvals(file));
  await runEval(spam(mails(8)), {
    store,
    concurrency: 1,
    resume: "fresh",
    onProgress: ({ done }) => void (done === 5 && seen.push(reader.list())),
  });
  const [now] = (await (seen[0] as ReturnType<EvalReader["list"]>)) ?? [];
  expect(now).toMatchObject({ name: "spam", status: "running" });
  expect(now?.variants.toSorted()).toEqual(["money", "win"]);
  store[Symbol.dispose]();
  using database = new DatabaseSync(file);
  database.exec("UPDATE eval_results SET result = NULL");
  database.prepare("UPDATE eval_runs SET owner = json_set(owner, '$.pid', ?)").run(2 ** 22 + 5);
  const [stopped] = await reader.list();
  expect(stopped).toMatchObject({ status: "stopped", rows: 8 });
  expect((await reader.report(stopped?.runId ?? ""))?.scores).toEqual({});
  expect(await attemptsOf(reader, stopped?.runId ?? "")).toHaveLength(16);
});

test("EVL-63 a saved run is shown with mean scores by row, and nothing of a file is changed by reading it", async () => {
  const at = await folder();
  const report = await runEval(spam(mails(20)));
  const saved = join(at, "saved.jsonl");
  await writeRun(saved, saveRun(report));
  const file = join(at, "evals.sqlite");
  {
    using store = sqliteEvalStore(file);
    await runEval(spam(mails(4)), { store });
  }
  const hash = async () =>
    createHash("sha256")
      .update(await readFile(file))
      .digest("hex");
  const before = await hash();
  using reader = openEvals(file, saved);
  expect((await reader.list()).map(({ rows, status }) => [rows, status])).toEqual([
    [4, "done"],
    [20, "done"],
  ]);
  const view = await reader.report(report.runId);
  expect(view?.scores["money"]?.["label"]?.value).toBeCloseTo(report.variants["money"]?.scores["label"]?.value ?? -1);
  const attempts = await attemptsOf(reader, report.runId);
  expect(attempts).toHaveLength(40);
  expect(attempts.find(({ rowId, variant }) => rowId === "m1" && variant === "win")?.scores).toEqual({
    label: { value: 1 },
  });
  expect(await hash()).toBe(before);
});

test("EVL-63 STA-1 a saved run has the intervals of its report: ranges and groups are saved, groups as hashes", async () => {
  const at = await folder();
  const rows = Array.from({ length: 40 }, (_, place) => ({
    ...(mails(40)[place] as Mail),
    from: `${place % 8} Smith`,
  }));
  const of = (more: object) =>
    defineEval({
      name: "ranged",
      data: rows,
      prompt: (mail: Mail) => triage.bind({ text: mail.text }),
      adapter: wordList(["Win"]),
      scorers: { right: () => 1, mistakes: { range: [5, 0], score: ({ row }) => Number(row.id.slice(1)) % 3 } },
      ...more,
    });
  for (const more of [{}, { group: ({ from }: (typeof rows)[number]) => from }]) {
    const report = await runEval(of(more));
    const file = join(at, `${report.runId}.json`);
    await writeRun(file, saveRun(report));
    expect(await readFile(file, "utf8")).not.toContain("Smith");
    using reader = openEvals(file);
    const view = await reader.report(report.runId);
    expect(view?.ranges).toEqual({ right: [0, 1], mistakes: [5, 0] });
    for (const scorer of ["right", "mistakes"]) {
      const score: Estimate | undefined = report.variants["default"]?.scores[scorer];
      if (score === undefined) throw new Error("There is no score.");
      const { value, low, high, confidence } = score;
      expect(view?.scores["default"]?.[scorer]).toEqual({ value, low, high, confidence });
      expect(high).toBeGreaterThan(low);
    }
    // A report of another process does not know the groups, and a file of an earlier version has no ranges.
    const copy = saveRun(JSON.parse(JSON.stringify(report)) as EvalReport);
    const { ranges: _, ...earlier } = copy as typeof copy & { readonly ranges?: unknown };
    await writeRun(file, "group" in more ? copy : earlier);
    expect((await reader.report(report.runId))?.scores).toEqual({ default: {} });
  }
});

test("EVL-63 a run that has not ended knows the ranges of scorers without a range and a version", async () => {
  const file = join(await folder(), "evals.sqlite");
  using store = sqliteEvalStore(file);
  const of = defineEval({
    name: "ranged",
    data: mails(4),
    prompt: (mail: Mail) => triage.bind({ text: mail.text }),
    adapter: wordList(["Win"]),
    scorers: { right: () => 1, mistakes: { range: [5, 0], score: () => 2 } },
  });
  const { runId } = await runEval(of, { store });
  using reader = openEvals(file);
  expect((await reader.report(runId))?.ranges).toEqual({ right: [0, 1], mistakes: [5, 0] });
  using database = new DatabaseSync(file);
  database.exec("UPDATE eval_results SET result = NULL");
  expect((await reader.report(runId))?.ranges).toEqual({ right: [0, 1] });
});

test("EVL-63 what is no file of evals is refused with its name", async () => {
  const at = await folder();
  expect(() => openEvals(join(at, "none.sqlite"))).toThrow("There is no file of evals at");
  const other = join(at, "other.db");
  new DatabaseSync(other).exec("CREATE TABLE t (a)");
  expect(() => openEvals(other)).toThrow("is a database of something else, and not one of attempts");
  const text = join(at, "text.jsonl");
  await writeFile(text, "{}");
  using reader = openEvals(text);
  await expect(reader.list()).rejects.toThrow("is not what saveRun returns");
});

test("EVL-64 with a journal each evaluation of an attempt is a run, which the attempt names", async () => {
  const file = join(await folder(), "evals.sqlite");
  const journal = memoryJournal();
  using store = sqliteEvalStore(file);
  const twice = defineEval({
    name: "twice",
    data: mails(3),
    task: async (mail: Mail, { evaluate }) => {
      await evaluate(definePrompt({ key: "first", text: "Hello." }).bind());
      return (await evaluate(triage.bind({ text: mail.text }))).output;
    },
    adapter: wordList(["Win"]),
    scorers: { label: correct },
  });
  const report = await runEval(twice, { store, journal });
  expect(report.attempts.map(({ runIds }) => runIds?.length)).toEqual([2, 2, 2]);
  const recorded = new Map<string, string>();
  for await (const { id, prompt, state } of journal.list()) recorded.set(id, `${prompt} ${state}`);
  expect(recorded.size).toBe(6);
  for (const { runIds = [] } of report.attempts) {
    expect(runIds.map((id) => recorded.get(id))).toEqual(["app/first executed", "app/triage executed"]);
  }
  using reader = openEvals(file);
  expect((await attemptsOf(reader, report.runId)).map(({ runIds }) => runIds)).toEqual(
    report.attempts.map(({ runIds }) => runIds),
  );
  const again = await runEval(twice, { store, journal });
  expect(again.reused).toBe(3);
  expect(again.attempts.map(({ runIds }) => runIds)).toEqual(report.attempts.map(({ runIds }) => runIds));
  const unrecorded = await runEval(twice);
  expect(unrecorded.attempts[0]).not.toHaveProperty("runIds");
});

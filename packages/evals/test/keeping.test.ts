import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, expect, it } from "vitest";
import { defineEval, memoryEvalStore, runEval, type EvalStore } from "@proviso/evals";
import { openEvals, sqliteEvalStore } from "@proviso/evals/node";
import { answering, mails, triage, wordList, type Mail } from "./support.ts";

const folder = await mkdtemp(join(tmpdir(), "proviso-keeping-"));
afterAll(() => rm(folder, { recursive: true }));
let files = 0;
const newFile = () => join(folder, `${++files}.sqlite`);

type Answered = { readonly row: Mail; readonly output: { readonly label: string } };
const evalOf = (count: number, asked: string[] = []) =>
  defineEval({
    name: "spam",
    data: mails(count),
    prompt: ({ text }: Mail) => triage.bind({ text }),
    adapter: wordList(["money"], asked),
    scorers: { correct: ({ row, output }: Answered) => output.label === row.label },
  });

const rowsOf = (file: string, sql: string) => {
  using database = new DatabaseSync(file, { readOnly: true });
  return database.prepare(sql).all();
};

it("EVL-23 what ended is given to the store with what begins next, which is asked when the store has both", async () => {
  const seen: string[] = [];
  const calls: { readonly text: string; readonly done: () => void }[] = [];
  const call = (text: string): Promise<void> =>
    new Promise((resolve) => {
      seen.push(text);
      calls.push({ text, done: resolve });
      // Both are there in one turn of the loop, or the second one waits for the first.
      setTimeout(() => {
        for (const { text: kept, done } of calls.splice(0)) {
          seen.push(`${kept} kept`);
          done();
        }
      });
    });
  const store: EvalStore = {
    ...memoryEvalStore(),
    begin: () => call("begin"),
    finish: () => call("finish"),
  };
  const of = defineEval({
    name: "spam",
    data: mails(3),
    prompt: ({ text }: Mail) => triage.bind({ text }),
    adapter: answering((text) => {
      seen.push("ask");
      return JSON.stringify({ label: text.includes("money") ? "spam" : "ham" });
    }),
    scorers: { correct: ({ row, output }: Answered) => output.label === row.label },
  });
  const done: number[] = [];
  await runEval(of, {
    store,
    concurrency: 1,
    onProgress: (progress) => {
      seen.push("told");
      done.push(progress.done);
    },
  });
  const next = ["finish", "begin", "finish kept", "begin kept", "told", "ask"];
  expect(seen).toEqual(["begin", "begin kept", "ask", ...next, ...next, "finish", "finish kept", "told"]);
  expect(done).toEqual([1, 2, 3]);
});

it("EVL-23 a store that fails while an attempt is kept ends the run with its error", async () => {
  const asked: string[] = [];
  let finished = 0;
  const store: EvalStore = {
    ...memoryEvalStore(),
    begin: async () => {},
    finish: async () => {
      if (++finished === 3) throw new Error("no room");
    },
  };
  await expect(runEval(evalOf(20, asked), { store, concurrency: 2 })).rejects.toThrow("no room");
  expect(asked.length).toBeLessThanOrEqual(6);
});

it("EVL-24 what a run cut short that has a report is not in flight any more", async () => {
  const file = newFile();
  using store = sqliteEvalStore(file);
  const stop = new AbortController();
  const of = defineEval({
    name: "spam",
    data: mails(10),
    prompt: ({ text }: Mail) => triage.bind({ text }),
    adapter: answering(async () => {
      stop.abort();
      return JSON.stringify({ label: "ham" });
    }),
    scorers: { correct: ({ row, output }: Answered) => output.label === row.label },
  });
  const report = await runEval(of, { store, signal: stop.signal, concurrency: 4 });
  expect(report.ended?.why).toBe("aborted");
  expect(report.attempts.length).toBeLessThan(10);
  expect(rowsOf(file, "SELECT * FROM eval_begun")).toEqual([]);
});

it("EVL-23 the first record of a key stays within a run, and of several runs the newest counts", async () => {
  const file = newFile();
  using store = sqliteEvalStore(file);
  const { attempts, fingerprint } = await runEval(evalOf(2), { store });
  const [first] = attempts;
  if (first === undefined) throw new Error("An attempt was made.");
  const opened = async (runId: string) => {
    const { finished } = await store.open({ name: "spam", runId, fingerprint });
    const kept: string[] = [];
    for await (const { rowId, durationMs } of finished) kept.push(`${rowId} ${durationMs}`);
    return kept;
  };
  await opened("second");
  // In one commit, and in two.
  await Promise.all([1_001, 1_002].map(async (durationMs) => store.finish({ ...first, durationMs }, "second")));
  await store.finish({ ...first, durationMs: 1_003 }, "second");
  const kept = await opened("third");
  // The oldest first: of one attempt the last one counts.
  expect(kept).toHaveLength(3);
  expect(kept.at(-1)).toBe(`${first.rowId} 1001`);
  const again = await runEval(evalOf(2), { store });
  expect(again.attempts.find(({ rowId }) => rowId === first.rowId)?.durationMs).toBe(1_001);
});

const asking = (language: string, asked: string[]) =>
  defineEval({
    name: "spam",
    data: mails(3),
    prompt: ({ text }: Mail) => triage.bind({ text: `${language}: ${text}` }),
    adapter: answering((text) => JSON.stringify({ label: text.includes("English") ? "ham" : "spam" }), asked),
    scorers: { correct: ({ row, output }: Answered) => output.label === row.label },
  });

it.each([
  ["a file", () => sqliteEvalStore(newFile())],
  ["memory", memoryEvalStore],
])("EVL-23 what is kept in %s is found again after another prompt was asked in between", async (_where, make) => {
  const store = make();
  const asked: string[] = [];
  for (const language of ["English", "German", "English", "German", "English"]) {
    const { attempts } = await runEval(asking(language, asked), { store });
    const label = language === "English" ? "ham" : "spam";
    expect(attempts.map(({ output }) => output)).toEqual([{ label }, { label }, { label }]);
  }
  expect(asked).toHaveLength(6);
  await store.close();
});

it("EVL-63 the viewer shows a run with what it had kept from a run before the last one", async () => {
  const file = newFile();
  const scores: unknown[] = [];
  {
    using store = sqliteEvalStore(file);
    for (const language of ["English", "German", "English"]) {
      const { attempts } = await runEval(asking(language, []), { store });
      scores.unshift(attempts.map(({ scores: own }) => own["correct"]));
    }
  }
  expect(scores[0]).not.toEqual(scores[1]);
  using reader = openEvals(file);
  for (const [at, { runId }] of (await reader.list()).entries()) {
    const shown: unknown[] = [];
    for await (const { scores: own } of reader.attempts(runId)) shown.push(own["correct"]);
    expect(shown).toEqual(scores[at]);
  }
});

it("EVL-63 the viewer shows a run with what it had kept from the runs before it, not from those after it", async () => {
  const file = newFile();
  const of = (label: string) =>
    defineEval({
      name: "spam",
      data: mails(2),
      prompt: ({ text }: Mail) => triage.bind({ text }),
      adapter: answering(() => JSON.stringify({ label })),
      scorers: { correct: ({ row, output }: Answered) => output.label === row.label },
    });
  {
    using store = sqliteEvalStore(file);
    await runEval(of("ham"), { store });
    await runEval(of("spam"), { store, resume: "fresh" });
    await runEval(of("spam"), { store });
  }
  using reader = openEvals(file);
  const [third, second, first] = await reader.list();
  const scores = async (runId = "") => {
    const found: unknown[] = [];
    for await (const { scores: own } of reader.attempts(runId)) found.push(own["correct"]);
    return found;
  };
  expect(await scores(first?.runId)).not.toEqual(await scores(second?.runId));
  expect(await scores(third?.runId)).toEqual(await scores(second?.runId));
});

it("EVL-25 what is kept has whatever keys an answer has", async () => {
  const file = newFile();
  const make = (asked: string[]) =>
    defineEval({
      name: "tasks",
      data: [{ id: "a" }],
      adapter: wordList([]),
      task: async () => {
        asked.push("asked");
        return JSON.parse('{"constructor":"Bosch","prototype":1}') as object;
      },
      scorers: { any: () => true },
    });
  const asked: string[] = [];
  using store = sqliteEvalStore(file);
  const made = await runEval(make(asked), { store });
  const again = await runEval(make(asked), { store });
  expect(again.attempts.map(({ output }) => output)).toEqual(made.attempts.map(({ output }) => output));
  expect(asked).toHaveLength(1);
});

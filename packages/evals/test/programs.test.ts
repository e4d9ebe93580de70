// Eight whole programs, as users write them: no annotation of rows, outputs or scorers, and a model that answers by rules.
import {
  defineEvent,
  definePrompt,
  defineSlice,
  defineTool,
  errorReason,
  Filesystem,
  overrideOf,
  provide,
} from "@proviso/core";
import {
  calls,
  callsOf,
  closeTo,
  contains,
  cross,
  defineEval,
  formatJUnit,
  formatReport,
  improve,
  judge,
  judgeWith,
  pairwise,
  runEval,
  sample,
  saveRun,
  similar,
  split,
  toLabel,
  type Attempt,
  type Label,
} from "@proviso/evals";
import { redisWorkers, serveAttempts } from "@proviso/evals/bullmq";
import { csv, jsonl, readRun, sqliteEvalStore, writeRun } from "@proviso/evals/node";
import { differenceInterval, rowsNeeded } from "@proviso/evals/statistics";
import { describeEval } from "@proviso/evals/vitest";
import { fileOverrides } from "@proviso/node";
import { createSession, memoryFilesystem, modelAdapter } from "@proviso/runtime";
import { scriptedModel } from "@proviso/runtime/testing";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { noServer, startRedis } from "../../worker/test/redis-server.ts";
import { answering } from "./support.ts";

const folder = await mkdtemp(join(tmpdir(), "proviso-programs-"));
afterAll(() => rm(folder, { recursive: true }));

const Mail = z.object({
  id: z.string(),
  text: z.string(),
  sender: z.string(),
  label: z.enum(["spam", "ham"]),
});
const mailRows = Array.from({ length: 200 }, (_, at) => ({
  id: `mail-${at}`,
  text: ["You won a prize.", "Claim your refund.", "See you at noon.", "The prize committee meets."][at % 4] ?? "",
  sender: `sender-${Math.floor(at / 4)}`,
  label: at % 4 < 2 ? "spam" : "ham",
}));
const mailFile = join(folder, "mails.jsonl");
await writeFile(mailFile, mailRows.map((row) => JSON.stringify(row)).join("\n"));

/** Calls spam what has a word of the prompt's list. */
const byWords = answering((asked) => {
  const words = /words: ([^\n]*)/u.exec(asked)?.[1]?.split(", ") ?? ["prize"];
  const mail = asked.slice(asked.lastIndexOf("\n")).toLowerCase();
  return JSON.stringify({ label: words.some((word) => mail.includes(word)) ? "spam" : "ham" });
});
const triage = definePrompt({
  key: "triage",
  params: z.object({ text: z.string() }),
  output: z.object({ label: z.enum(["spam", "ham"]) }),
  sections: [{ key: "task", text: "Spam has one of the words: prize\n\n{{text}}" }],
});

test("EVL-3 EVL-21 a first eval: rows of a file, a prompt, a scorer, a table", async () => {
  const spam = defineEval({
    name: "spam",
    data: jsonl(mailFile, Mail),
    prompt: ({ text }) => triage.bind({ text }),
    adapter: byWords,
    scorers: { correct: ({ row, output }) => output.label === row.label },
  });
  const table = formatReport(await runEval(spam, { budget: { maxTotalTokens: 10_000 } }));
  expect(table).toMatch(
    /^spam {3}200 rows · 1 variant · 1 repetition · 200 attempts, 0 failed, 0 unscored\ncorrect +default +0\.5 /u,
  );
});

const Ticket = z.object({ id: z.string(), text: z.string(), customer: z.string(), queue: z.string() });
const ticketFile = join(folder, "tickets.csv");
const ticketLines = Array.from({ length: 120 }, (_, at) => {
  const [text, queue] = at % 2 === 0 ? ["My invoice is wrong", "billing"] : ["It does not start", "support"];
  return `t${at},"${text}, number ${at}",customer-${at % 40},${queue}`;
});
await writeFile(ticketFile, ["id,text,customer,queue", ...ticketLines].join("\n"));
const route = definePrompt({
  key: "route",
  params: Ticket.pick({ text: true }),
  output: z.object({ queue: z.string() }),
  text: "Which queue?\n\n{{text}}",
});
const queueOf = (misses: number) =>
  answering((asked) => {
    const isMissed = Number(/number (\d+)/u.exec(asked)?.[1]) % 100 < misses;
    return JSON.stringify({ queue: asked.includes("invoice") !== isMissed ? "billing" : "support" });
  });
const routing = defineEval({
  name: "routing",
  data: csv(ticketFile, Ticket),
  group: ({ customer }) => customer,
  prompt: ({ text }) => route.bind({ text }),
  variants: cross(
    { mini: { adapter: queueOf(3) }, large: { adapter: queueOf(0) } },
    { current: {}, brief: { overrides: { store: fileOverrides(join(folder, "overrides")), tag: "brief" } } },
  ),
  scorers: {
    correct: ({ row, output }) => output.queue === row.queue,
    short: ({ usage }) => usage.outputTokens < 60,
  },
  gates: { correct: { atLeast: 0.85, noWorseBy: 0.02 } },
});

test("EVL-5 STA-1 two wordings by two models on rows of a table, in groups of customers, with gates", async () => {
  const report = await runEval(routing);
  expect(Object.keys(report.variants)).toEqual(["mini current", "mini brief", "large current", "large brief"]);
  expect(report).toMatchObject({ rows: 120, groups: 40, family: 7, passes: true });
  expect(report.differences["large brief"]?.["correct"]?.clusters).toBe(40);
  await writeRun(join(folder, "routing.baseline.json"), saveRun(report));
});

describe("EVL-52 EVL-23 in a test suite, against the run that is committed", async () => {
  // The suite of the run above: each gate of it is a test here.
  await writeRun(join(folder, "committed.json"), saveRun(await runEval(routing)));
  describeEval(routing, {
    store: sqliteEvalStore(join(folder, "evals.sqlite")),
    compareWith: await readRun(join(folder, "committed.json")),
    budget: { maxTotalTokens: 100_000 },
    stopEarly: true,
  });
});

test("EVL-6 EVL-15 what was done, and not the answer alone: calls, state, files, and nothing undone", async () => {
  const noted = defineEvent("noted", z.object({ path: z.string() }));
  const notes = defineSlice({
    name: "notes",
    initial: [] as readonly string[],
    reducers: ({ on }) => on(noted, (draft, { path }) => void draft.push(path)),
  });
  const write = defineTool({
    name: "write",
    description: "Write a file.",
    input: z.object({ path: z.string(), text: z.string() }),
    async execute({ path, text }, { resources, session }) {
      await resources.get(Filesystem).write(path, text);
      session.dispatch(noted({ path }));
    },
  });
  const tidy = definePrompt({
    key: "tidy",
    params: z.object({ goal: z.string() }),
    sections: [{ key: "task", text: "{{goal}}", tools: [write], slices: [notes] }],
  });
  const model = scriptedModel([
    { toolCalls: [{ name: "write", arguments: { path: "README.md", text: "Hi" } }] },
    { text: "Done." },
    { toolCalls: [{ name: "write", arguments: { path: "../OUT.md", text: "Hi" } }] },
    { text: "I could not." },
  ]);
  const report = await runEval(
    defineEval({
      name: "tidy",
      data: [
        { id: "readme", goal: "Write a README.", files: { "a.ts": "1" }, path: "README.md" },
        { id: "outside", goal: "Write outside.", files: {}, path: "../OUT.md" },
      ],
      prompt: ({ goal }) => tidy.bind({ goal }),
      adapter: modelAdapter(model),
      session: () => createSession({ slices: [notes] }),
      resources: ({ files }) => [provide(Filesystem, memoryFilesystem(files))],
      scorers: {
        wrote: (attempt) => calls(attempt, [{ tool: write, input: { path: attempt.row.path } }], "exact"),
        noted: ({ row, session }) => session.get(notes).includes(row.path),
        left: {
          appliesTo: ({ id }) => id === "readme",
          score: ({ row, resources }) => resources.get(Filesystem).exists(row.path),
        },
        nothingUndone: (attempt) => callsOf(attempt).every(({ result }) => result.success),
        cheap: ({ usage, turns }) => usage.totalTokens < 1_000 && turns <= 4,
      },
    }),
    { concurrency: 1, seed: 2 },
  );
  const scores = new Map(report.attempts.map((each) => [each.rowId, each.scores]));
  const [one, other] = [...scores.values()].map((each) =>
    Object.entries(each).map(([name, score]) => [name, "value" in score && score.value]),
  );
  expect(scores.size).toBe(2);
  // The call outside of the folder failed and was undone: neither a note nor a file is left of it.
  expect([one, other]).toContainEqual([
    ["wrote", 1],
    ["noted", 1],
    ["left", 1],
    ["nothingUndone", 1],
    ["cheap", 1],
  ]);
  expect([one, other]).toContainEqual([
    ["wrote", 0],
    ["noted", 0],
    ["nothingUndone", 0],
    ["cheap", 1],
  ]);
});

test("EVL-16 EVL-17 EVL-18 a judge, one of one's own prompt and one of two answers; a part for people to label", async () => {
  const Question = z.object({ id: z.string(), question: z.string(), source: z.string() });
  const answer = definePrompt({ key: "answer", params: Question.pick({ question: true }), text: "{{question}}" });
  const grounded = definePrompt({
    key: "grounded",
    params: z.object({ source: z.string(), answer: z.string() }),
    output: z.object({ reason: z.string(), unsupported: z.number().int() }),
    text: "Count the claims of the answer that the source does not support.\n\nSource: {{source}}\n\nAnswer: {{answer}}",
  });
  const referee = answering((asked) => {
    if (asked.startsWith("Count")) return '{"reason":"All of it.","unsupported":0}';
    if (!asked.includes("The first answer")) return '{"reason":"Polite.","passes":true}';
    const first = /The first answer:([^]*)The second answer:/u.exec(asked)?.[1] ?? "";
    return JSON.stringify({ reason: "It thanks.", better: first.includes("Thank you") ? "first" : "second" });
  });
  const helpful = (labels: readonly Label[]) =>
    defineEval({
      name: "helpful",
      data: Array.from({ length: 40 }, (_, at) => ({
        id: `q${at}`,
        question: `Question ${at}?`,
        source: "The source.",
      })),
      prompt: ({ question }) => answer.bind({ question }),
      variants: { small: { adapter: answering(() => "Yes.") }, large: { adapter: answering(() => "Thank you, yes.") } },
      repetitions: 3,
      scorers: {
        polite: judge({
          adapter: referee,
          rubric: "Answers the question, politely, in at most five sentences.",
          labels,
        }),
        supported: judgeWith({
          adapter: referee,
          prompt: ({ row, output }: Attempt<z.infer<typeof Question>, string>) =>
            grounded.bind({ source: row.source, answer: output }),
          score: ({ unsupported, reason }) => ({ value: unsupported === 0, reason }),
        }),
      },
      pairScorers: { preferred: pairwise({ adapter: referee, question: "Which answer would you rather get?" }) },
    });
  const report = await runEval(helpful([]));
  expect(report.differences["large"]?.["preferred"]).toMatchObject({ value: 1, wins: 40, inconsistent: 0 });
  expect(formatReport(report, { color: true })).toContain("\u001B[1mproven\u001B[0m");
  const lines = toLabel(report, { count: 70 }).map((each) => JSON.stringify(each));
  const labels = lines.map((line) => ({
    ...(JSON.parse(line) as Omit<Label, "value">),
    value: line.includes("Thank you"),
    by: "Ann",
  }));
  const labelled = await runEval(helpful(labels));
  expect(labelled.differences["large"]?.["polite"]?.method).toBe("prediction-powered");
  expect(labelled.differences["large"]?.["polite"]?.low).toBeGreaterThan(0.5);
});

test.skipIf(noServer !== undefined)(
  "EVL-4 EVL-53 a sample of a corpus, many repetitions, one budget, on workers; saved, and shown to a CI",
  async () => {
    await using redis = await startRedis();
    const corpus = Array.from({ length: 80 }, (_, at) => ({
      id: String(at),
      group: at < 30 ? "spam" : "ham",
      text: `Subject: Mail number ${at}\n\nA text.`,
    }));
    const subject = definePrompt({
      key: "subject",
      params: z.object({ text: z.string() }),
      text: "Write a subject for this mail.\n\n{{text}}",
    });
    const subjects = defineEval({
      name: "subjects",
      data: sample(corpus, { size: 50, by: ({ group, id }) => `${group}/${id}` }),
      id: ({ group, id }) => `${group}/${id}`,
      prompt: ({ text }) => subject.bind({ text: text.slice(0, 4_000) }),
      adapter: answering((asked) => `Mail ${/number \d+/u.exec(asked)?.[0] ?? ""}`),
      repetitions: 4,
      scorers: { close: ({ row, output }) => similar(output, /^Subject: (.*)$/m.exec(row.text)?.[1] ?? "") },
    });
    const serving = new AbortController();
    const served = serveAttempts([subjects], { url: redis.url, concurrency: 20, signal: serving.signal });
    using store = sqliteEvalStore(join(folder, "subjects.sqlite"));
    const seen: number[] = [];
    const report = await runEval(subjects, {
      store,
      workers: redisWorkers({ url: redis.url }),
      concurrency: 40,
      budget: { maxTotalTokens: 100_000 },
      onProgress: ({ done, total }) => void seen.push(done / total),
    });
    serving.abort();
    await served;
    expect(seen.at(-1)).toBe(1);
    expect(report.variants["default"]).toMatchObject({
      counts: { planned: 200, answered: 200 },
      scores: { close: { value: 1 } },
    });
    await writeRun(join(folder, "subjects.json"), saveRun(report));
    expect(await readFile(join(folder, "subjects.json"), "utf8")).not.toContain("Mail number");
    expect(formatJUnit(report)).toContain('<testsuites tests="1" failures="0" errors="0">');
  },
);

test("EVL-41 an override is stored only where it is proven to lose nothing on rows that it was not made on", async () => {
  const { train, test: others } = split(jsonl(mailFile, Mail), { test: 0.4, by: ({ sender }) => sender });
  const spam = defineEval({
    name: "spam",
    data: train,
    group: ({ sender }) => sender,
    prompt: ({ text }) => triage.bind({ text }),
    adapter: byWords,
    scorers: { correct: ({ row, output }) => output.label === row.label },
  });
  const store = fileOverrides(join(folder, "promoted"));
  const current = overrideOf(triage, "latest");
  const { acceptance } = await improve(spam, {
    train,
    test: others,
    scorer: "correct",
    margin: 0.005,
    rounds: 4,
    budget: { maxTotalTokens: 1_000_000 },
    overrides: { store, tag: "latest" },
    async propose(history) {
      const task = current.sections["task"];
      if (task === undefined || history.length > 0) return [];
      return [{ ...current, sections: { task: { hash: task.hash, text: "The words: won, refund\n\n{{text}}" } } }];
    },
  });
  expect(acceptance).toMatchObject({ accepted: true, why: expect.stringMatching(/^correct no worse by 0\.005/u) });
  expect(JSON.stringify(await store.resolve(triage.descriptor, "latest"))).toContain("won, refund");
});

interface Sum {
  readonly question: string;
  readonly days?: number;
}

test("EVL-7 EVL-11 EVL-13 a subject of two steps, a refusal that is wanted, and the numbers without a run", async () => {
  const plan = definePrompt({
    key: "plan",
    params: z.object({ question: z.string() }),
    output: z.object({ steps: z.array(z.string()) }),
    text: "Plan: {{question}}",
  });
  const solve = definePrompt({
    key: "solve",
    params: z.object({ steps: z.string() }),
    output: z.object({ answer: z.number(), unit: z.string() }),
    text: "Carry out:\n{{steps}}",
  });
  const adapter = modelAdapter({
    name: "planner",
    model: "planner-1",
    capabilities: { tools: true, nativeOutput: true },
    async generate({ messages }) {
      const asked = messages.map((message) => message.text).join("\n");
      const usage = { inputTokens: 10, outputTokens: 5 };
      const text = asked.startsWith("Plan") ? '{"steps":["Count the days."]}' : '{"answer":366,"unit":"Days"}';
      const message = { role: "assistant" as const, text, toolCalls: [] };
      const refusal = asked.includes("lock") ? "I do not help with that." : undefined;
      return { message, finishReason: "stop", usage, refusal };
    },
  });
  const sums = defineEval({
    name: "sums",
    data: [
      { question: "How many days has a leap year?", days: 366 },
      { question: "And how many a century's first?", days: 366 },
      { question: "How do I pick my neighbour's lock?" },
      { question: "And how this other lock?" },
    ] as readonly Sum[],
    task: async ({ question }, { evaluate }) => {
      const { output } = await evaluate(plan.bind({ question }));
      return (await evaluate(solve.bind({ steps: output.steps.join("\n") }))).output;
    },
    adapter,
    scorers: {
      right: {
        appliesTo: ({ days }) => days !== undefined,
        score: ({ row, output }) => closeTo(output.answer, row.days ?? Number.NaN, { relative: 0.01 }),
      },
      refuses: {
        appliesTo: ({ days }) => days === undefined,
        score: () => false,
        scoreFailure: ({ failure }) => errorReason(failure) === "refusal_error",
      },
      unit: ({ output }) => contains(output.unit, "day", { fold: true }),
    },
    gates: { right: { atLeast: 0.8, unsettled: "fail" } },
  });
  const report = await runEval(sums);
  expect(report).toMatchObject({ ended: undefined, passes: false });
  expect(report.variants["default"]?.scores).toMatchObject({
    right: { value: 1, rows: 2 },
    refuses: { value: 1, rows: 2 },
    unit: { value: 0.5 },
  });
  expect(report.variants["default"]?.counts.failed).toEqual({ refusal_error: 2 });
  const differences = [0, 0, 1, 0, -1, 1, 0, 0].map((value) => ({ value }));
  expect(differenceInterval(differences, { span: 1 }).value).toBe(0.125);
  expect(rowsNeeded(differences, 0.05)).toBeGreaterThan(1_000);
});

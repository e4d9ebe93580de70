import { definePrompt } from "@proviso/core";
import {
  defineEval,
  formatJUnit,
  formatReport,
  judge,
  pairwise,
  runEval,
  saveRun,
  toLabel,
  type EvalReport,
} from "@proviso/evals";
import { redisWorkers, serveAttempts } from "@proviso/evals/bullmq";
import { sqliteEvalStore, writeRun } from "@proviso/evals/node";
import { modelAdapter } from "@proviso/runtime";
import { Redis } from "ioredis";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { z } from "zod";
import { noServer, startRedis } from "../../worker/test/redis-server.ts";
import { mails, type Mail } from "./support.ts";

const folder = await mkdtemp(join(tmpdir(), "proviso-evals-"));
afterAll(() => rm(folder, { recursive: true }));

const keys = { model: "sk-canary-model-5b1f", judge: "sk-canary-judge-77aa", pairs: "sk-canary-pairs-20c4" } as const;

/** A model that says its key wherever it can. */
const indiscreet = (key: string, answer: (text: string) => string | undefined) =>
  modelAdapter(
    {
      name: "indiscreet",
      model: "indiscreet-1",
      capabilities: { tools: true, nativeOutput: true },
      async generate({ messages }) {
        const text = answer(messages.map((message) => message.text).join("\n"));
        if (text === undefined) {
          return {
            failure: "provider",
            reason: "bad_request",
            message: `The key ${key} may not do that.`,
            status: 400,
          };
        }
        const message = { role: "assistant" as const, text, toolCalls: [] };
        return { message, finishReason: "stop", usage: { inputTokens: 10, outputTokens: 3 } };
      },
    },
    { secrets: [key] },
  );
const triaging = indiscreet(keys.model, (text) => {
  const number = Number(/number (\d+)/u.exec(text)?.[1]);
  if (number % 5 === 4) return undefined;
  return JSON.stringify({ label: "spam", note: `My key is ${keys.model}.` });
});
const refereeWith = (key: string, verdict: object) =>
  indiscreet(key, (text) =>
    text.includes("number 6.") ? undefined : JSON.stringify({ reason: `I was asked with ${key}.`, ...verdict }),
  );
const referee = refereeWith(keys.judge, { passes: true });
const pairReferee = refereeWith(keys.pairs, { better: "first" });
const say = definePrompt({ key: "say", params: z.object({ text: z.string() }), text: "Spam or ham?\n\n{{text}}" });
const spam = (count = 12) =>
  defineEval({
    name: "spam",
    data: mails(count),
    task: async ({ text, id }: Mail, { evaluate }) => {
      const { output: answered } = await evaluate(say.bind({ text }));
      if (id === "m3") throw new Error(`The task failed with ${keys.model}.`);
      return { answered };
    },
    variants: { one: { adapter: triaging }, other: { version: "2", adapter: triaging } },
    scorers: {
      reason: ({ output: of }) => ({ value: true, reason: JSON.stringify(of) }),
      throws: ({ output: of, row }) => {
        if (row.id === "m1") throw new Error(`It cannot read ${of.answered}.`);
        return 1;
      },
      judged: judge({ adapter: referee, rubric: "Is good." }),
    },
    pairScorers: { preferred: pairwise({ adapter: pairReferee, question: "Which is better?" }) },
    gates: { judged: { atLeast: 0.5 } },
  });

function expectNoKeys(where: string, text: string): void {
  for (const key of Object.values(keys)) {
    for (const form of [key, Buffer.from(key).toString("base64"), encodeURIComponent(key)]) {
      expect({ where, shows: text.includes(form) }).toEqual({ where, shows: false });
    }
  }
}

const shown = (report: EvalReport): Readonly<Record<string, string>> => ({
  report: JSON.stringify(report),
  table: formatReport(report, { examples: 100, width: 10_000 }),
  junit: formatJUnit(report),
  saved: JSON.stringify(saveRun(report)),
  labels: JSON.stringify(toLabel(report, { count: 100 })),
});

test("EVL-54 keys are in no report, record, file or saved run, whatever models, tasks and scorers say", async () => {
  const store = sqliteEvalStore(join(folder, "evals.sqlite"));
  const report = await runEval(spam(), { store });
  // What it is about did happen: answers, reasons, failures of model and task, and faults of scorer and judge.
  const table = shown(report)["table"] ?? "";
  expect(JSON.stringify(report)).toContain("My key is [secret].");
  expect(table).toContain("The key [secret] may not do that.");
  expect(table).toContain("The task failed with [secret].");
  expect(table).toContain("It cannot read ");
  expect(report.differences["other"]).toHaveProperty("preferred");
  for (const [where, text] of Object.entries(shown(report))) expectNoKeys(where, text);
  // Scores of what is kept are made of it.
  const again = await runEval(spam(), { store, resume: "retry-failed" });
  for (const [where, text] of Object.entries(shown(again))) expectNoKeys(`${where} of what is kept`, text);
  await writeRun(join(folder, "spam.json"), saveRun(report));
  for (const file of await readdir(folder)) expectNoKeys(file, await readFile(join(folder, file), "latin1"));
  await store.close();
  for (const file of await readdir(folder)) expectNoKeys(file, await readFile(join(folder, file), "latin1"));
});

test.skipIf(noServer !== undefined)("EVL-54 keys are in no job, and in nothing that a worker answers", async () => {
  await using redis = await startRedis();
  const client = new Redis(redis.url);
  const serving = new AbortController();
  const served = serveAttempts([spam()], { url: redis.url, signal: serving.signal });
  const report = await runEval(spam(), { workers: redisWorkers({ url: redis.url }) });
  for (const [where, text] of Object.entries(shown(report))) expectNoKeys(where, text);
  let jobs = 0;
  for (const key of await client.keys("*")) {
    if ((await client.type(key)) !== "hash") continue;
    const text = JSON.stringify(await client.hgetall(key));
    if (text.includes("[secret]")) jobs += 1;
    expectNoKeys(key, text);
  }
  // What the jobs came to is there.
  expect(jobs).toBeGreaterThan(10);
  client.disconnect();
  serving.abort();
  await served;
});

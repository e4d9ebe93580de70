import { definePrompt, deadlineIn } from "@proviso/core";
import { defineEval, memoryEvalStore, runEval } from "@proviso/evals";
import { createSession, modelAdapter, openResources } from "@proviso/runtime";
import { sharedPacing } from "@proviso/runtime/routing";
import { z } from "zod";
const mode = process.argv[2];
const typed = process.argv[3] === "typed";
const answer = {
  message: { role: "assistant" as const, text: typed ? '{"label":"ham"}' : "ham", toolCalls: [] },
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
  ...(typed ? { output: z.object({ label: z.enum(["spam", "ham"]) }) } : {}),
  text: "Is this mail spam or ham?\n\n{{text}}",
} as any) as any;
const count = 5000;
const rows = Array.from({ length: count }, (_, at) => ({
  id: `mail-${at}`,
  text: `You have won a prize, claim number ${at}.`,
}));
const of = defineEval({
  name: "mails",
  data: rows,
  prompt: ({ text }: any) => triage.bind({ text }),
  adapter,
  scorers: { correct: ({ output }: any) => (typed ? output.label : output) === "ham" },
});
const kept = memoryEvalStore();
await runEval(of, { store: kept });
const pacing = sharedPacing({});
const works: Record<string, () => Promise<unknown>> = {
  bare: async () => {
    for (const { text } of rows) await adapter.evaluate(triage.bind({ text }));
  },
  session: async () => {
    for (const { text } of rows) await adapter.evaluate(triage.bind({ text }), { session: createSession() });
  },
  deadline: async () => {
    for (const { text } of rows)
      await adapter.evaluate(triage.bind({ text }), { session: createSession(), deadline: deadlineIn(60000) });
  },
  signal: async () => {
    const c = new AbortController();
    for (const { text } of rows)
      await adapter.evaluate(triage.bind({ text }), {
        session: createSession(),
        deadline: deadlineIn(60000),
        signal: c.signal,
      });
  },
  paced: async () => {
    const c = new AbortController();
    for (const { text } of rows)
      await adapter.evaluate(triage.bind({ text }), {
        session: createSession(),
        deadline: deadlineIn(60000),
        signal: c.signal,
        pacing,
      });
  },
  listened: async () => {
    const c = new AbortController();
    for (const { text } of rows) {
      const session = createSession();
      const events: unknown[] = [];
      session.on("*", (e) => void events.push(e));
      await adapter.evaluate(triage.bind({ text }), { session, deadline: deadlineIn(60000), signal: c.signal, pacing });
    }
  },
  resources: async () => {
    const c = new AbortController();
    for (const { text } of rows) {
      const session = createSession();
      const events: unknown[] = [];
      session.on("*", (e) => void events.push(e));
      await using resources = await openResources([]);
      await adapter.evaluate(triage.bind({ text }), {
        session,
        resources,
        deadline: deadlineIn(60000),
        signal: c.signal,
        pacing,
      });
    }
  },
  one: () => runEval(of, { concurrency: 1 }),
  memory: () => runEval(of),
  off: () => runEval(of, { pacing: "off" }),
  again: () => runEval(of, { store: kept }),
};
const gc = (globalThis as any).gc;
const work = works[mode]!;
for (let i = 0; i < 6; i++) await work();
const times: number[] = [];
for (let i = 0; i < (+process.argv[4] || 12); i++) {
  gc?.({ type: "minor" });
  const b = process.cpuUsage();
  await work();
  gc?.({ type: "minor" });
  const u = process.cpuUsage(b);
  times.push((u.user + u.system) / count);
}
times.sort((a, b) => a - b);
console.log(mode, typed, times[6]!.toFixed(2), "µs");

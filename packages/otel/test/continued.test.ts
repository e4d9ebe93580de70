// Runs that go on, forks and replays: each attempt has spans for what it did itself.
import { allow, definePolicy, definePrompt, defineTool, RunError, suspend } from "@proviso/core";
import { memoryJournal } from "@proviso/journal";
import { modelAdapter } from "@proviso/runtime";
import { scriptedModel, type ScriptedStep } from "@proviso/runtime/testing";
import { openTelemetry } from "@proviso/otel";
import { expect, test } from "vitest";
import { z } from "zod";
import { memorySdk } from "./support.ts";
import { outline, treeOf } from "./tree.ts";

const double = defineTool({
  name: "double",
  description: "Doubles.",
  input: z.object({ n: z.number() }),
  execute: ({ n }) => n * 2,
});
const prompt = definePrompt({ key: "p", sections: [{ key: "x", text: "Do.", tools: [double] }] }).bind();
const call = (n: number): ScriptedStep => ({
  toolCalls: [{ name: "double", arguments: { n } }],
  usage: { inputTokens: 10, outputTokens: 5, totalTokens: 15 },
});
const done: ScriptedStep = { text: "Done.", usage: { inputTokens: 20, outputTokens: 1, totalTokens: 21 } };
const cut: ScriptedStep = { failure: "throttle", kind: "network", message: "The line was cut." };

function traced(steps: readonly ScriptedStep[]) {
  const sdk = memorySdk();
  const observers = [openTelemetry(sdk.providers)];
  const adapter = modelAdapter(scriptedModel(steps), { observers, throttle: { maxAttempts: 1 } });
  const inputTokens = (): number =>
    sdk.spans().reduce((sum, { attributes }) => sum + Number(attributes["gen_ai.usage.input_tokens"] ?? 0), 0);
  return { ...sdk, adapter, inputTokens };
}

async function begun() {
  const journal = memoryJournal();
  const first = traced([call(1), cut]);
  await expect(first.adapter.evaluate(prompt, { run: journal.run("r") })).rejects.toThrow("The line was cut.");
  return { journal, first };
}

test("OTEL-1 and OTEL-3 a run that goes on has spans for what it asks and runs, and their tokens are those it spent", async () => {
  const { journal, first } = await begun();
  expect(first.inputTokens()).toBe(10);
  const { adapter, spans, inputTokens } = traced([call(2), done]);
  const { usage } = await adapter.evaluate(prompt, { run: journal.run("r") });
  expect(outline(treeOf(spans()))).toEqual([
    "invoke_agent app/p",
    "  chat scripted-model",
    "  chat scripted-model",
    "  execute_tool double",
  ]);
  expect(usage.inputTokens).toBe(40);
  expect(inputTokens()).toBe(30);
  const sessions = new Set([...first.spans(), ...spans()].map(({ attributes }) => attributes["session.id"]));
  expect([...sessions]).toEqual([expect.any(String)]);
});

test("OTEL-1 and OTEL-2 a fork has spans for what it asks, with its session", async () => {
  const { journal } = await begun();
  const { adapter, spans, inputTokens } = traced([done]);
  await adapter.evaluate(prompt, { run: journal.fork("r", { at: 2, id: "f" }) });
  expect(outline(treeOf(spans()))).toEqual(["invoke_agent app/p", "  chat scripted-model"]);
  expect(inputTokens()).toBe(20);
  for (const { attributes } of spans()) expect(attributes["session.id"]).toEqual(expect.any(String));
});

test("OTEL-3 a replay spends nothing, so it has no span of a request or of a call", async () => {
  const { journal } = await begun();
  await traced([call(2), done]).adapter.evaluate(prompt, { run: journal.run("r") });
  const { adapter, spans } = traced([]);
  await adapter.evaluate(prompt, { run: journal.replay("r") });
  expect(outline(treeOf(spans()))).toEqual(["invoke_agent app/p"]);
});

test("OTEL-1 forks of one run that are evaluated side by side have the spans of their own each", async () => {
  const { journal } = await begun();
  const sdk = memorySdk();
  const observers = [openTelemetry({ ...sdk.providers, content: "spans" })];
  // Each waits in its handler until the other one is there, so their steps and events come in turns.
  const there = [Promise.withResolvers<void>(), Promise.withResolvers<void>()] as const;
  const forked = async (of: 0 | 1): Promise<void> => {
    const waiting = defineTool({
      name: "double",
      description: "Doubles.",
      input: z.object({ n: z.number() }),
      async execute({ n }) {
        there[of].resolve();
        await there[1 - of]?.promise;
        return n * 2;
      },
    });
    const own = definePrompt({ key: "p", sections: [{ key: "x", text: "Do.", tools: [waiting] }] }).bind();
    const model = scriptedModel([call(10 + of), { text: `Fork ${of}.`, usage: { inputTokens: 20, outputTokens: of } }]);
    const run = journal.fork("r", { at: 2, id: `f${of}` });
    await modelAdapter(model, { observers }).evaluate(own, { run });
  };
  await Promise.all([forked(0), forked(1)]);
  const roots = sdk.spans().filter(({ name }) => name === "invoke_agent app/p");
  expect(roots).toHaveLength(2);
  const seen = roots.map((root) => {
    const inside = sdk.spans().filter((span) => span.parentSpanContext?.spanId === root.spanContext().spanId);
    const of = (name: string) => inside.flatMap(({ attributes }) => attributes[name] ?? []);
    return [
      inside.map(({ name }) => name).toSorted(),
      of("gen_ai.tool.call.arguments"),
      of("gen_ai.usage.output_tokens")
        .map(Number)
        .toSorted((a, b) => a - b),
      of("proviso.tool.outcome"),
    ];
  });
  const names = ["chat scripted-model", "chat scripted-model", "execute_tool double"];
  expect(seen.toSorted((a, b) => (JSON.stringify(a[1]) < JSON.stringify(b[1]) ? -1 : 1))).toEqual([
    [names, ['{"n":10}'], [0, 5], ["committed"]],
    [names, ['{"n":11}'], [1, 5], ["committed"]],
  ]);
});

test("OTEL-5 a run that waits for a decision is no error span, and neither is the call that waits", async () => {
  const sdk = memorySdk();
  const observers = [openTelemetry(sdk.providers)];
  const ask = definePolicy({ name: "ask", tools: [double], check: () => suspend("Double it?") });
  const asking = definePrompt({ key: "p", policies: [ask], sections: [{ key: "x", text: "Do.", tools: [double] }] });
  const adapter = modelAdapter(scriptedModel([call(1), done]), { observers });
  const journal = memoryJournal();
  const evaluate = () => adapter.evaluate(asking.bind(), { run: journal.run("r") });
  const error: unknown = await evaluate().catch((reason: unknown) => reason);
  const seen = () =>
    sdk.spans().map(({ name, status, attributes: of }) => {
      return [name, status.code, of["error.type"], of["proviso.tool.outcome"] ?? of["proviso.run.suspended"]];
    });
  expect(seen()).toEqual([
    ["execute_tool double", 0, undefined, "suspended"],
    ["chat scripted-model", 0, undefined, undefined],
    ["invoke_agent app/p", 0, undefined, true],
  ]);
  await journal.resolve(error instanceof RunError ? (error.pending?.token ?? "") : "", allow());
  await evaluate();
  expect(seen().slice(3)).toEqual([
    ["execute_tool double", 0, undefined, "committed"],
    ["chat scripted-model", 0, undefined, undefined],
    ["invoke_agent app/p", 0, undefined, undefined],
  ]);
});

import { definePrompt, defineTool, type FrameworkEvent, type Observer, type Step } from "@proviso/core";
import { memoryJournal } from "@proviso/journal";
import { createSession, modelAdapter, type AdapterOptions } from "@proviso/runtime";
import { scriptedModel, type ScriptedStep } from "@proviso/runtime/testing";
import { expect, it } from "vitest";
import { z } from "zod";
import { heard, noted, notes } from "./runs-support.ts";
import { listed } from "./support.ts";

const double = defineTool({
  name: "double",
  description: "Doubles.",
  input: z.object({ n: z.number() }),
  execute({ n }, { session }) {
    session.dispatch(noted({ text: `${n}` }));
    return n * 2;
  },
});
const asks = defineTool({
  name: "asks",
  description: "Asks.",
  input: z.object({}),
  execute: async (_, { evaluate }) => (await evaluate("Inside?")).text,
});
const prompt = definePrompt({
  key: "p",
  sections: [{ key: "x", text: "Do.", tools: [double, asks], slices: [notes] }],
}).bind();

const call = (n: number): ScriptedStep => ({ toolCalls: [{ name: "double", arguments: { n } }] });
const cut: ScriptedStep = { failure: "throttle", kind: "network", message: "The line was cut." };

/** An adapter whose observer keeps steps, events and events of the application. */
function observed(steps: readonly ScriptedStep[], more: AdapterOptions = {}) {
  const seen: { steps: Step[]; events: FrameworkEvent[]; app: string[] } = { steps: [], events: [], app: [] };
  const observer: Observer = {
    event: (event) => void seen.events.push(event),
    app: ({ type }, { evaluationId }) => void seen.app.push(`${type} ${evaluationId}`),
    around(step, work) {
      seen.steps.push(step);
      return work();
    },
  };
  const options: AdapterOptions = { observers: [observer], throttle: { maxAttempts: 1 }, ...more };
  return { seen, adapter: modelAdapter(scriptedModel(steps), options) };
}

const shown = (steps: readonly Step[]): readonly string[] =>
  steps.map((step) => (step.kind === "request" ? `request ${step.turn}` : step.kind));
const ids = (of: readonly { readonly evaluationId: string }[]): readonly string[] => [
  ...new Set(of.map(({ evaluationId }) => evaluationId)),
];

/** A run whose second request was refused, so that it goes on. */
async function begunRun() {
  const journal = memoryJournal();
  const { seen, adapter } = observed([call(1), cut]);
  await expect(adapter.evaluate(prompt, { run: journal.run("r") })).rejects.toThrow("The line was cut.");
  return { journal, seen };
}

it("OBS-3 the steps of a run that goes on are those of its evaluation, and what is kept is no step", async () => {
  const { journal, seen: before } = await begunRun();
  expect(shown(before.steps)).toEqual(["evaluation", "request 1", "tool", "request 2"]);
  const { seen, adapter } = observed([call(2), { text: "Done." }]);
  const { evaluationId } = await adapter.evaluate(prompt, { run: journal.run("r") });
  expect(shown(seen.steps)).toEqual(["evaluation", "request 2", "tool", "request 3"]);
  expect(ids([...before.steps, ...before.events, ...seen.steps, ...seen.events])).toEqual([evaluationId]);
});

it("OBS-3 the steps of a fork are those of its evaluation, and what it begins with is no step", async () => {
  const { journal } = await begunRun();
  const { seen, adapter } = observed([{ text: "Other." }]);
  const { evaluationId } = await adapter.evaluate(prompt, { run: journal.fork("r", { at: 2, id: "f" }) });
  expect(shown(seen.steps)).toEqual(["evaluation", "request 2"]);
  expect(ids([...seen.steps, ...seen.events])).toEqual([evaluationId]);
});

it("OBS-3 a run that is recorded by the adapter's journal is one run, whose step has its id", async () => {
  const journal = memoryJournal();
  const { seen, adapter } = observed([{ text: "Done." }], { journal });
  const { evaluationId, run } = await adapter.evaluate(prompt);
  expect(ids([...seen.steps, ...seen.events])).toEqual([evaluationId]);
  expect((await listed(journal.list())).map(({ id }) => id)).toEqual([run?.id]);
});

it("OBS-3 an evaluation whose record cannot be opened is a step that fails", async () => {
  const { seen, adapter } = observed([]);
  const work = adapter.evaluate(prompt, { run: memoryJournal().replay("none") });
  await expect(work).rejects.toMatchObject({ code: "run" });
  expect(shown(seen.steps)).toEqual(["evaluation"]);
});

it("OBS-1 the observers of a replay receive what its listeners do, and no step of it sends or runs anything", async () => {
  const journal = memoryJournal();
  const failing = observed([call(1), cut]);
  await failing.adapter
    .evaluate(prompt, { run: journal.run("r"), session: createSession({ id: "s" }) })
    .catch(() => {});
  const steps: readonly ScriptedStep[] = [
    { toolCalls: [{ name: "asks" }, { name: "double", arguments: { n: 2 } }] },
    { text: "Inside." },
    { text: "Done." },
  ];
  await observed(steps).adapter.evaluate(prompt, { run: journal.run("r") });
  const { seen, adapter } = observed([]);
  const session = createSession({ id: "s" });
  const events = heard(session);
  const { evaluationId } = await adapter.evaluate(prompt, { run: journal.replay("r"), session });
  const types = events.map(({ type }) => type);
  expect(types).toContain("run.resumed");
  expect(types.filter((type) => type === "tool.invoked")).toHaveLength(3);
  expect(types.filter((type) => type === "prompt.executed")).toHaveLength(2);
  expect(seen.events).toEqual(events.filter(({ type }) => type !== "noted"));
  expect(seen.app).toEqual([`noted ${evaluationId}`, `noted ${evaluationId}`]);
  expect(shown(seen.steps)).toEqual(["evaluation"]);
});

// What an attempt goes on from is not emitted again: neither to listeners nor to observers.
import { allow, definePolicy, definePrompt, defineTool, RunError, suspend, type FrameworkEvent } from "@proviso/core";
import { memoryJournal } from "@proviso/journal";
import { replay } from "@proviso/journal/testing";
import { createSession, modelAdapter } from "@proviso/runtime";
import { fakeEnvironment, scriptedModel } from "@proviso/runtime/testing";
import { expect, it } from "vitest";
import { z } from "zod";

const usage = { inputTokens: 100, outputTokens: 10 };
const pay = defineTool({ name: "pay", description: "Pays.", input: z.object({}), execute: () => "paid" });
const ask = definePolicy({ name: "ask", tools: [pay], check: () => suspend("Pay?") });
const prompt = definePrompt({
  key: "pays",
  policies: [ask],
  sections: [{ key: "task", text: "Pay.", tools: [pay] }],
}).bind();

it.each([true, false])(
  "OBS-1 RSM-5 an answer is emitted once where its call waited: session given %o",
  async (isGiven) => {
    await using journal = memoryJournal();
    const environment = fakeEnvironment(1);
    const events: FrameworkEvent[] = [];
    const heard: string[] = [];
    const adapter = modelAdapter(
      scriptedModel([
        { toolCalls: [{ name: "pay" }], usage },
        { text: "Paid.", usage },
      ]),
      { ...environment, observers: [{ event: (event) => void events.push(event) }] },
    );
    const evaluate = async () => {
      const session = createSession({ id: "a", slices: prompt.template.slices });
      session.on("*", ({ type }) => void heard.push(type));
      return adapter.evaluate(prompt, { run: journal.run("r"), ...(isGiven && { session }) });
    };
    const error: unknown = await evaluate().catch((reason: unknown) => reason);
    const token = error instanceof RunError ? (error.pending?.token ?? "") : "";
    await environment.clock.advance(86_400_000);
    await journal.resolve(token, allow());
    expect((await evaluate()).usage.totalTokens).toBe(220);
    const types = events.map(({ type }) => type);
    expect(types.slice(types.indexOf("run.resumed"))).toEqual([
      "run.resumed",
      "tool.requested",
      "tool.invoked",
      "provider.requested",
      "provider.responded",
      "prompt.executed",
    ]);
    if (isGiven) expect(heard).toEqual(types);
    const spent = events.map((event) => (event.type === "provider.responded" ? event.usage.totalTokens : 0));
    expect(spent.reduce((sum, tokens) => sum + tokens)).toBe(220);
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_, place) => place));
    // The day before the decision is no time of the call.
    expect(events.find(({ type }) => type === "tool.invoked")).toMatchObject({ durationMs: 0 });
    const replayed = await replay(prompt, journal.replay("r"));
    expect(replayed.events.filter(({ type }) => type === "provider.responded")).toHaveLength(2);
  },
);

it("FRK-1 OBS-1 a fork at an answer emits what comes after it", async () => {
  await using journal = memoryJournal();
  const types: string[] = [];
  const model = scriptedModel([{ toolCalls: [{ name: "pay" }], usage }]);
  await modelAdapter(model)
    .evaluate(prompt, { run: journal.run("r") })
    .catch(() => {});
  const observer = { event: ({ type }: FrameworkEvent) => void types.push(type) };
  const forking = modelAdapter(scriptedModel([]), { observers: [observer] });
  await expect(forking.evaluate(prompt, { run: journal.fork("r", { at: 1 }) })).rejects.toMatchObject({ code: "run" });
  expect(types).toEqual(["tool.requested", "run.suspended"]);
});

it("EVT-4 a run that waits for a decision is logged as info, and its call is no failure", async () => {
  await using journal = memoryJournal();
  const logged: string[] = [];
  const log = (level: string) => (_: object, name: string) => void logged.push(`${level} ${name}`);
  const logger = { debug: () => {}, info: log("info"), warn: log("warn"), error: log("error") };
  const model = scriptedModel([{ toolCalls: [{ name: "pay" }], usage }]);
  const waiting = modelAdapter(model, { logger }).evaluate(prompt, { run: journal.run("r") });
  await expect(waiting).rejects.toMatchObject({ reason: "suspended" });
  expect(logged).toEqual(["info prompt.suspended"]);
});

import { definePrompt, defineTool, parseMessages, trackBudget, type ToolMessage } from "@proviso/core";
import type { ModelDelta } from "@proviso/core/provider";
import { agentAdapter, createSession, modelAdapter, type AgentDriver, type AgentRun } from "@proviso/runtime";
import { fakeEnvironment, recordEvents, scriptedModel } from "@proviso/runtime/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import { digestOfState, notes, promptOf, rejectionOf, world, write, writing } from "./tools/support.ts";

const asCall = ({ name, arguments: given }: ReturnType<typeof writing>, id: string) => ({
  id,
  name,
  arguments: JSON.stringify(given),
});
const done = (text: string) =>
  ({
    message: { role: "assistant", text, toolCalls: [] },
    finishReason: "stop",
    usage: { inputTokens: 10, outputTokens: 5, totalTokens: 15 },
  }) as const;
const agent = (drive: AgentDriver["drive"]): AgentDriver => ({ name: "agent", model: "agent-model", drive });
const prompt = promptOf({ tools: [write] });

const nest = defineTool({
  name: "nest",
  description: "Spends.",
  input: z.object({}),
  execute: async (_, context) => {
    const model = scriptedModel([{ text: "dear", usage: { inputTokens: 900, outputTokens: 0 } }]);
    await context.evaluate(promptOf({}, "dear"), { adapter: modelAdapter(model) });
  },
});

test("TX-1 TX-2 an agent's calls go through the same executor: good ones stay, failed ones leave no trace", async () => {
  const { session, resources, ledger } = world();
  const answers: ToolMessage[] = [];
  const adapter = agentAdapter(
    agent(async ({ executeToolCall }) => {
      answers.push(await executeToolCall(asCall(writing("good"), "1")));
      answers.push(await executeToolCall(asCall(writing("bad", "throw"), "2")));
      answers.push(await executeToolCall({ id: "3", name: "nope", arguments: "{}" }));
      return done("finished");
    }),
    fakeEnvironment(),
  );
  const events = recordEvents(session);
  const response = await adapter.evaluate(prompt, { session, resources });
  expect(response).toMatchObject({ output: "finished", provider: "agent", model: "agent-model", turns: 1 });
  expect(answers.map(({ isError }) => isError)).toEqual([false, true, true]);
  expect([session.get(notes), ledger.entries]).toEqual([
    ["before", "good"],
    ["before", "good"],
  ]);
  expect(events.filter(({ type }) => type === "tool.invoked")).toHaveLength(3);
  expect(events.at(-1)?.type).toBe("prompt.executed");
  expect(digestOfState(session, notes)).toBe(digestOfState(session, notes));
});

test("LOOP-3 what an agent did can be gone on from, by a model too", async () => {
  const adapter = agentAdapter(
    agent(async ({ executeToolCall }) => {
      await executeToolCall(asCall(writing("x"), "1"));
      return done("finished");
    }),
    fakeEnvironment(),
  );
  const { resources } = world();
  const { messages } = await adapter.evaluate(prompt, { resources });
  expect(messages.map(({ role }) => role)).toEqual(["user", "assistant", "tool", "assistant"]);
  const { output } = await modelAdapter(scriptedModel([{ text: "on" }])).evaluate(prompt, { messages });
  expect(output).toBe("on");
});

test("TOOL-6 calls that an agent makes at the same time run one after another", async () => {
  const { session, resources } = world();
  const adapter = agentAdapter(
    agent(async ({ executeToolCall }) => {
      await Promise.all(["a", "b", "c"].map((text, index) => executeToolCall(asCall(writing(text), String(index)))));
      return done("finished");
    }),
    fakeEnvironment(),
  );
  await adapter.evaluate(prompt, { session, resources });
  expect(session.get(notes)).toEqual(["before", "a", "b", "c"]);
});

test("LIM-2 an agent that ignores its signal is left behind, and a call after the end is refused", async () => {
  const environment = fakeEnvironment();
  const controller = new AbortController();
  let late: (() => Promise<unknown>) | undefined;
  const adapter = agentAdapter(
    agent(async ({ executeToolCall, signal }) => {
      late = () => executeToolCall(asCall(writing("late"), "9"));
      await new Promise(() => {});
      return done(String(signal.aborted));
    }),
    environment,
  );
  const { session, resources } = world();
  const evaluating = rejectionOf(adapter.evaluate(prompt, { session, resources, signal: controller.signal }));
  await environment.clock.advance(10);
  controller.abort();
  await environment.clock.advance(100);
  expect(await evaluating).toMatchObject({ code: "aborted", phase: "request" });
  expect(await rejectionOf((late as () => Promise<unknown>)())).toMatchObject({ code: "revoked" });
  expect(session.get(notes)).toEqual(["before"]);
});

test("LIM-4 a limit met in a call ends the agent's work", async () => {
  let fired = false;
  const adapter = agentAdapter(
    agent(async ({ executeToolCall, signal }) => {
      signal.addEventListener("abort", () => (fired = true));
      await executeToolCall({ id: "1", name: "nest", arguments: "{}" });
      await new Promise(() => {});
      return done("never");
    }),
    fakeEnvironment(),
  );
  const session = createSession();
  const evaluating = adapter.evaluate(promptOf({ tools: [nest] }), { session, budget: { maxTotalTokens: 100 } });
  expect(await rejectionOf(evaluating)).toMatchObject({ code: "budget", phase: "tool" });
  expect(fired).toBe(true);
});

test("VIS-3 what an agent opens is in its prompt and among its tools from then on", async () => {
  const sections = [
    { key: "intro", text: "Work." },
    { key: "manual", text: "Write it down.", summary: "How to.", visibility: "summary", tools: [write] },
  ] as const;
  const { resources, session } = world();
  const seen: unknown[] = [];
  const adapter = agentAdapter(
    agent(async (run) => {
      const look = () =>
        seen.push([run.rendered.tools.map(({ name }) => name), run.rendered.text.includes("Write it")]);
      const early = await run.executeToolCall(asCall(writing("early"), "1"));
      look();
      const given = JSON.stringify({ keys: ["manual"], reason: "needed" });
      await run.executeToolCall({ id: "2", name: "open_sections", arguments: given });
      look();
      const late = await run.executeToolCall(asCall(writing("late"), "3"));
      seen.push([early.isError, late.isError]);
      return done("finished");
    }),
    fakeEnvironment(),
  );
  const runbook = definePrompt({ ns: "tests", key: "agent-runbook", sections }).bind();
  const { messages } = await adapter.evaluate(runbook, { session, resources });
  expect(seen).toEqual([
    [["open_sections"], false],
    [["write"], true],
    [true, false],
  ]);
  expect(session.get(notes)).toEqual(["before", "late"]);
  expect(messages[0]?.text).toContain("Write it down.");
});

test("TOOL-9 an agent cannot be made to call a tool, or none: that is refused before it begins", async () => {
  const adapter = agentAdapter(agent(async () => done("finished")));
  for (const toolChoice of ["required", "none", { tool: "write" }] as const) {
    const error = await rejectionOf(adapter.evaluate(prompt, { toolChoice }));
    expect(error).toMatchObject({ code: "provider", reason: "bad_request", phase: "request" });
  }
  expect((await adapter.evaluate(promptOf({}), { toolChoice: "required" })).output).toBe("finished");
  expect((await adapter.evaluate(prompt, { toolChoice: "auto" })).output).toBe("finished");
});

test("THR-6 THR-7 an agent that was refused is not asked again: that would repeat its tools", async () => {
  let asked = 0;
  const adapter = agentAdapter(
    agent(async () => {
      asked += 1;
      return { failure: "throttle", kind: "rate_limit", message: "slow down", retryAfterMs: 1_000 };
    }),
    fakeEnvironment(),
  );
  const session = createSession();
  const events = recordEvents(session);
  expect(await rejectionOf(adapter.evaluate(prompt, { session }))).toMatchObject({
    code: "throttled",
    kind: "rate_limit",
    retryAfterMs: 1_000,
    attempts: 1,
  });
  expect(asked).toBe(1);
  expect(events.filter(({ type }) => type === "provider.throttled")).toMatchObject([
    { kind: "rate_limit", attempt: 1, retryAfterMs: 1_000 },
  ]);
});

test.each([
  ["throws", async () => Promise.reject(new Error("broken"))],
  ["answers nothing", async () => undefined as never],
  ["answers emptily", async () => done("")],
])("ERR-1 an agent that %s is a ProviderError", async (_, drive) => {
  expect(await rejectionOf(agentAdapter(agent(drive)).evaluate(prompt))).toMatchObject({ code: "provider" });
});

const said = async ({ onDelta }: AgentRun): Promise<unknown> => onDelta({ kind: "text", text: "word ".repeat(10) });
const called = ({ executeToolCall }: AgentRun): Promise<unknown> => executeToolCall(asCall(writing("x"), "1"));

test.each([
  ["says something", said, 10],
  // 8 around the call, 1 for its name, 6 for its arguments.
  ["calls a tool", called, 15],
] as const)(
  "LIM-8 an agent that %s before it fails or is aborted costs an estimate, streamed or not",
  async (_, act, outputTokens) => {
    for (const isAborted of [false, true]) {
      for (const isStreamed of [false, true]) {
        const controller = new AbortController();
        const drive: AgentDriver["drive"] = async (run) => {
          await act(run);
          if (isAborted) controller.abort();
          return { failure: "provider", reason: "unknown", message: "broken" };
        };
        const adapter = agentAdapter(agent(drive), fakeEnvironment());
        const budget = trackBudget({ maxTotalTokens: 10_000 });
        const options = { budget, resources: world().resources, signal: controller.signal };
        const answering = isStreamed ? adapter.stream(prompt, options).response : adapter.evaluate(prompt, options);
        const error = await rejectionOf(answering);
        expect(error).toMatchObject({
          code: isAborted ? "aborted" : "provider",
          usage: { outputTokens, estimated: true },
        });
        expect(budget.consumed.inputTokens).toBeGreaterThan(0);
        expect(budget.remaining().totalTokens).toBe(10_000 - budget.consumed.totalTokens);
      }
    }
  },
);

test("LIM-8 a call that an agent makes after its turn is over costs nothing", async () => {
  let late: (() => Promise<unknown>) | undefined;
  const adapter = agentAdapter(
    agent(async (run) => {
      late = () => called(run);
      return { failure: "provider", reason: "unknown", message: "broken" };
    }),
  );
  const budget = trackBudget({ maxTotalTokens: 10_000 });
  await rejectionOf(adapter.evaluate(prompt, { budget, resources: world().resources }));
  expect(await rejectionOf((late as () => Promise<unknown>)())).toMatchObject({ code: "revoked" });
  expect(budget.consumed.totalTokens).toBe(0);
});

test("LIM-4 a budget that is passed in a call which the agent did not wait for ends the evaluation", async () => {
  const adapter = agentAdapter(
    agent(async ({ executeToolCall }) => {
      void executeToolCall({ id: "1", name: "nest", arguments: "{}" });
      await Promise.resolve();
      return done("finished");
    }),
    fakeEnvironment(),
  );
  const evaluating = adapter.evaluate(promptOf({ tools: [nest] }), { budget: { maxTotalTokens: 100 } });
  expect(await rejectionOf(evaluating)).toMatchObject({ code: "budget" });
});

test("STR-1 an agent's deltas are emitted when it is streamed", async () => {
  const tell = (onDelta: (delta: ModelDelta) => void, ...texts: string[]): void =>
    texts.forEach((text) => onDelta({ kind: "text", text }));
  const adapter = agentAdapter(
    agent(async ({ onDelta }) => {
      tell(onDelta, "fin", "ished");
      return done("finished");
    }),
    fakeEnvironment(),
  );
  const texts: string[] = [];
  for await (const event of adapter.stream(prompt)) if (event.type === "text.delta") texts.push(event.text);
  expect(texts).toEqual(["fin", "ished"]);
});

test("TOOL-1 LIM-6 a driver's call is read as a model's: without id and arguments it runs, without a name it is refused", async () => {
  const ran: unknown[] = [];
  const tool = defineTool({
    name: "t",
    description: "Runs.",
    input: z.object({}),
    execute: (input) => void ran.push(input),
  });
  const adapter = agentAdapter(
    agent(async ({ executeToolCall }) => {
      const given = [{ name: "t" }, { id: 5, name: "t", arguments: null }] as never[];
      for (const call of given) expect(await executeToolCall(call)).toMatchObject({ name: "t", isError: false });
      for (const call of [{ id: "1", name: 7, arguments: "{}" }, undefined] as never[])
        await expect(executeToolCall(call)).rejects.toThrow("A tool call needs a name");
      return done("ok");
    }),
  );
  const { usage, messages } = await adapter.evaluate(promptOf({ tools: [tool] }));
  expect(ran).toEqual([{}, {}]);
  expect(Number.isFinite(usage.totalTokens)).toBe(true);
  expect(parseMessages(JSON.parse(JSON.stringify(messages)))).toHaveLength(messages.length);
});

import { provide, type BudgetExceededError, type ToolContext } from "@proviso/core";
import { createSession, modelAdapter, openResources } from "@proviso/runtime";
import { fakeEnvironment, scriptedModel } from "@proviso/runtime/testing";
import { expect, test } from "vitest";
import { calling, Counter, CounterKey, promptOf, slowAdd, toolOf, type Environment } from "./support.ts";

/** Calls of one turn that overlap, one of each kind. */
async function overlapping(
  environment: Environment,
  handlers: readonly ((context: ToolContext) => Promise<unknown>)[],
  session = createSession(),
) {
  const tools = handlers.map((execute, at) => toolOf(`call${at}`, execute, { uses: [] }));
  const model = scriptedModel([{ toolCalls: tools.map(({ name }) => ({ name })) }, { text: "done" }]);
  let results: readonly string[] = ["still waits"];
  let answered: readonly string[] = [];
  const controller = new AbortController();
  const evaluating = modelAdapter(model, environment)
    .evaluate(promptOf({ tools }), { session, signal: controller.signal })
    .then(({ toolResults, messages }) => {
      results = toolResults.map(({ name, result }) => `${name}: ${result.success ? "success" : result.message}`);
      answered = messages.flatMap((message) => (message.role === "tool" ? [message.name] : []));
    });
  evaluating.catch(() => {});
  await environment.clock.advance(1_000);
  // A wait without end would hold the test.
  controller.abort();
  await environment.clock.advance(1_000);
  // In the model's order, whoever ended first.
  expect(answered).toEqual(tools.map(({ name }) => name));
  return results;
}

/** Each adds one to the counter in an evaluation of its own, after so many milliseconds. */
async function adding(environment: Environment) {
  const counter = new Counter();
  const resources = await openResources([provide(CounterKey, counter)]);
  const inner = promptOf({ tools: [slowAdd(environment, { ms: 10 })] }, "inner");
  const addAt =
    (ms: number, after: () => Promise<unknown> = async () => {}) =>
    async (context: ToolContext) => {
      await environment.clock.sleep(ms);
      await context.evaluate(inner, { adapter: calling(environment, "add"), resources });
      await after();
    };
  return { counter, addAt };
}

test.each([[[0, 50, 100]], [[100, 50, 0]], [[0, 0, 0]]])(
  "TX-11 TOOL-6 calls that overlap evaluate one after another: what one of them has used is free when it has ended: %o",
  async (delays) => {
    const environment = fakeEnvironment();
    const { counter, addAt } = await adding(environment);
    const results = await overlapping(
      environment,
      delays.map((ms) => addAt(ms)),
    );
    expect(results).toEqual(["call0: success", "call1: success", "call2: success"]);
    expect(counter.value).toBe(3);
  },
);

test("TX-1 TX-2 of calls that overlap and evaluate, one that fails is undone alone, even if another evaluates after it", async () => {
  const environment = fakeEnvironment();
  const { counter, addAt } = await adding(environment);
  const failing = addAt(50, () => Promise.reject(new Error("on purpose")));
  const results = await overlapping(environment, [addAt(100), failing, addAt(0)]);
  expect(results).toEqual(["call0: success", "call1: on purpose", "call2: success"]);
  expect(counter.value).toBe(2);
});

test("TX-5 one whose record is refused is undone alone", async () => {
  const environment = fakeEnvironment();
  const session = createSession();
  const { counter, addAt } = await adding(environment);
  session.on("tool.invoked", ({ name, result }) => {
    if (name === "call1" && result.success) throw new Error("veto");
  });
  const results = await overlapping(environment, [addAt(100), addAt(50), addAt(0)], session);
  expect(results).toEqual(["call0: success", "call1: The call of call1 could not be recorded: veto", "call2: success"]);
  expect(counter.value).toBe(2);
});

test("TX-12 TOOL-6 one that ends the evaluation gives back what its evaluations have used: the others that wait for it end", async () => {
  const environment = fakeEnvironment();
  const { counter, addAt } = await adding(environment);
  const dear = modelAdapter(
    scriptedModel([{ text: "dear", usage: { inputTokens: 10, outputTokens: 9_000 } }]),
    environment,
  );
  const spending = async (context: ToolContext) => {
    await addAt(0)(context);
    await context.evaluate("Think.", { adapter: dear });
  };
  const tools = [spending, addAt(5)].map((execute, at) => toolOf(`call${at}`, execute, { uses: [] }));
  const model = scriptedModel([{ toolCalls: [{ name: "call0" }, { name: "call1" }] }]);
  const evaluating = modelAdapter(model, environment).evaluate(promptOf({ tools }), {
    budget: { maxTotalTokens: 5_000 },
  });
  const ended = evaluating.catch((error: unknown) => error);
  await environment.clock.advance(1_000);
  const { code, toolResults } = (await Promise.race([
    ended,
    Promise.reject(new Error("It still waits.")),
  ])) as BudgetExceededError;
  expect(code).toBe("budget");
  expect(toolResults.map(({ name, result }) => [name, result.success])).toEqual([
    ["call0", false],
    ["call1", false],
  ]);
  expect(counter.value).toBe(0);
});

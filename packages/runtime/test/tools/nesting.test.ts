import {
  AbortedError,
  BudgetExceededError,
  DeadlineExceededError,
  deadlineIn,
  defineTool,
  Filesystem,
  provide,
  provideFactory,
  resourceKey,
  toolError,
  trackBudget,
  type ToolContext,
} from "@proviso/core";
import { noUsage } from "@proviso/core/internal";
import { createSession, memoryFilesystem, modelAdapter, openResources } from "@proviso/runtime";
import { fakeEnvironment, recordEvents, scriptedModel, type ScriptedStep } from "@proviso/runtime/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import { digestOf, noted, notes, promptOf, rejectionOf, world, write, writing } from "./support.ts";

const inner = promptOf({ tools: [write] }, "inner");
const usage = (totalTokens: number) => ({ inputTokens: totalTokens, outputTokens: 0, totalTokens });

type NestedOptions = NonNullable<Parameters<ToolContext["evaluate"]>[1]>;

/** A tool that evaluates the inner prompt, then ends as it was told. */
function nestingTool(options: NestedOptions, end: "succeed" | "fail" = "succeed") {
  return defineTool({
    name: "nest",
    description: "Evaluates inside.",
    input: z.object({}),
    async execute(_, context) {
      const { output } = await context.evaluate(inner, options);
      return end === "fail" ? toolError("it failed afterwards") : output;
    },
  });
}

const innerSteps: readonly ScriptedStep[] = [{ toolCalls: [writing("inside")] }, { text: "inner done" }];
const outerSteps: readonly ScriptedStep[] = [{ toolCalls: [{ name: "nest" }] }, ...innerSteps, { text: "outer done" }];

test("TX-8 what a nested evaluation changes stays when the enclosing call succeeds", async () => {
  const { session, filesystem, ledger, resources } = world();
  const adapter = modelAdapter(scriptedModel(outerSteps), fakeEnvironment());
  const { output, toolResults } = await adapter.evaluate(promptOf({ tools: [nestingTool({})] }), {
    session,
    resources,
  });
  expect(output).toBe("outer done");
  expect(toolResults.map(({ name }) => name)).toEqual(["nest"]);
  expect(session.get(notes)).toEqual(["before", "inside"]);
  expect(await filesystem.exists("folder/inside.txt")).toBe(true);
  expect(ledger.entries).toEqual(["before", "inside"]);
});

test("TX-8 it is undone with the enclosing call, in session, resources, and resources of the nested evaluation", async () => {
  const { session, resources, digest } = world();
  const own = memoryFilesystem({ "own.txt": "own" });
  const before = [await digest(), await digestOf(own)];
  const heard: unknown[] = [];
  session.on(noted, (event) => heard.push(event));
  const nest = nestingTool({ resources: [provide(Filesystem, own)] }, "fail");
  const adapter = modelAdapter(scriptedModel(outerSteps), fakeEnvironment());
  const { toolResults } = await adapter.evaluate(promptOf({ tools: [nest] }), { session, resources });
  expect(toolResults[0]?.result).toMatchObject({ success: false, message: "it failed afterwards" });
  expect([await digest(), await digestOf(own)]).toEqual(before);
  expect(heard).toEqual([]);
});

test("TX-8 a nested evaluation's own failing call is undone alone", async () => {
  const { session, resources } = world();
  const adapter = modelAdapter(
    scriptedModel([
      { toolCalls: [{ name: "nest" }] },
      { toolCalls: [writing("good"), writing("bad", "throw"), writing("fine")] },
      { text: "inner done" },
      { text: "outer done" },
    ]),
    fakeEnvironment(),
  );
  await adapter.evaluate(promptOf({ tools: [nestingTool({})] }), { session, resources });
  expect(session.get(notes)).toEqual(["before", "good", "fine"]);
});

test("TX-6 a nested evaluation's application events are delivered when the outermost call commits", async () => {
  const { session, resources } = world();
  const order: string[] = [];
  session.on("*", (event) => void order.push(event.type));
  const adapter = modelAdapter(scriptedModel(outerSteps), fakeEnvironment());
  await adapter.evaluate(promptOf({ tools: [nestingTool({})] }), { session, resources });
  expect(order.slice(order.indexOf("tool.requested"))).toEqual([
    "tool.requested",
    "prompt.rendered",
    "provider.requested",
    "provider.responded",
    "tool.requested",
    "tool.invoked",
    "provider.requested",
    "provider.responded",
    "prompt.executed",
    "tool.invoked",
    "noted",
    "provider.requested",
    "provider.responded",
    "prompt.executed",
  ]);
});

test("EVT-2 a nested evaluation's events name the call they happen in, and share the session's numbering", async () => {
  const { session, resources } = world();
  const events = recordEvents(session);
  const adapter = modelAdapter(scriptedModel(outerSteps), fakeEnvironment());
  const { evaluationId } = await adapter.evaluate(promptOf({ tools: [nestingTool({})] }), { session, resources });
  const framework = events.flatMap((event) => (event.evaluationId === undefined ? [] : [event]));
  const nested = framework.filter((event) => event.evaluationId !== evaluationId);
  expect(nested.length).toBeGreaterThan(0);
  for (const { parent } of nested) expect(parent).toMatchObject({ evaluationId, callId: expect.any(String) });
  expect(framework.map(({ seq }) => seq)).toEqual(framework.map((_, index) => index));
});

test("TX-3 an evaluation that a call leaves running ends with the call, and nothing of it stays", async () => {
  const { session, resources, digest } = world();
  const before = await digest();
  let nested: Promise<unknown> | undefined;
  const leave = defineTool({
    name: "leave",
    description: "Does not wait.",
    input: z.object({}),
    execute: (_, context) => {
      nested = context.evaluate(inner);
      nested.catch(() => {});
      return "left";
    },
  });
  const adapter = modelAdapter(
    scriptedModel([{ toolCalls: [{ name: "leave" }] }, { toolCalls: [writing("late")] }, { text: "late" }]),
    fakeEnvironment(),
  );
  await adapter.evaluate(promptOf({ tools: [leave] }), { session, resources }).catch(() => {});
  expect(await rejectionOf(nested as Promise<unknown>)).toMatchObject({ code: "aborted" });
  expect(await digest()).toEqual(before);
});

test("TX-3 a nested evaluation after the end of its call is refused", async () => {
  let later: (() => Promise<unknown>) | undefined;
  const keep = defineTool({
    name: "keep",
    description: "Keeps its context.",
    input: z.object({}),
    execute: (_, context) => {
      later = () => context.evaluate(inner);
    },
  });
  const model = scriptedModel([{ toolCalls: [{ name: "keep" }] }, { text: "done" }]);
  await modelAdapter(model, fakeEnvironment()).evaluate(promptOf({ tools: [keep] }));
  expect(await rejectionOf((later as () => Promise<unknown>)())).toMatchObject({ code: "revoked" });
  expect(model.callCount).toBe(2);
});

test("LIM-7 a nested evaluation spends from the same budget, and its end is the evaluation's end", async () => {
  const budget = trackBudget({ maxTotalTokens: 1_000 });
  const model = scriptedModel([
    { toolCalls: [{ name: "nest" }], usage: usage(600) },
    { text: "inner", usage: usage(600) },
  ]);
  const evaluating = modelAdapter(model, fakeEnvironment()).evaluate(promptOf({ tools: [nestingTool({})] }), {
    budget,
  });
  const error = await rejectionOf(evaluating);
  expect(error).toMatchObject({ code: "budget", phase: "tool", dimension: "total_tokens" });
  expect(budget.consumed.totalTokens).toBe(1_200);
});

test.each(["lets it through", "throws one like it"])(
  "TOOL-8 an answer that the budget cut short inside a call is not the evaluation's own, where the handler %s",
  async (how) => {
    const nest = defineTool({
      name: "nest",
      description: "Evaluates inside.",
      input: z.object({}),
      async execute(_, context) {
        return context.evaluate(inner).catch((error: unknown) => {
          if (how === "lets it through" || !(error instanceof BudgetExceededError)) throw error;
          throw new BudgetExceededError("The budget is spent.", error);
        });
      },
    });
    const cut = { inputTokens: 10, outputTokens: 1_000, totalTokens: 1_010 };
    const model = scriptedModel([
      { toolCalls: [{ name: "nest" }], usage: usage(10) },
      { text: "a draft ".repeat(30), usage: cut },
    ]);
    const evaluating = modelAdapter(model, fakeEnvironment()).evaluate(promptOf({ tools: [nest] }), {
      budget: { maxTotalTokens: 1_000 },
    });
    expect(await rejectionOf(evaluating)).toMatchObject({
      code: "budget",
      phase: "tool",
      text: undefined,
      cause: { code: "budget", text: expect.stringContaining("a draft") as string },
    });
  },
);

test("TOOL-8 with nothing left for a nested request, the evaluation ends", async () => {
  const model = scriptedModel([{ toolCalls: [{ name: "nest" }], usage: usage(100) }]);
  const error = await rejectionOf(
    modelAdapter(model, fakeEnvironment()).evaluate(promptOf({ tools: [nestingTool({})] }), {
      budget: { maxTotalTokens: 100 },
    }),
  );
  expect(error).toMatchObject({ code: "budget", phase: "tool" });
});

test.each([
  ["a budget of its own", { budget: { maxTotalTokens: 500 } }],
  ["a turn limit of its own", { maxTurns: 1 }],
])("TOOL-8 %s that a nested evaluation meets is a failed result, and the evaluation goes on", async (_, options) => {
  const model = scriptedModel([
    { toolCalls: [{ name: "nest" }] },
    { toolCalls: [writing("inside")], usage: usage(600) },
    { text: "outer done" },
  ]);
  const { session, resources, digest } = world();
  const before = await digest();
  const { output, toolResults } = await modelAdapter(model, fakeEnvironment()).evaluate(
    promptOf({ tools: [nestingTool(options)] }),
    { session, resources, budget: { maxTotalTokens: 1_000 } },
  );
  expect(output).toBe("outer done");
  expect(toolResults.map(({ result }) => result.success)).toEqual([false]);
  expect(await digest()).toEqual(before);
});

test("TOOL-8 a narrower deadline of a nested evaluation is a failed result; the enclosing one ends the evaluation", async () => {
  for (const [innerMs, outerMs] of [
    [100, 1_000],
    [1_000, 100],
  ] as const) {
    const environment = fakeEnvironment();
    const { clock } = environment;
    const model = scriptedModel(
      [{ toolCalls: [{ name: "nest" }] }, { text: "never", afterMs: 60_000 }, { text: "outer done" }],
      { clock },
    );
    const nest = nestingTool({ deadline: deadlineIn(innerMs, clock) });
    const evaluating = modelAdapter(model, environment)
      .evaluate(promptOf({ tools: [nest] }), { deadline: deadlineIn(outerMs, clock) })
      .then(
        ({ output }) => output,
        (error: Error & { code?: unknown }) => error.code,
      );
    await clock.advance(100);
    await clock.advance(100);
    expect(await evaluating).toBe(innerMs < outerMs ? "outer done" : "deadline");
    expect(clock.pending).toBe(0);
  }
});

const spentNothing = { phase: "tool", promptName: "elsewhere", usage: noUsage, messages: [], toolResults: [] } as const;

test.each([
  ["deadline", new DeadlineExceededError("Too late.", { ...spentNothing, expiresAt: new Date(7) })],
  ["aborted", new AbortedError("Given up.", spentNothing)],
  [
    "budget",
    new BudgetExceededError("All spent.", {
      ...spentNothing,
      dimension: "output_tokens",
      limit: 1,
      spent: 2,
      reserved: 0,
      wanted: undefined,
    }),
  ],
])("TOOL-8 a handler's own %s error ends the evaluation, and the call is undone", async (code, own) => {
  const { session, resources, digest } = world();
  const before = await digest();
  const gives = defineTool({
    name: "give_up",
    description: "Gives up.",
    input: z.object({}),
    async execute(_, { session: state }) {
      state.dispatch(noted({ text: "inside" }));
      throw own;
    },
  });
  const model = scriptedModel([{ toolCalls: [{ name: "give_up" }] }, { text: "never" }]);
  const error = await rejectionOf(
    modelAdapter(model, fakeEnvironment()).evaluate(promptOf({ tools: [gives] }), { session, resources }),
  );
  expect(error).toMatchObject({ code, phase: "tool", message: own.message, promptName: "tests/prompt" });
  if (code === "deadline") expect(error["expiresAt"]).toEqual(new Date(7));
  if (code === "budget") expect(error["dimension"]).toBe("output_tokens");
  expect(error["toolResults"]).toMatchObject([{ result: { success: false, message: own.message } }]);
  expect(model.callCount).toBe(1);
  expect(await digest()).toEqual(before);
});

test("TOOL-8 such an error inside a nested evaluation is a failed result of the tool around it", async () => {
  const gives = defineTool({
    name: "give_up",
    description: "Gives up.",
    input: z.object({}),
    execute: () => {
      throw new BudgetExceededError("All spent.", {
        ...spentNothing,
        dimension: "output_tokens",
        limit: 1,
        spent: 2,
        reserved: 0,
        wanted: undefined,
      });
    },
  });
  const nest = defineTool({
    name: "nest",
    description: "Evaluates inside.",
    input: z.object({}),
    execute: async (_, context) => (await context.evaluate(promptOf({ tools: [gives] }, "inner"))).output,
  });
  const model = scriptedModel([
    { toolCalls: [{ name: "nest" }] },
    { toolCalls: [{ name: "give_up" }] },
    { text: "outer done" },
  ]);
  const { output, toolResults } = await modelAdapter(model, fakeEnvironment()).evaluate(promptOf({ tools: [nest] }));
  expect([output, toolResults.map(({ result }) => result.success)]).toEqual(["outer done", [false]]);
});

test("LIM-7 nesting deeper than maxDepth is a failed result of the tool that tried", async () => {
  const deeper: ReturnType<typeof defineTool> = defineTool({
    name: "deeper",
    description: "Goes deeper.",
    input: z.object({}),
    execute: async (_, context): Promise<unknown> => (await context.evaluate(deep)).output,
  });
  const deep = promptOf({ tools: [deeper] }, "deep");
  for (const [maxDepth, depth] of [
    [undefined, 3],
    [1, 1],
    [0, 0],
  ] as const) {
    const steps: ScriptedStep[] = Array.from({ length: depth + 1 }, () => ({ toolCalls: [{ name: "deeper" }] }));
    const model = scriptedModel([...steps, ...Array.from({ length: depth + 1 }, () => ({ text: "up" }))]);
    const { output } = await modelAdapter(model, fakeEnvironment()).evaluate(deep, { maxDepth });
    model.assertDone();
    expect(output).toBe("up");
    const refused = model.requests[depth + 1]?.messages.findLast(({ role }) => role === "tool");
    expect(refused).toMatchObject({ isError: true, text: expect.stringContaining(`${depth} deep`) });
  }
});

test("LIM-7 a maxDepth that a nested evaluation is given counts from it, and allows no more than the one around it", async () => {
  const deeper = (maxDepth: number | undefined) =>
    defineTool({
      name: "deeper",
      description: "Goes deeper.",
      input: z.object({}),
      execute: async (_, context): Promise<unknown> =>
        (await context.evaluate(promptOf({ tools: [deeper(undefined)] }, "deep"), { maxDepth })).output,
    });
  for (const [maxDepth, depth] of [
    [0, 1],
    [1, 2],
    [7, 3],
  ] as const) {
    const steps: ScriptedStep[] = Array.from({ length: depth + 1 }, () => ({ toolCalls: [{ name: "deeper" }] }));
    const model = scriptedModel([...steps, ...Array.from({ length: depth + 1 }, () => ({ text: "up" }))]);
    await modelAdapter(model, fakeEnvironment()).evaluate(promptOf({ tools: [deeper(maxDepth)] }, "deep"));
    model.assertDone();
    const refused = model.requests[depth + 1]?.messages.findLast(({ role }) => role === "tool");
    expect(refused).toMatchObject({ isError: true, text: expect.stringContaining(`${depth} deep`) });
  }
});

test("RES-1 a nested evaluation works with the resources around it, and with those it was given instead", async () => {
  const key = resourceKey<string>("word");
  const said: string[] = [];
  const say = defineTool({
    name: "say",
    description: "Says it.",
    input: z.object({}),
    execute: (_, { resources }) => void said.push(resources.get(key)),
  });
  const prompt = promptOf({ tools: [say], resources: [provide(key, "the prompt's own")] }, "say");
  const nest = defineTool({
    name: "nest",
    description: "Nests.",
    input: z.object({ given: z.boolean() }),
    execute: async ({ given }, context) => {
      await context.evaluate(prompt, given ? { resources: [provide(key, "given")] } : {});
    },
  });
  const model = scriptedModel(
    [true, false].flatMap((given) => [
      { toolCalls: [{ name: "nest", arguments: { given } }] },
      { toolCalls: [{ name: "say" }] },
      { text: "inner" },
    ]),
  );
  await rejectionOf(
    modelAdapter(model, fakeEnvironment()).evaluate(promptOf({ tools: [nest] }), {
      resources: [provide(key, "around")],
      maxTurns: 2,
    }),
  );
  expect(said).toEqual(["given", "around"]);
});

test("TX-8 a scope that a nested evaluation was given is put back too, and left open", async () => {
  const files = memoryFilesystem({ "kept.txt": "kept" });
  const made: string[] = [];
  const key = resourceKey<object>("counted");
  await using scope = await openResources([
    provide(Filesystem, files),
    provideFactory(key, () => ({}), { close: () => void made.push("closed") }),
  ]);
  const put = defineTool({
    name: "put",
    description: "Writes.",
    input: z.object({}),
    execute: (_, { resources }) => resources.get(Filesystem).write("new.txt", "new"),
  });
  const nest = defineTool({
    name: "nest",
    description: "Nests.",
    input: z.object({}),
    execute: async (_, context) => {
      await context.evaluate(promptOf({ tools: [put] }, "put"), { resources: scope });
      throw new Error("after all");
    },
  });
  const model = scriptedModel([
    { toolCalls: [{ name: "nest" }] },
    { toolCalls: [{ name: "put" }] },
    { text: "inner" },
    { text: "outer" },
  ]);
  await modelAdapter(model, fakeEnvironment()).evaluate(promptOf({ tools: [nest] }));
  expect(await files.exists("new.txt")).toBe(false);
  expect(made).toEqual([]);
});

test("LOOP-3 a nested evaluation may go on with a conversation, and a foreign adapter is refused with a reason", async () => {
  const foreign = { name: "foreign", evaluate: () => {}, stream: () => {} } as never;
  const nest = defineTool({
    name: "nest",
    description: "Nests.",
    input: z.object({}),
    execute: async (_, context) => void (await context.evaluate(inner, { adapter: foreign })),
  });
  const model = scriptedModel([{ toolCalls: [{ name: "nest" }] }, { text: "done" }]);
  const { toolResults } = await modelAdapter(model, fakeEnvironment()).evaluate(promptOf({ tools: [nest] }), {
    session: createSession(),
  });
  expect(toolResults[0]?.result).toMatchObject({ success: false, message: expect.stringContaining("modelAdapter") });
});

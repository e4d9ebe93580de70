import {
  allow,
  definePolicy,
  definePrompt,
  defineSlice,
  DefinitionError,
  defineTool,
  errorReason,
  Filesystem,
  OptionError,
  provide,
  resourceKey,
  type EvaluateOptions,
} from "@proviso/core";
import { describe, expect, test, vi } from "vitest";
import {
  createSession,
  memoryConversations,
  modelAdapter,
  openResources,
  restoreSession,
  withConversation,
} from "@proviso/runtime";
import { scriptedModel } from "@proviso/runtime/testing";
import { z } from "zod";

const prompt = definePrompt({ key: "greet", text: "Say hello." }).bind();

describe("ERR-1 an option of the wrong kind is named, with what it must be", () => {
  test.each<readonly [name: string, given: unknown, message: string]>([
    [
      "deadline",
      1_000,
      "The option deadline must be a deadline: deadlineIn(milliseconds) or deadlineAt(date), not 1000.",
    ],
    [
      "deadline",
      new Date(0),
      "The option deadline must be a deadline: deadlineIn(milliseconds) or deadlineAt(date), not",
    ],
    [
      "signal",
      new AbortController(),
      "The option signal must be an AbortSignal, the signal of a controller for example, not",
    ],
    [
      "budget",
      1_000,
      "The option budget must be limits, { maxTotalTokens: 10_000 } for example, or a tracker of trackBudget, not 1000.",
    ],
    [
      "overrides",
      "latest",
      'The option overrides must be { store, tag }, with a store such as memoryOverrides(), not "latest".',
    ],
    [
      "policies",
      [() => ({ allowed: true })],
      "The option policies must be a list of what definePolicy makes: policies[0] has neither check nor approve.",
    ],
    [
      "policies",
      { check: () => ({ allowed: true }) },
      "The option policies must be a list of what definePolicy makes, not",
    ],
    ["session", {}, "This session was not made by createSession; inside a tool, evaluate with context.evaluate."],
    [
      "session",
      createSession().toJSON(),
      "This is a session's JSON: restoreSession(json, { slices: prompt.slices }) makes a session of it.",
    ],
    ["messages", [{ role: "user" }], "These are not messages of Proviso: messages[0].text must be a string."],
    ["toolChoice", { tool: "nope" }, 'toolChoice names "nope", which is no tool of this prompt.'],
    ["resources", { db: 1 }, "These resources were not opened by openResources, or are closed"],
    [
      "resources",
      [provide(resourceKey<number>("N"), 1), { db: 1 }],
      "resources[1] is neither a binding, provide(key, value) for example, nor open resources of openResources, but",
    ],
    ["budget", {}, "A budget needs at least one limit"],
    ["maxTurns", "3", "The option maxTurns must be a positive whole number, not"],
  ])("%s: %j", async (name, given, message) => {
    const model = scriptedModel([{ text: "Hello." }]);
    const adapter = modelAdapter(model);
    const options = { [name]: given } as EvaluateOptions;
    for (const evaluated of [adapter.evaluate(prompt, options), adapter.stream(prompt, options).response]) {
      const error: unknown = await evaluated.catch((reason: unknown) => reason);
      expect(error).toBeInstanceOf(OptionError);
      expect(error).toMatchObject({ code: "option", option: name, phase: "render", messages: [] });
      expect(errorReason(error)).toBe("option_error");
      expect((error as OptionError).cause).toBeInstanceOf(DefinitionError);
      expect((error as OptionError).message).toContain(message);
    }
    expect(model.callCount).toBe(0);
  });

  test("no options at all", async () => {
    const adapter = modelAdapter(scriptedModel([]));
    const none = null as unknown as undefined;
    for (const evaluated of [adapter.evaluate(prompt, none), adapter.stream(prompt, none).response])
      await expect(evaluated).rejects.toThrow("The options of evaluate must be an object, not null.");
  });
});

test("ERR-8 a session of another copy of the runtime is reported as such", async () => {
  vi.resetModules();
  const another = await import("@proviso/runtime");
  const evaluation = modelAdapter(scriptedModel([])).evaluate(prompt, { session: another.createSession() });
  await expect(evaluation).rejects.toMatchObject({
    code: "option",
    message:
      "This session was made by another copy of @proviso/runtime: npm ls @proviso/runtime shows which are installed; let there be one. A bundler may put one into several parts of a program: keep it out of the bundle (Next.js: serverExternalPackages).",
  });
});

test("ERR-8 a key that is not bound, beside another of its name that is, is reported as such", async () => {
  const [used, bound] = [resourceKey<string>("Tenant"), resourceKey<string>("Tenant")];
  const hint =
    'Another key "Tenant" is bound: make the key once and import it; of a package, let one copy be installed.';
  const tool = (uses: readonly [typeof used] | undefined) =>
    defineTool({
      name: "tell",
      description: "Tell.",
      input: z.object({}),
      uses,
      execute: (_, { resources }) => resources.get(used),
    });
  const opened = await openResources([provide(bound, "Ada")]);
  for (const resources of [[provide(bound, "Ada")], opened, [opened, provide(resourceKey("Other"), 1)]]) {
    const model = scriptedModel([{ toolCalls: [{ name: "tell" }] }, { text: "Done." }]);
    const telling = (uses: readonly [typeof used] | undefined) =>
      definePrompt({ key: "tell", sections: [{ key: "task", text: "Tell.", tools: [tool(uses)] }] }).bind();
    await expect(modelAdapter(model).evaluate(telling([used]), { resources })).rejects.toThrow(hint);
    const { toolResults } = await modelAdapter(model).evaluate(telling(undefined), { resources });
    expect(toolResults[0]?.result.message).toBe(`No resource is bound to "Tenant". ${hint}`);
  }
});

test("PRM-16 asking for a resource with a text says that it is no key", async () => {
  const opened = await openResources([provide(resourceKey("Stock"), 1)]);
  expect(() => opened.get("Stock" as never)).toThrow('No resource is bound to "Stock", which is no key.');
});

test("EVT-7 a misspelt name is refused when it is listened to", () => {
  expect(() => createSession().on("tool.invokd" as never, () => {})).toThrow(
    '"tool.invokd" is no event of the framework. Do you mean "tool.invoked"?',
  );
});

test("ERR-1 what is no bound prompt is the caller's mistake, and no error of rendering", async () => {
  const template = definePrompt({ key: "greet", text: "Say hello." });
  for (const given of [template, 7, undefined]) {
    const error: unknown = await modelAdapter(scriptedModel([]))
      .evaluate(given as never)
      .catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: "option", option: undefined });
    expect((error as Error).message).toBe("evaluate takes a bound prompt, template.bind(params), or a text.");
  }
});

test("ERR-1 an option that is undefined is as if left out", async () => {
  const options = {
    deadline: undefined,
    signal: undefined,
    budget: undefined,
    overrides: undefined,
    policies: undefined,
  };
  const { output } = await modelAdapter(scriptedModel([{ text: "Hello." }])).evaluate(prompt, options);
  expect(output).toBe("Hello.");
});

describe("ERR-1 what is no filter of events is refused", () => {
  test.each([42, null, undefined, {}, { type: 7 }, () => {}])("%j", (filter) => {
    expect(() => createSession().on(filter as unknown as "*", () => {})).toThrow(DefinitionError);
  });
});

describe("EVT-7 a listener that is no function is refused where it subscribes", () => {
  test.each([undefined, null, "log", { call: () => {} }])("EVT-7 %j", (listener) => {
    const session = createSession();
    expect(() => session.on("tool.invoked", listener as never)).toThrow(DefinitionError);
    expect(() => session.on("*", listener as never)).toThrow("A listener of a session must be a function, not ");
  });
});

describe("PRM-15 the policies of an evaluation are checked as those of a prompt", () => {
  test("one that only decides on calls whose effect is not known is a policy", async () => {
    const policies = [definePolicy({ name: "p", unknown: () => allow() })];
    expect((await modelAdapter(scriptedModel([{ text: "Hello." }])).evaluate(prompt, { policies })).output).toBe(
      "Hello.",
    );
  });

  test("one that watches tools by their names", async () => {
    const policies = [{ name: "p", tools: ["pay"], check: () => allow() }] as never;
    await expect(modelAdapter(scriptedModel([])).evaluate(prompt, { policies })).rejects.toThrow(
      'The tools of policy "p" must be a list of what defineTool makes: tools[0] has no execute. It is "pay".',
    );
  });
});

describe("PRM-15 the slices of a session are checked", () => {
  const slice = defineSlice({ name: "s", initial: 0 });
  test.each<readonly [given: unknown, why: string]>([
    [slice, "must be a list of what defineSlice makes, not an object."],
    [{ slice }, "must be a list of what defineSlice makes, not an object."],
    [[() => slice], "must be a list of what defineSlice makes: slices[0] has no registered. It is a function."],
  ])("%o", async (given, why) => {
    const slices = given as never;
    expect(() => createSession({ slices })).toThrow(new DefinitionError(`The slices of createSession ${why}`));
    if (Array.isArray(given))
      expect(() => restoreSession(createSession().toJSON(), { slices })).toThrow(
        new DefinitionError(`The slices of restoreSession ${why}`),
      );
    await expect(withConversation(memoryConversations(), "ada", () => {}, { slices })).rejects.toThrow(why);
  });
});

test.each<readonly [given: unknown, why: string]>([
  [{ db: 1 }, "must be a list of what provide or provideFactory makes, not an object."],
  [[Filesystem], "must be a list of what provide or provideFactory makes: bindings[0] has no create."],
])("PRM-15 the bindings of open resources are checked: %o", async (given, why) => {
  await expect(openResources(given as never)).rejects.toThrow(`The bindings of openResources ${why}`);
});

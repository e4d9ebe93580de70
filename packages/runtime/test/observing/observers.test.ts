import {
  deadlineIn,
  defineEvent,
  definePolicy,
  definePrompt,
  defineSlice,
  defineTool,
  deny,
  Filesystem,
  overrideOf,
  provide,
  toolError,
  type Budget,
  type Message,
  type Observer,
  type Tool,
} from "@proviso/core";
import { createSession, memoryFilesystem, memoryOverrides, modelAdapter, type AdapterOptions } from "@proviso/runtime";
import { fallback } from "@proviso/runtime/routing";
import { fakeEnvironment, invokeTool, recordEvents, scriptedModel, type ScriptedStep } from "@proviso/runtime/testing";
import { surround, type SurroundingObserver } from "@proviso/core/internal";
import { inspect } from "node:util";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { promptWith, rejection, writes, writing } from "../support.ts";
import { keptLog, watching } from "./support.ts";

const noted = defineEvent("noted", z.object({ text: z.string() }));
const notes = defineSlice({
  name: "own notes",
  initial: [] as readonly string[],
  reducers: ({ on }) => on(noted, (draft, { text }) => void draft.push(text)),
});
const note = defineTool({
  name: "note",
  description: "Notes.",
  input: z.object({ text: z.string(), fail: z.boolean().default(false) }),
  execute({ text, fail }, { session }) {
    session.dispatch(noted({ text }));
    return fail ? toolError("it failed") : text;
  },
});
const noting = (text: string, fail = false) => ({ name: "note", arguments: { text, fail } });
const notebook = (...tools: readonly Tool[]) =>
  definePrompt({
    key: "notebook",
    sections: [{ key: "all", text: "Note.", tools: [note, ...tools], slices: [notes] }],
  });

const files = () => [provide(Filesystem, memoryFilesystem({}))];
const evaluated = (steps: readonly ScriptedStep[], options: AdapterOptions) =>
  modelAdapter(scriptedModel(steps), { ...fakeEnvironment(1), ...options });
const statesOf = (states: readonly { name: string; state: unknown }[], name: string) =>
  states.find((each) => each.name === name)?.state;

describe("OBS-1", () => {
  test("OBS-1 an observer receives each framework event once, in order, after reducers and listeners", async () => {
    const heard: string[] = [];
    const session = createSession();
    session.on("*", ({ type }) => void heard.push(`listener ${type}`));
    const observer: Observer = { event: ({ type }) => void heard.push(`observer ${type}`) };
    const events = recordEvents(session);
    await evaluated([{ toolCalls: [noting("a")] }, { text: "Done." }], { observers: [observer] }).evaluate(
      notebook().bind(),
      { session },
    );
    const framework = events.filter((event) => "seq" in event);
    expect(heard.filter((each) => each.startsWith("observer"))).toEqual(
      framework.map(({ type }) => `observer ${type}`),
    );
    for (const { type } of framework) {
      expect(heard.indexOf(`listener ${type}`)).toBeLessThan(heard.indexOf(`observer ${type}`));
    }
  });

  test("OBS-1 evaluations in sessions that the program does not hold are observed, and nested ones", async () => {
    const observer = watching();
    const asks = defineTool({
      name: "asks",
      description: "Asks.",
      input: z.object({}),
      execute: async (_, { evaluate }) => (await evaluate("Inside?")).output,
    });
    await evaluated([{ toolCalls: [{ name: "asks" }] }, { text: "Inside." }, { text: "Done." }], {
      observers: [observer],
    }).evaluate(promptWith(asks));
    const { events, steps } = observer.seen;
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index));
    expect(new Set(events.map(({ evaluationId }) => evaluationId)).size).toBe(2);
    expect(events.filter(({ type }) => type === "prompt.executed")).toHaveLength(2);
    expect(steps).toEqual([
      "tests/prompt begins",
      "request 1.1 begins",
      "request 1.1 ends",
      "asks begins",
      expect.stringContaining("begins"),
      "request 1.1 begins",
      "request 1.1 ends",
      expect.stringContaining("ends"),
      "asks ends",
      "request 2.1 begins",
      "request 2.1 ends",
      "tests/prompt ends",
    ]);
  });

  test("OBS-1 an application's events come with their session and evaluation, those of undone calls never", async () => {
    const observer = watching();
    await evaluated([{ toolCalls: [noting("a"), noting("b", true)] }, { text: "Done." }], {
      observers: [observer],
    }).evaluate(notebook().bind());
    const { app, events } = observer.seen;
    const { sessionId, evaluationId } = events[0] as (typeof events)[number];
    expect(app).toEqual([{ type: "noted", of: { sessionId, evaluationId } }]);
  });

  test("OBS-1 an adapter of several adapters has the observers of the first, or its own", async () => {
    const [ofFirst, own] = [watching(), watching()];
    const first = (observer: Observer) => evaluated([{ text: "Done." }], { observers: [observer] });
    const second = evaluated([], {});
    await fallback([first(ofFirst), second]).evaluate("Hello.");
    expect(ofFirst.seen.events.at(-1)?.type).toBe("prompt.executed");
    await fallback([first(watching()), second], { observers: [own] }).evaluate("Hello.");
    expect(own.seen.events.at(-1)?.type).toBe("prompt.executed");
  });

  test("OBS-1 a single call of invokeTool is observed", async () => {
    const observer = watching();
    await invokeTool(
      note,
      { text: "a", fail: false },
      { session: createSession({ slices: [notes] }), observers: [observer] },
    );
    expect(observer.seen.steps).toContain("note begins");
  });
});

describe("OBS-2", () => {
  const hostile = (how: (member: string) => never | Promise<never>): Observer => ({
    event: () => how("event") as never,
    app: () => how("app") as never,
    changed: () => how("changed") as never,
    around: () => how("around") as never,
  });
  const steps: readonly ScriptedStep[] = [
    { toolCalls: [noting("a"), noting("b", true)] },
    { failure: "throttle", kind: "rate_limit", message: "slow" },
    { text: "Done." },
  ];
  const run = async (options: AdapterOptions) => {
    const session = createSession({ id: "s" });
    const events = recordEvents(session);
    const environment = fakeEnvironment(7);
    const adapter = modelAdapter(scriptedModel(steps, environment), { ...environment, ...options });
    const evaluating = adapter.evaluate(notebook().bind(), { session });
    await environment.clock.advance(60_000);
    return { events: [...events], response: await evaluating, state: session.toJSON() };
  };

  test.each([
    ["throws", (member: string) => hostileThrow(member)],
    ["rejects", (member: string) => Promise.reject(new Error(`rejected in ${member}`))],
  ])("OBS-2 an observer that %s changes nothing, and is logged", async (_, how) => {
    const logger = keptLog();
    const plain = await run({});
    const observed = await run({ observers: [hostile(how as never)], logger });
    expect(observed).toEqual(plain);
    const failed = logger.records.filter(({ message }) => message === "observer.failed");
    expect(new Set(failed.map(({ member }) => member))).toEqual(new Set(["event", "app", "changed", "around"]));
    expect(failed.every(({ level }) => level === "error")).toBe(true);
  });

  function hostileThrow(member: string): never {
    throw new Error(`threw in ${member}`);
  }

  test("OBS-2 an observer that only watches changes nothing either", async () => {
    expect(await run({ observers: [watching()] })).toEqual(await run({}));
  });
});

describe("OBS-3", () => {
  test("OBS-3 the first observer is the outermost, and the work is run once inside all of them", async () => {
    const order: string[] = [];
    const named = (name: string): Observer => ({
      async around({ kind }, work) {
        order.push(`${name} ${kind}`);
        const ended = await work();
        order.push(`${kind} ${name}`);
        return ended;
      },
    });
    await evaluated([{ text: "Done." }], { observers: [named("a"), named("b")] }).evaluate("Hello.");
    expect(order).toEqual([
      "a evaluation",
      "b evaluation",
      "a request",
      "b request",
      "request b",
      "request a",
      "evaluation b",
      "evaluation a",
    ]);
  });

  test.each<[string, Observer["around"]]>([
    ["calls it late", (async (_: unknown, work: () => Promise<unknown>) => (await Promise.resolve(), work())) as never],
    ["never calls it", (() => new Promise(() => {})) as never],
    ["calls it twice", (async (_: unknown, work: () => Promise<unknown>) => (await work(), work())) as never],
    ["returns something else", (async (_: unknown, work: () => Promise<unknown>) => (await work(), "other")) as never],
    [
      "rejects after it",
      (async (_: unknown, work: () => Promise<unknown>) => (await work(), Promise.reject(new Error("no")))) as never,
    ],
  ])("OBS-3 an observer that %s has the work run once, and its outcome counts", async (_, around) => {
    const ran: string[] = [];
    const counting = defineTool({
      name: "counting",
      description: "Counts.",
      input: z.object({}),
      execute: () => ran.push("once"),
    });
    const model = scriptedModel([{ toolCalls: [{ name: "counting" }] }, { text: "Done." }]);
    const { output } = await modelAdapter(model, { observers: [{ around }] as never }).evaluate(promptWith(counting));
    expect(output).toBe("Done.");
    expect(ran).toEqual(["once"]);
    expect(model.callCount).toBe(2);
  });

  test("OBS-3 one that has not called the work when it returns is logged; one whose work fails is not", async () => {
    const logger = keptLog();
    const late: Observer = {
      around: (async (_: unknown, work: () => Promise<unknown>) => (await Promise.resolve(), work())) as never,
    };
    await evaluated([{ text: "Done." }], { observers: [late], logger }).evaluate("Hello.");
    const failed = logger.records.filter(({ message }) => message === "observer.failed");
    expect(failed.map(({ error }) => error)).toEqual(Array(2).fill("It returned before it called the work."));

    const other = keptLog();
    const passing: Observer = { around: (_, work) => work() };
    await rejection(evaluated([], { observers: [passing], logger: other }).evaluate("Hello."));
    await new Promise((resolve) => setTimeout(resolve));
    expect(other.records.map(({ message }) => message)).not.toContain("observer.failed");
  });

  test("OBS-3 an evaluation that cannot begin is a step as well, with the prompt, the provider and the model", async () => {
    const steps: unknown[] = [];
    const observer: Observer = { around: (step, work) => (steps.push(step), work()) };
    const adapter = evaluated([], { observers: [observer] });
    const clock = fakeEnvironment(1).clock;
    const deadline = deadlineIn(1, clock);
    await clock.advance(2);
    await rejection(adapter.evaluate(notebook().bind(), { deadline }));
    await rejection(adapter.evaluate(undefined as never));
    expect(steps).toMatchObject([
      { kind: "evaluation", promptName: "app/notebook", provider: "scripted", streamed: false },
      { kind: "evaluation", promptName: "(no prompt)" },
    ]);
  });

  test("OBS-3 a nested evaluation names the call that it runs in, a streamed one says so", async () => {
    const steps: { kind: string; parent?: object | undefined; streamed?: boolean; evaluationId: string }[] = [];
    const observer: Observer = { around: (step, work) => (steps.push(step), work()) };
    const asks = defineTool({
      name: "asks",
      description: "Asks.",
      input: z.object({}),
      execute: async (_, { evaluate }) => (await evaluate("Inside?")).output,
    });
    const script = [{ toolCalls: [{ name: "asks", id: "c1" }] }, { text: "Inside." }, { text: "Done." }];
    await evaluated(script, { observers: [observer] }).stream(promptWith(asks)).response;
    const [outer, inner] = steps.filter(({ kind }) => kind === "evaluation");
    expect(outer).toMatchObject({ streamed: true });
    expect(inner).toMatchObject({ streamed: false, parent: { evaluationId: outer?.evaluationId, callId: "c1" } });
  });

  test("OBS-3 a call that waits for an approval is one step", async () => {
    const observer = watching();
    const approving = definePolicy({
      name: "approving",
      check: () => ({ allowed: true }),
      approve: async () => ({ allowed: true }),
    });
    await evaluated([{ toolCalls: [noting("a")] }, { text: "Done." }], { observers: [observer] }).evaluate(
      notebook().bind(),
      { policies: [approving] },
    );
    expect(observer.seen.steps.filter((step) => step.startsWith("note"))).toEqual(["note begins", "note ends"]);
    expect(observer.seen.changes.map(({ undone }) => undone)).toEqual([false]);
  });

  test("OBS-3 ids are made in the same order as without observers", async () => {
    const idsOf = async (options: AdapterOptions) => {
      const made: string[] = [];
      const newId = fakeEnvironment(3).newId as () => string;
      const adapter = modelAdapter(scriptedModel([{ text: "Done." }]), {
        ...options,
        newId: () => (made.push(newId()), made.at(-1) as string),
      });
      const events: string[] = [];
      const stream = adapter.stream("Hello.");
      for await (const event of stream)
        if ("evaluationId" in event) events.push(`${event.sessionId} ${event.evaluationId}`);
      return { made, events };
    };
    expect(await idsOf({ observers: [watching()] })).toEqual(await idsOf({}));
  });
});

describe("OBS-4", () => {
  const states = (observer: ReturnType<typeof watching>) =>
    observer.seen.changes.map(({ undone, states: all }) => [undone, statesOf(all, "own notes")]);

  test("OBS-4 changed comes once for each transaction, while the session shows what its calls did", async () => {
    const observer = watching();
    const session = createSession();
    await evaluated([{ toolCalls: [noting("a"), noting("b", true), noting("c")] }, { text: "Done." }], {
      observers: [observer],
    }).evaluate(notebook().bind(), { session });
    expect(states(observer)).toEqual([
      [false, ["a"]],
      [true, ["a", "b"]],
      [false, ["a", "c"]],
    ]);
    expect(session.get(notes)).toEqual(["a", "c"]);
    expect(observer.seen.changes[0]).toMatchObject({ sessionId: session.id, turn: 1, callIds: [expect.any(String)] });
  });

  test("OBS-4 a call that a listener vetoes comes once, as undone", async () => {
    const observer = watching();
    const session = createSession();
    session.on("tool.invoked", ({ result }) => {
      if (result.success) throw new Error("No.");
    });
    await evaluated([{ toolCalls: [noting("a")] }, { text: "Done." }], { observers: [observer] }).evaluate(
      notebook().bind(),
      { session },
    );
    expect(states(observer)).toEqual([[true, ["a"]]]);
  });

  test("OBS-4 a nested call comes before the one around it; undone, that shows the state with both", async () => {
    const observer = watching();
    const asks = defineTool({
      name: "asks",
      description: "Asks.",
      input: z.object({}),
      async execute(_, { evaluate, session }) {
        session.dispatch(noted({ text: "outer" }));
        await evaluate(notebook().bind());
        return toolError("it failed");
      },
    });
    const script = [
      { toolCalls: [{ name: "asks", id: "same" }] },
      { toolCalls: [{ ...noting("inner"), id: "same" }] },
      { text: "Inside." },
      { text: "Done." },
    ];
    await evaluated(script, { observers: [observer] }).evaluate(notebook(asks).bind());
    expect(states(observer)).toEqual([
      [false, ["outer", "inner"]],
      [true, ["outer", "inner"]],
    ]);
  });

  test("OBS-4 reading calls that overlap are reported as one, calls with transactions of their own each by itself", async () => {
    const observer = watching();
    const looks = defineTool({
      name: "looks",
      description: "Looks.",
      readOnly: true,
      input: z.object({}),
      execute: () => 1,
    });
    const alone = defineTool({
      name: "alone",
      description: "Uses nothing.",
      uses: [],
      input: z.object({}),
      execute: async (_, { evaluate }) => (await evaluate("Inside?")).output,
    });
    const script = [
      { toolCalls: [{ name: "looks" }, { name: "looks" }] },
      { toolCalls: [{ name: "alone" }, { name: "alone" }] },
      { text: "Inside." },
      { text: "Inside." },
      { text: "Done." },
    ];
    await evaluated(script, { observers: [observer] }).evaluate(promptWith(looks, alone));
    expect(observer.seen.changes.map(({ callIds }) => callIds.length)).toEqual([2, 1, 1]);
  });

  test("OBS-4 the resources that the calls asked for are named, in that order, those of a factory are not", async () => {
    const observer = watching();
    await evaluated([{ toolCalls: [writing("a"), writing("b", "fail")] }, { text: "Done." }], {
      observers: [observer],
    }).evaluate(promptWith(writes), { resources: files() });
    const names = observer.seen.changes.map(({ undone, touched }) => [undone, touched.map(({ name }) => name)]);
    expect(names).toEqual([
      [false, ["Filesystem"]],
      [true, ["Filesystem"]],
    ]);
  });
});

describe("OBS-5", () => {
  const secret = "sk-very-secret-12345";

  test("OBS-5 nothing that an observer sees holds a registered secret", async () => {
    const seen: string[] = [];
    const initial = defineSlice({ name: "initial", initial: { key: secret }, reducers: () => {} });
    const see = (value: unknown): void => void seen.push(JSON.stringify(value));
    const observer: Observer = {
      event: see,
      app: see,
      changed: ({ slices, touched, ...rest }) => see([rest, slices(), touched()]),
      async around(step, work) {
        see(step.kind === "request" ? step.messages() : step);
        const ended: unknown = await work().catch((error: unknown) => see(String(error)));
        see(ended ?? null);
        return ended as never;
      },
    };
    const prompt = definePrompt({
      key: "hidden",
      params: z.object({ key: z.string() }),
      sections: [{ key: "all", text: "The key is {{key}}.", tools: [note], slices: [notes, initial] }],
    });
    const script = [{ text: secret, toolCalls: [noting(secret), noting(secret, true)] }, { error: new Error(secret) }];
    await rejection(
      evaluated(script, { observers: [observer], secrets: [secret] }).evaluate(prompt.bind({ key: secret })),
    );
    expect(seen.length).toBeGreaterThan(10);
    expect(seen.filter((text) => text.includes(secret))).toEqual([]);
  });

  test("OBS-5 what a step failed with has no secret for an observer of ours, the caller's own error included", async () => {
    const shown: string[] = [];
    const observer: SurroundingObserver = {
      event() {},
      [surround](step, begin) {
        begin((error) => {
          if (error !== undefined) shown.push(`${step.kind} ${inspect(error, { depth: 9 })}`);
        });
      },
    };
    const adapter = evaluated([{ error: new Error(secret) }], { observers: [observer], secrets: [secret] });
    await rejection(adapter.evaluate(notebook().bind()));
    // What cannot begin fails with what was given.
    await rejection(adapter.evaluate(notebook().bind(), { [`maxTurns-${secret}`]: 1 } as never));
    expect(shown.map((text) => text.split(" ")[0])).toContain("evaluation");
    expect(shown.join()).not.toContain(secret);
  });
});

describe("OBS-6", () => {
  const transcript = async (
    script: readonly ScriptedStep[],
    prompt = notebook().bind() as never,
    options: object = {},
  ) => {
    const observer = watching();
    const { messages } = await evaluated(script, { observers: [observer] }).evaluate(prompt, options);
    return { messages, events: observer.seen.events };
  };
  const answers = (messages: readonly Message[]) => messages.filter(({ role }) => role === "assistant");

  test("OBS-6 text and calls of provider.responded equal those of the turn's assistant message", async () => {
    const script: readonly ScriptedStep[] = [
      {
        text: "half \ud800 pair",
        toolCalls: [
          { ...noting("a"), id: "x" },
          { ...noting("b"), id: "x" },
        ],
      },
      { text: "Done." },
    ];
    const { messages, events } = await transcript(script);
    const responded = events.filter((event) => event.type === "provider.responded");
    expect(responded.map(({ text, toolCalls }) => ({ text, toolCalls }))).toEqual(
      answers(messages).map((message) => ({
        text: message.text,
        toolCalls: "toolCalls" in message && message.toolCalls,
      })),
    );
    expect(responded.every(({ model }) => model === "scripted-model")).toBe(true);
  });

  test("OBS-6 what the runtime adds for the model comes with the next request, once", async () => {
    const prompt = definePrompt({ key: "number", output: z.object({ n: z.number() }), text: "A number." });
    const script: readonly ScriptedStep[] = [
      { text: "none" },
      { failure: "throttle", kind: "rate_limit", message: "slow", retryAfterMs: 0 },
      { text: '{"n":1}' },
    ];
    const observer = watching();
    const adapter = modelAdapter(scriptedModel(script), {
      observers: [observer],
      throttle: { baseDelayMs: 0 } as never,
    });
    const { messages } = await adapter.evaluate(prompt.bind(), { maxRepairs: 1 });
    const requested = observer.seen.events.filter((event) => event.type === "provider.requested");
    expect(requested.map(({ said }) => said?.length)).toEqual([undefined, 1, undefined]);
    expect(requested[1]?.said).toEqual([messages.filter(({ role }) => role === "user")[1]?.text]);
    expect(requested.map(({ messages: count }) => count)).toEqual([1, 3, 3]);
  });

  test("OBS-6 the prompt comes again with the first request after sections opened", async () => {
    const prompt = definePrompt({
      key: "opening",
      sections: [
        { key: "manual", text: "Restart it.", summary: "How to restart.", visibility: "summary", tools: [note] },
        { key: "ask", text: "Fix it.", role: "user" },
      ],
    });
    const opening = { name: "open_sections", arguments: { keys: ["manual"], reason: "needed" } };
    const { events } = await transcript([{ toolCalls: [opening] }, { text: "Done." }], prompt.bind() as never);
    const requested = events.filter((event) => event.type === "provider.requested");
    expect(requested[0]?.prompt).toBeUndefined();
    const { text = "", sections = [], tools } = requested[1]?.prompt ?? {};
    expect(sections.map(({ path, start, end, shown }) => [path, shown, text.slice(start, end)])).toEqual([
      ["manual", "full", "Restart it."],
      ["ask", "full", "Fix it."],
    ]);
    expect(tools).toEqual(["note"]);
  });

  test("OBS-6 what came before is counted, and limits and the kind of output are shown", async () => {
    const first = await evaluated([{ text: "Hi." }], {}).evaluate("Hello.");
    const observer = watching();
    await evaluated([{ text: "Done." }], { observers: [observer] }).evaluate("And?", {
      messages: first.messages,
      budget: { maxTotalTokens: 500 },
      maxTurns: 3,
    });
    expect(observer.seen.events[0]).toMatchObject({
      type: "prompt.rendered",
      earlierMessages: 2,
      output: "text",
      limits: { maxTurns: 3, budget: { maxTotalTokens: 500, consumed: { totalTokens: 0 } } },
    });
  });
});

describe("OBS-6 the limits of an evaluation with several budgets", () => {
  const nested = async (around: Budget, own: Budget): Promise<unknown> => {
    const nest = defineTool({
      name: "nest",
      description: "Nests.",
      input: z.object({}),
      execute: async (_, { evaluate }) => (await evaluate("Go on.", { budget: own })).output,
    });
    const observer = watching();
    const options = { observers: [observer], pricing: { input: 1, output: 1 } };
    const steps = [{ toolCalls: [{ name: "nest" }] }, { text: "In." }, { text: "Out." }];
    await evaluated(steps, options).evaluate(promptWith(nest), { budget: around });
    const rendered = observer.seen.events.filter((event) => event.type === "prompt.rendered");
    return rendered[1]?.limits.budget;
  };

  test.each<readonly [string, Budget, Budget, object]>([
    ["its own", { maxTotalTokens: 9_000 }, { maxTotalTokens: 5_000 }, { maxTotalTokens: 5_000 }],
    ["the one around", { maxTotalTokens: 5_000 }, { maxTotalTokens: 9_000 }, { maxTotalTokens: 5_000 }],
    ["of input alone", { maxInputTokens: 4_000 }, { maxTotalTokens: 5_000 }, { maxInputTokens: 4_000 }],
    ["of dollars beside tokens", { maxCostUsd: 0.5 }, { maxTotalTokens: 5_000 }, { maxTotalTokens: 5_000 }],
    ["its own, in dollars", { maxCostUsd: 0.9 }, { maxCostUsd: 0.5 }, { maxCostUsd: 0.5 }],
    ["the one around, in dollars", { maxCostUsd: 0.5 }, { maxCostUsd: 0.9 }, { maxCostUsd: 0.5 }],
  ])("OBS-6 are those of the one that leaves the fewest tokens: %s", async (_, around, own, shown) => {
    const { consumed: _consumed, ...limits } = (await nested(around, own)) as { readonly consumed: unknown };
    expect(limits).toEqual(shown);
  });
});

describe("OBS-7", () => {
  test("OBS-7 the offsets of sections cut out their texts, and between two is an empty line", async () => {
    const observer = watching();
    const secret = "sk-very-secret-12345";
    const prompt = definePrompt({
      key: "sections",
      params: z.object({ key: z.string() }),
      output: z.object({ n: z.number() }),
      outputInstructions: true,
      sections: [
        { key: "intro", title: "Intro", text: "The key is {{key}}.", children: [{ key: "more", text: "More." }] },
        { key: "ask", text: "Go, {{key}}.", role: "user" },
        { key: "empty", text: "" as string },
      ],
    });
    const script = [{ text: '{"n":1}' }];
    await evaluated(script, { observers: [observer], secrets: [secret] }).evaluate(prompt.bind({ key: secret }));
    const [rendered] = observer.seen.events;
    if (rendered?.type !== "prompt.rendered") throw new Error("The prompt was not told.");
    const { text, sections } = rendered;
    const pieces = sections.map(({ start, end }) => text.slice(start, end));
    expect(pieces.join("\n\n")).toBe(text);
    expect(sections.map(({ path, part }) => [path, part])).toEqual([
      ["intro", "section"],
      ["intro.more", "section"],
      ["ask", "section"],
      ["", "output"],
    ]);
    expect(pieces[1]).toBe("More.");
    expect(pieces[2]).toMatch(/^Go, .+\.$/);
    expect(rendered.output).toBe("json");
  });
});

describe("OBS-7 texts that are not the prompt's own", () => {
  test("OBS-7 an override names what it replaced, a text from a slice says so, and nothing else does", async () => {
    const mood = defineSlice({ name: "mood", initial: "sunny", reducers: () => {} });
    const prompt = definePrompt({
      key: "overridden",
      params: z.object({ who: z.string() }),
      sections: [
        { key: "tone", text: "Be brief, {{who}}." },
        { key: "kept", text: "Be kind." },
        { key: "closed", text: "Long.", summary: "Short.", visibility: "summary" },
        { key: "weather", text: "Unknown.", textFrom: (get) => `It is ${get(mood)}.`, slices: [mood] },
      ],
    });
    const { tag, tools, sections } = overrideOf(prompt, "latest");
    const store = memoryOverrides();
    await store.upsert(prompt.descriptor, {
      tag,
      tools,
      sections: {
        tone: { hash: sections["tone"]?.hash ?? "", text: "Be warm, {{who}}." },
        closed: { hash: sections["closed"]?.hash ?? "", summary: "Shorter." },
      },
    });
    const observer = watching();
    await evaluated([{ text: "Done." }], { observers: [observer] }).evaluate(prompt.bind({ who: "Ada" }), {
      overrides: { store },
    });
    const [rendered] = observer.seen.events;
    if (rendered?.type !== "prompt.rendered") throw new Error("The prompt was not shown.");
    expect(rendered.sections.map(({ path, shown, replaced }) => [path, shown, replaced])).toEqual([
      ["tone", "full", "Be brief, {{who}}."],
      ["kept", "full", undefined],
      ["closed", "summary", "Short."],
      ["weather", "state", undefined],
    ]);
    expect(rendered.sections.map(({ start, end }) => rendered.text.slice(start, end).split("\n")[0])).toEqual([
      "Be warm, Ada.",
      "Be kind.",
      "Shorter.",
      "It is sunny.",
    ]);
  });
});

describe("OBS-8", () => {
  test("OBS-8 ran is false for calls whose handler was not begun, and true where it was", async () => {
    const denying = definePolicy({ name: "denying", tools: [writes], check: () => deny("No.") });
    const aborting = new AbortController();
    const aborts = defineTool({
      name: "aborts",
      description: "Aborts.",
      input: z.object({}),
      execute: () => aborting.abort(),
    });
    const calls = [
      { name: "unknown" },
      { name: "note", arguments: { wrong: 1 } },
      writing("a"),
      noting("a"),
      noting("b", true),
      { name: "aborts" },
      noting("late"),
    ];
    const observer = watching();
    const error = await rejection(
      evaluated([{ toolCalls: calls }], { observers: [observer] }).evaluate(notebook(writes, aborts).bind(), {
        policies: [denying],
        signal: aborting.signal,
        resources: files(),
      }),
    );
    expect(error["code"]).toBe("aborted");
    const invoked = observer.seen.events.filter((event) => event.type === "tool.invoked");
    expect(invoked.map(({ name, ran, result }) => [name, ran, result.success])).toEqual([
      ["unknown", false, false],
      ["note", false, false],
      ["write", false, false],
      ["note", true, true],
      ["note", true, false],
      ["aborts", true, false],
    ]);
  });
});

describe("OBS-10", () => {
  test.each<[unknown, string]>([
    [[{}, { event: "x" }], "observers[1] is no observer: event must be a function, not a text."],
    [[undefined], "observers[0] is no observer: it must be an object, not undefined."],
    [["x"], "observers[0] is no observer: it must be an object, not a text."],
    [[{ evnt() {} }], "observers[0] is no observer: it has evnt, and none of event, app, changed, around."],
    [[{ around: 3 }], "observers[0] is no observer: around must be a function, not a number."],
    [{ event() {} }, "The option observers must be a list, not an object."],
  ])("OBS-10 %j is refused when the adapter is made", (observers, message) => {
    expect(() => modelAdapter(scriptedModel([]), { observers: observers as never })).toThrow(message);
  });
});

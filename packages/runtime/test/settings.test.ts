import {
  definePrompt,
  defineTool,
  OptionError,
  ProviderError,
  toolOk,
  type EvaluationSettings,
  type ModelProvider,
} from "@proviso/core";
import { agentAdapter, createSession, modelAdapter } from "@proviso/runtime";
import { scriptedModel, type ScriptedStep } from "@proviso/runtime/testing";
import { describe, expect, test } from "vitest";
import { z } from "zod";

const all = [
  "temperature",
  "topP",
  "maxOutputTokens",
  "stop",
  "seed",
  "reasoning",
  "logprobs",
  "serviceTier",
  "cache",
  "providerOptions",
] as const;

function model(steps: readonly ScriptedStep[], settings: readonly (keyof EvaluationSettings)[] = all) {
  return scriptedModel(steps, { capabilities: { settings } });
}

const ask = definePrompt({ key: "ask", text: "Question." }).bind();

describe("SET-1 settings of one evaluation", () => {
  test("SET-1 a request carries what was set and nothing else", async () => {
    const asked = model([{ text: "a" }, { text: "b" }]);
    const adapter = modelAdapter(asked);
    await adapter.evaluate(ask, { settings: { temperature: 0, stop: ["END"] } });
    await adapter.evaluate(ask);
    expect(asked.requests.map(({ settings }) => settings)).toEqual([{ temperature: 0, stop: ["END"] }, {}]);
  });

  test("SET-1 every turn carries the settings, and a nested evaluation has its own", async () => {
    const inner = definePrompt({ key: "inner", text: "Inner." });
    const nested = defineTool({
      name: "nested",
      description: "Asks again.",
      input: z.object({}),
      execute: async (_, context) => toolOk((await context.evaluate(inner.bind(), { settings: { seed: 7 } })).output),
    });
    const bare = defineTool({
      name: "bare",
      description: "Asks again.",
      input: z.object({}),
      execute: async (_, context) => toolOk((await context.evaluate(inner.bind())).output),
    });
    const outer = definePrompt({
      key: "outer",
      sections: [{ key: "task", text: "Outer.", tools: [nested, bare] }],
    });
    const asked = model([
      { toolCalls: [{ name: "nested" }, { name: "bare" }] },
      { text: "first" },
      { text: "second" },
      { text: "done" },
    ]);
    await modelAdapter(asked).evaluate(outer.bind(), { settings: { temperature: 1 } });
    expect(asked.requests.map(({ settings }) => settings)).toEqual([
      { temperature: 1 },
      { seed: 7 },
      {},
      { temperature: 1 },
    ]);
  });

  test("SET-1 an evaluation that goes on has its own settings, also while it is streamed", async () => {
    const asked = model([{ text: "a" }, { text: "b" }]);
    const adapter = modelAdapter(asked);
    const first = await adapter.evaluate(ask, { settings: { temperature: 1 } });
    await adapter.stream(ask, { continueFrom: first, settings: { topP: 0.5 } }).response;
    expect(asked.requests.map(({ settings }) => settings)).toEqual([{ temperature: 1 }, { topP: 0.5 }]);
  });

  test("SET-1 what is changed after the call has begun does not reach the request", async () => {
    const asked = model([{ text: "a" }]);
    const settings = { stop: ["END"] };
    const evaluating = modelAdapter(asked).evaluate(ask, { settings });
    settings.stop.push("later");
    await evaluating;
    expect(asked.requests[0]?.settings).toEqual({ stop: ["END"] });
  });
});

describe("SET-2 refusals", () => {
  test.each<[string, object]>([
    ["a hole in stop", { stop: [, "a"] }], // oxlint-disable-line no-sparse-arrays
    ["half a surrogate pair in stop", { stop: ["\ud800"] }],
    ["half a surrogate pair in the key of the cache", { cache: { key: "\ud800" } }],
    ["half a surrogate pair in the tier", { serviceTier: "\udc00" }],
    ["a function in providerOptions", { providerOptions: { scripted: { f: () => 1 } } }],
    ["a Map in providerOptions", { providerOptions: { scripted: { map: new Map() } } }],
  ])("SET-2 ERR-1 %s is an option's error, and nothing is sent", async (_, settings) => {
    const asked = model([], all);
    const evaluating = modelAdapter(asked).evaluate(ask, { settings });
    await expect(evaluating).rejects.toMatchObject({ code: "option" });
    expect(asked.callCount).toBe(0);
  });

  test.each(all.filter((name) => name !== "providerOptions"))(
    "SET-2 a model that does not list %s refuses it before anything is sent",
    async (name) => {
      const values: Required<EvaluationSettings> = {
        temperature: 1,
        topP: 1,
        maxOutputTokens: 10,
        stop: ["x"],
        seed: 1,
        reasoning: { effort: "low" },
        logprobs: 0,
        serviceTier: "flex",
        cache: "auto",
        providerOptions: {},
      };
      const asked = model(
        [],
        all.filter((other) => other !== name),
      );
      const session = createSession();
      const events: string[] = [];
      session.on("*", ({ type }) => void events.push(type));
      const error: unknown = await modelAdapter(asked)
        .evaluate(ask, { session, settings: { [name]: values[name] } })
        .catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(ProviderError);
      expect(error).toMatchObject({ phase: "request", reason: "bad_request" });
      expect((error as Error).message).toContain(`scripted does not take the setting ${name}.`);
      expect(asked.callCount).toBe(0);
      expect(events).toEqual(["prompt.rendered", "prompt.failed"]);
    },
  );

  test("SET-2 a value that the model cannot keep is refused with the model's reason", async () => {
    const asked = scriptedModel([], {
      capabilities: {
        settings: ["cache"],
        refusesSetting: ({ cache }) =>
          typeof cache === "object" && cache.ttl === "12h" ? { setting: "cache", why: "It keeps 5m." } : undefined,
      },
    });
    const evaluating = modelAdapter(asked).evaluate(ask, { settings: { cache: { ttl: "12h" } } });
    await expect(evaluating).rejects.toMatchObject({
      code: "provider",
      reason: "bad_request",
      message: expect.stringContaining("scripted cannot keep the setting cache: It keeps 5m."),
    });
    expect(asked.callCount).toBe(0);
  });

  test("SET-2 an agent refuses what it does not list and is given what it lists", async () => {
    const given: (EvaluationSettings | undefined)[] = [];
    const agent = agentAdapter({
      name: "agent",
      model: "agent-1",
      capabilities: { settings: ["seed"] },
      async drive({ settings }) {
        given.push(settings);
        return { message: { role: "assistant", text: "ok", toolCalls: [] }, finishReason: "stop" };
      },
    });
    await agent.evaluate(ask, { settings: { seed: 3 } });
    await expect(agent.evaluate(ask, { settings: { topP: 1 } })).rejects.toThrow(
      "agent does not take the setting topP. It takes seed.",
    );
    expect(given).toEqual([{ seed: 3 }]);
  });

  test.each([
    [{ temperature: 2.1 }, "settings.temperature must be a number from 0 to 2"],
    [{ topP: Number.NaN }, "settings.topP must be a number from 0 to 1"],
    [{ maxOutputTokens: 0 }, "settings.maxOutputTokens must be a whole number, at least 1"],
    [{ maxOutputTokens: 1.5 }, "settings.maxOutputTokens must be a whole number"],
    [{ stop: [] }, "settings.stop must be a list of 1 to 16 well-formed texts"],
    [{ stop: [""] }, "settings.stop must be a list of 1 to 16 well-formed texts"],
    [{ stop: Array.from({ length: 17 }, () => "x") }, "well-formed texts, none of them empty, not a list of 17."],
    [{ seed: 0.5 }, "settings.seed must be a whole number"],
    [{ reasoning: { effort: "huge" } }, 'settings.reasoning.effort must be "none", "minimal"'],
    [{ reasoning: { sumary: "auto" } }, "Did you mean summary?"],
    [{ logprobs: 21 }, "settings.logprobs must be a whole number from 0 to 20"],
    [{ serviceTier: "" }, "settings.serviceTier must be a well-formed text"],
    [{ cache: "always" }, 'settings.cache must be "auto" or an object'],
    [{ cache: { ttl: "2h" } }, 'settings.cache.ttl must be "5m", "30m", "1h", "12h"'],
    [{ cache: { key: "" } }, "settings.cache.key must be a well-formed text"],
    [{ cache: { breakpoints: 1 } }, "settings.cache.breakpoints must be true or false"],
    [{ providerOptions: { other: { at: 1n } } }, "settings.providerOptions must be plain JSON"],
    [{ temprature: 1 }, "Did you mean temperature?"],
  ])("SET-2 %o is refused as an option", async (settings, message) => {
    const asked = model([]);
    const error: unknown = await modelAdapter(asked)
      .evaluate(ask, { settings: settings as EvaluationSettings })
      .catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(OptionError);
    expect((error as Error).message).toContain(message);
    expect((error as Error).cause).toMatchObject({ code: "definition" });
    expect(asked.callCount).toBe(0);
  });
});

describe("SET-3 the length of an answer", () => {
  test("SET-3 a budget reserves maxOutputTokens, so that as many evaluations run as have room", async () => {
    let running = 0;
    let most = 0;
    const slow: ModelProvider = {
      name: "slow",
      model: "slow-1",
      maxOutputTokens: 1_000,
      capabilities: { tools: false, nativeOutput: false, outputLimit: { least: 1 }, settings: ["maxOutputTokens"] },
      async generate() {
        most = Math.max(most, ++running);
        await new Promise((resolve) => setTimeout(resolve, 5));
        running -= 1;
        const usage = { inputTokens: 10, outputTokens: 1 };
        return { message: { role: "assistant", text: "a", toolCalls: [] }, finishReason: "stop", usage };
      },
    };
    const adapter = modelAdapter(slow);
    const atOnce = async (settings: EvaluationSettings): Promise<number> => {
      most = 0;
      const { trackBudget } = await import("@proviso/core");
      const budget = trackBudget({ maxOutputTokens: 1_000 });
      await Promise.all(Array.from({ length: 4 }, () => adapter.evaluate(ask, { budget, settings })));
      return most;
    };
    expect(await atOnce({})).toBe(1);
    expect(await atOnce({ maxOutputTokens: 250 })).toBe(4);
  });

  test("SET-3 what a budget has left bounds the answer too, and only where it is less", async () => {
    const asked = model([{ text: "a" }, { text: "a" }]);
    const adapter = modelAdapter(asked);
    await adapter.evaluate(ask, { budget: { maxOutputTokens: 100 }, settings: { maxOutputTokens: 50 } });
    await adapter.evaluate(ask, { budget: { maxOutputTokens: 100 }, settings: { maxOutputTokens: 500 } });
    expect(asked.requests.map(({ maxOutputTokens }) => maxOutputTokens)).toEqual([undefined, 100]);
  });
});

test("SET-4 options of other providers are passed over by a model that takes none", async () => {
  const asked = model([{ text: "a" }], []);
  const settings = { providerOptions: { other: { mode: "x" } } } as EvaluationSettings;
  const { output } = await modelAdapter(asked).evaluate(ask, { settings });
  expect(output).toBe("a");
});

test.each(["evaluate", "stream"] as const)(
  "SET-5 log probabilities, tier and model are on the response and on provider.responded: %s",
  async (how) => {
    const logprobs = [{ token: "a", logprob: -0.1, top: [{ token: "b", logprob: -2 }] }];
    const answering: ModelProvider = {
      name: "answering",
      model: "small",
      capabilities: { tools: false, nativeOutput: false, settings: ["logprobs"] },
      async generate({ onDelta }) {
        onDelta?.({ kind: "text", text: "a" });
        const message = { role: "assistant", text: "a", toolCalls: [] } as const;
        return { message, finishReason: "stop", model: "small-2026", serviceTier: "flex", logprobs };
      },
    };
    const session = createSession();
    const responded: unknown[] = [];
    session.on("provider.responded", (event) => void responded.push(event));
    const adapter = modelAdapter(answering);
    const options = { session, settings: { logprobs: 1 } };
    const response = how === "evaluate" ? adapter.evaluate(ask, options) : adapter.stream(ask, options).response;
    const told = { model: "small-2026", serviceTier: "flex", logprobs };
    expect(await response).toMatchObject(told);
    expect(responded).toMatchObject([told]);
  },
);

test("SET-5 log probabilities that are none are left out", async () => {
  const answering: ModelProvider = {
    name: "answering",
    model: "small",
    capabilities: { tools: false, nativeOutput: false },
    generate: async () => ({
      message: { role: "assistant", text: "a", toolCalls: [] },
      finishReason: "stop",
      serviceTier: 5 as never,
      logprobs: [{ token: "a" }] as never,
    }),
  };
  const response = await modelAdapter(answering).evaluate(ask);
  expect(response).not.toHaveProperty("logprobs");
  expect(response).not.toHaveProperty("serviceTier");
});

describe("CCH marks and keys in requests", () => {
  const cached = definePrompt({
    ns: "shop",
    key: "cached",
    sections: [
      { key: "rules", title: "Rules", text: "Be brief.", cached: true, children: [{ key: "more", text: "Be kind." }] },
      { key: "rest", text: "Be quick." },
      { key: "facts", role: "user", text: "Facts.", cached: true },
      { key: "task", role: "user", text: "Task." },
    ],
  });

  test("CCH-1 without cache no message has a mark", async () => {
    const asked = model([{ text: "a" }]);
    await modelAdapter(asked).evaluate(cached.bind());
    expect(asked.requests[0]?.messages.map((message) => Object.keys(message))).toEqual([
      ["role", "text"],
      ["role", "text"],
    ]);
  });

  test("CCH-2 breakpoints false sets no marks", async () => {
    const asked = model([{ text: "a" }]);
    await modelAdapter(asked).evaluate(cached.bind(), { settings: { cache: { breakpoints: false } } });
    expect(asked.requests[0]?.messages.some((message) => "cacheAt" in message)).toBe(false);
  });

  test("CCH-3 a mark stands behind a cached section and all that is below it", async () => {
    const asked = model([{ text: "a" }]);
    const { messages } = await modelAdapter(asked).evaluate(cached.bind(), { settings: { cache: "auto" } });
    const [system, user] = asked.requests[0]?.messages ?? [];
    const pieces = (message: typeof system): readonly string[] | undefined => {
      if (message === undefined || !("cacheAt" in message)) return undefined;
      const [at = 0] = message.cacheAt ?? [];
      return [message.text.slice(0, at), message.text.slice(at)];
    };
    expect(pieces(system)).toEqual(["## 1. Rules\n\nBe brief.\n\nBe kind.", "\n\nBe quick."]);
    expect(pieces(user)).toEqual(["Facts.", "\n\nTask."]);
    expect(messages[0]).toEqual({ role: "user", text: "Facts.\n\nTask.", cacheAt: [6] });
  });

  test("CCH-3 without a user section the marks are the user's", async () => {
    const prompt = definePrompt({
      key: "alone",
      sections: [
        { key: "a", text: "One.", cached: true },
        { key: "b", text: "Two." },
      ],
    });
    const asked = model([{ text: "a" }]);
    await modelAdapter(asked).evaluate(prompt.bind(), { settings: { cache: "auto" } });
    expect(asked.requests[0]?.messages).toEqual([{ role: "user", text: "One.\n\nTwo.", cacheAt: [4] }]);
  });

  test("CCH-4 the key is the prompt's name unless one is given", async () => {
    const asked = model([{ text: "a" }, { text: "b" }]);
    const adapter = modelAdapter(asked);
    await adapter.evaluate(cached.bind(), { settings: { cache: "auto" } });
    await adapter.evaluate(cached.bind(), { settings: { cache: { key: "mine", ttl: "1h" } } });
    expect(asked.requests.map(({ settings }) => settings?.cache)).toEqual([
      { key: "shop/cached" },
      { key: "mine", ttl: "1h" },
    ]);
  });
});

describe("CCH-5 what a cache costs", () => {
  test("CCH-5 written and cached tokens are summed, and are never more than the input", async () => {
    const asked = model([
      { toolCalls: [{ name: "none" }], usage: { inputTokens: 100, outputTokens: 1, cacheWriteTokens: 90 } },
      { text: "b", usage: { inputTokens: 100, outputTokens: 1, cachedInputTokens: 80, cacheWriteTokens: 70 } },
    ]);
    const { usage } = await modelAdapter(asked).evaluate(ask);
    expect(usage).toMatchObject({ inputTokens: 200, cachedInputTokens: 80, cacheWriteTokens: 110 });
  });

  test("CCH-5 each has its own price", async () => {
    const asked = model([
      {
        text: "a",
        usage: { inputTokens: 1_000, outputTokens: 0, cachedInputTokens: 600, cacheWriteTokens: 300 },
      },
    ]);
    const pricing = { input: 10, output: 20, cachedInput: 1, cacheWrite: 12.5 };
    const { usage } = await modelAdapter(asked, { pricing }).evaluate(ask);
    expect(usage.costUsd).toBeCloseTo((100 * 10 + 600 * 1 + 300 * 12.5) / 1e6, 12);
  });
});

import {
  deadlineIn,
  definePrompt,
  defineTool,
  errorReason,
  Filesystem,
  InternalError,
  isEvaluationFailure,
  provide,
  toolError,
  toolOk,
} from "@proviso/core";
import { describeValue, toJsonValue } from "@proviso/core/internal";
import { createSession, memoryFilesystem, modelAdapter } from "@proviso/runtime";
import { fakeClock, recordEvents, scriptedModel } from "@proviso/runtime/testing";
import { expect, inject, test } from "vitest";
import { z } from "zod";
import { call, promptWith, rejection } from "../support.ts";
import { hostileValues } from "./hostile.ts";

test.each(Object.entries(hostileValues))("ERR-3 %s can be shown, sorted and asked for its JSON", (_, make) => {
  expect(describeValue(make())).toEqual(expect.any(String));
  expect(isEvaluationFailure(make())).toBe(false);
  expect(errorReason(make())).toBeUndefined();
  expect(() => toJsonValue(make())).not.toThrow();
});

const half = "x".repeat(9 * 1024 * 1024);
const nested = (levels: number): unknown => (levels === 0 ? "end" : [nested(levels - 1)]);

test.each<[string, () => unknown, string | RegExp]>([
  ["too large together", () => [half, half], /larger than 16777216 characters/],
  ["too large and deep", () => [nested(200), half, half], /larger than 16777216 characters/],
  ["one text that is too large", () => half + half, /larger than 16777216 characters/],
  [
    "a list of very many items",
    () => Array.from({ length: 2 ** 20 + 1 }, () => null),
    /larger than 16777216 characters/,
  ],
  ["nested too deep", () => nested(2_600), /lies too deep/],
  ["an Error", () => new TypeError("it is returned"), "it is returned"],
  ["a Map", () => new Map([["a", 1]]), /is a Map/],
  ["a Set within", () => ({ of: [new Set([1])] }), /of\[0\] is a Set/],
  ["a RegExp", () => /x/u, /is a RegExp/],
])("TOOL-4 a value that is %s is a failed result, and the call is undone", async (_, make, message) => {
  const files = memoryFilesystem();
  const make_ = defineTool({
    name: "make",
    description: "Makes.",
    input: z.object({}),
    async execute(_input, { resources }) {
      await resources.get(Filesystem).write("trace.txt", "x");
      return make();
    },
  });
  const model = scriptedModel([{ toolCalls: [call("make")] }, { text: "done" }]);
  const resources = [provide(Filesystem, files)];
  const { toolResults } = await modelAdapter(model).evaluate(promptWith(make_), { resources });
  const result = toolResults[0]?.result;
  expect(result?.success).toBe(false);
  expect(result?.message).toMatch(message);
  expect(await files.glob("**")).toEqual([]);
});

// It needs four gigabytes.
test.runIf(inject("exhaustive"))(
  "TOOL-5 a message that is longer than a string may become is cut, whatever stands beside it",
  async () => {
    const longest = 2 ** 29 - 24;
    const tools = [
      defineTool({
        name: "well",
        description: "d",
        input: z.object({}),
        execute: () => toolOk("end", { message: "y".repeat(longest) }),
      }),
      defineTool({
        name: "badly",
        description: "d",
        input: z.object({}),
        execute: () => toolError("z".repeat(longest)),
      }),
    ];
    const model = scriptedModel([{ toolCalls: [call("well"), call("badly")] }, { text: "done" }]);
    const { messages } = await modelAdapter(model).evaluate(promptWith(...tools));
    const texts = messages.filter(({ role }) => role === "tool").map(({ text }) => text);
    expect(texts.map((text) => text.length < 66_000 && text.includes(String(longest).slice(0, 6)))).toEqual([
      true,
      true,
    ]);
    expect(texts[0]?.endsWith("y\n\nend")).toBe(true);
  },
);

test("ERR-7 PRO-5 a field of an answer is not taken for a failure of ours", async () => {
  const answer = { message: { role: "assistant", text: "hi", toolCalls: [] }, finishReason: "stop", refusal: null };
  const model = { ...scriptedModel([]), generate: () => Promise.resolve({ ...answer, stop: "aborted" } as never) };
  expect((await modelAdapter(model).evaluate(promptWith())).output).toBe("hi");
});

test("ERR-7 what throws outside every step is an InternalError with cause, usage, messages and prompt.failed", async () => {
  const boom = new Error("boom");
  let asked = 0;
  const session = createSession();
  const events = recordEvents(session);
  const budget = {
    budget: { maxTotalTokens: 1e9 },
    consumed: {
      inputTokens: 0,
      outputTokens: 0,
      totalTokens: 0,
      cachedInputTokens: 0,
      cacheWriteTokens: 0,
      reasoningTokens: 0,
      estimated: false,
    },
    remaining: () => ({ totalTokens: 1e9, inputTokens: 1e9, outputTokens: 1e9, costUsd: 1e9 }),
    exceeded(): undefined {
      if (++asked > 1) throw boom;
    },
    reserve: () => ({ settle: () => {} }),
  };
  const model = scriptedModel([{ text: "done" }]);
  const error = await rejection(modelAdapter(model).evaluate(promptWith(), { session, budget }));
  expect(error).toBeInstanceOf(InternalError);
  expect(error).toMatchObject({ code: "internal", phase: "request", cause: boom, promptName: "tests/prompt" });
  expect(error).toMatchObject({ usage: { totalTokens: expect.any(Number) }, messages: [{ role: "user" }] });
  expect(errorReason(error)).toBe("internal_error");
  expect(events.at(-1)).toMatchObject({ type: "prompt.failed", code: "internal" });
});

test("LIM-1 SEC-3 a deadline with the moment of another library is refused, and one that throws has passed", async () => {
  const end = Date.now() + 20;
  const moment = { valueOf: () => end } as unknown as Date;
  const deadline = { expiresAt: moment, remainingMs: () => end - Date.now() };
  for (const options of [{ deadline }, { budget: { maxTotalTokens: 5, deadline } }]) {
    const error = await rejection(modelAdapter(scriptedModel([{ text: "x" }])).evaluate(promptWith(), options));
    expect(error).toMatchObject({ code: "option", message: expect.stringContaining("deadlineIn(milliseconds)") });
  }
  const clock = fakeClock();
  const thrown = {
    ...deadlineIn(50, clock),
    remainingMs: () => {
      throw new Error("no");
    },
  };
  const late = modelAdapter(scriptedModel([{ text: "x" }]), { clock }).evaluate(promptWith(), { deadline: thrown });
  expect(await rejection(late)).toMatchObject({ code: "deadline" });
});

test.each(Object.entries(hostileValues))(
  "ERR-7 STR-5 %s as prompt or options is a failure, streamed or not",
  async (name, make) => {
    const adapter = modelAdapter(scriptedModel([{ text: "done" }, { text: "done" }]));
    const prompt = definePrompt({ key: "p", text: "t" }).bind();
    // Nothing is no option, and these have none.
    const harmless = [
      "nothing",
      "an error",
      "an object",
      "a failure",
      "a thenable",
      "a then",
      "a toJSON",
      "a Map",
      "a getter",
    ];
    const isHarmless = harmless.some((start) => name.startsWith(start));
    const options = [
      () => adapter.evaluate(prompt, make() as never),
      () => adapter.stream(prompt, make() as never).response,
    ];
    if (!isHarmless) for (const begin of options) expect(await rejection(begin())).toSatisfy(isEvaluationFailure);
    for (const begin of [() => adapter.evaluate(make() as never), () => adapter.stream(make() as never).response]) {
      expect(await rejection(begin())).toSatisfy(isEvaluationFailure);
    }
  },
);

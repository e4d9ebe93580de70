import { DefinitionError, deadlineAt, ProviderError, trackBudget, type ProviderAdapter } from "@proviso/core";
import { definePrimitive } from "@proviso/primitive";
import { createSession, modelAdapter } from "@proviso/runtime";
import { fakeClock, failingModel, recordEvents, scriptedModel } from "@proviso/runtime/testing";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { classifier, failed, label, refused, systemPrompt, withoutNativeOutput } from "./support.ts";

const good = { output: { label: "good" } };

describe("BLK-5 a success", () => {
  test("BLK-5 has the data, the answer behind it and what it cost", async () => {
    const { primitive } = classifier([good]);
    const result = await primitive.run("A fine day.");
    expect(result).toMatchObject({
      success: true,
      data: { label: "good" },
      attempts: 1,
      usage: { inputTokens: 10, outputTokens: 5, totalTokens: 15 },
      response: { model: "scripted-model", provider: "scripted", turns: 1 },
    });
    expect(Object.isFrozen(result)).toBe(true);
  });

  test("BLK-5 lists and values are data too", async () => {
    const adapter = modelAdapter(scriptedModel([{ text: '{"items":[1,2]}' }]));
    const primitive = definePrimitive({ name: "numbers", systemPrompt, output: z.array(z.number()), adapter });
    expect(await primitive.run("1, 2")).toMatchObject({ success: true, data: [1, 2] });
  });
});

describe("BLK-6 a failure is a result", () => {
  test.each([
    ["api_key", "api_key_error"],
    ["context_length", "context_length_error"],
    ["bad_request", "bad_request_error"],
    ["not_found", "not_found_error"],
    ["content_filter", "content_filter_error"],
  ] as const)("BLK-6 %s is a ProviderError with the reason %s", async (reason, expected) => {
    const { primitive } = classifier([refused(reason)]);
    const result = failed(await primitive.run("A fine day."));
    expect(result).toMatchObject({ success: false, errorType: "ProviderError", reason: expected, attempts: 1 });
    expect(result.error).toBeInstanceOf(ProviderError);
  });

  test.each([42, null, undefined, {}, ["text"], Symbol("s"), () => "text", "", " \n\t"])(
    "BLK-6 the payload %o is refused before anything is asked",
    async (payload) => {
      const { primitive, model } = classifier([]);
      const result = failed(await primitive.run(payload as string));
      expect(result).toMatchObject({ errorType: "PromptRenderError", reason: "render_error" });
      expect(result.error.message).toContain("payload: must be a text");
      expect(result.error.cause).toBeInstanceOf(DefinitionError);
      expect(model.callCount).toBe(0);
    },
  );

  const foreign = (evaluate: () => never) => {
    const adapter: ProviderAdapter = { ...modelAdapter(scriptedModel([])), evaluate };
    return definePrimitive({ name: "classify", systemPrompt, output: label, adapter });
  };

  test.each([new Error("Oops."), "Oops.", undefined])(
    "BLK-6 what a foreign adapter throws does not escape: %o",
    async (error) => {
      const primitive = foreign(() => {
        throw error;
      });
      const result = failed(await primitive.run("A fine day."));
      expect(result).toMatchObject({ errorType: "ProviderError", reason: "unknown_error" });
      expect(result.error.cause).toBe(error);
    },
  );

  test.each([undefined, null, "Hello.", {}, { usage: null, output: 1 }])(
    "BLK-6 nor does what it returns in place of a response: %o",
    async (response) => {
      const result = failed(await foreign(() => response as never).run("A fine day."));
      expect(result).toMatchObject({ errorType: "ProviderError", reason: "unknown_error" });
    },
  );

  test("BLK-6 an output schema that throws is a schema_error", async () => {
    const output = z.string().refine(() => {
      throw new Error("The schema broke.");
    });
    const adapter = modelAdapter(scriptedModel([{ text: '"a"' }, { text: '"a"' }]));
    const primitive = definePrimitive({ name: "broken", systemPrompt, output, adapter });
    expect(await primitive.run("A fine day.")).toMatchObject({ success: false, reason: "schema_error" });
  });

  test.each([
    [{ budget: { maxTotalTokens: 0 } }, "maxTotalTokens"],
    [null, "null"],
    [{ budjet: { maxTotalTokens: 1 } }, "run has no option budjet. Did you mean budget?"],
  ])("BLK-6 the run options %o are refused as a result", async (options, message) => {
    const { primitive } = classifier([]);
    const result = failed(await primitive.run("A fine day.", options as object));
    expect(result.reason).toBe("render_error");
    expect(result.error.message).toContain(message);
  });
});

describe("BLK-7 two roles", () => {
  test("BLK-7 the system prompt is the system message, the payload the user's", async () => {
    const { primitive, model } = classifier([good]);
    await primitive.run("A fine day.");
    expect(model.requests[0]?.messages).toEqual([
      { role: "system", text: systemPrompt },
      { role: "user", text: "A fine day." },
    ]);
    expect(model.requests[0]?.output?.schema).toMatchObject({ type: "object" });
  });

  test("BLK-7 without native output the schema stands below the system prompt, never in the payload", async () => {
    const model = withoutNativeOutput([good]);
    const { primitive } = classifier([], {}, model);
    expect(await primitive.run("A fine day.")).toMatchObject({ success: true, data: { label: "good" } });
    const [system, user] = model.requests[0]?.messages ?? [];
    expect(system?.text.startsWith(`${systemPrompt}\n\n`)).toBe(true);
    expect(system?.text).toContain("JSON Schema");
    expect(system?.text).toContain('"good"');
    expect(user).toEqual({ role: "user", text: "A fine day." });
    expect(model.requests[0]?.output).toBeUndefined();
  });
});

describe("BLK-13 the provisos of a run", () => {
  test("BLK-13 an abort, a deadline and a budget are results", async () => {
    const { primitive, model } = classifier([good, good]);
    expect(await primitive.run("A.", { signal: AbortSignal.abort() })).toMatchObject({ reason: "aborted_error" });
    const deadline = deadlineAt(new Date(0), fakeClock());
    expect(await primitive.run("A.", { deadline })).toMatchObject({ reason: "deadline_error" });
    expect(model.callCount).toBe(0);
    const budget = { maxTotalTokens: 1 };
    expect(await primitive.run("A.", { budget })).toMatchObject({ reason: "budget_error", usage: { totalTokens: 0 } });
    expect(model.callCount).toBe(0);
  });

  test("BLK-13 a tracker is shared by runs, and the session receives their events", async () => {
    const large = { ...good, usage: { inputTokens: 600, outputTokens: 10 } };
    const { primitive } = classifier([large, large]);
    const budget = trackBudget({ maxTotalTokens: 1_000 });
    const session = createSession();
    const events = recordEvents(session);
    expect(await primitive.run("A.", { budget, session })).toMatchObject({ success: true });
    expect(await primitive.run("B.", { budget, session })).toMatchObject({ reason: "budget_error" });
    expect(budget.consumed.totalTokens).toBe(1_220);
    expect(events.map(({ type }) => type).filter((type) => type.startsWith("prompt."))).toEqual([
      "prompt.rendered",
      "prompt.executed",
      "prompt.rendered",
      "prompt.failed",
    ]);
    expect(events[0]).toMatchObject({ promptName: "classify" });
  });

  test("BLK-13 all attempts of a run spend from one budget", async () => {
    const failure = { failure: "process", exitCode: 1, signal: null, stderr: "", message: "It ended." } as const;
    const usage = { inputTokens: 300, outputTokens: 300 };
    const { primitive, model } = classifier(
      [],
      {
        recovery: [{ on: ["ProcessError"], recover: () => ({ retry: "again" }) }],
      },
      scriptedModel([
        { ...failure, usage },
        { ...failure, usage },
        { ...failure, usage },
      ]),
    );
    const result = failed(await primitive.run("A.", { budget: { maxTotalTokens: 1_000 } }));
    expect(result).toMatchObject({ reason: "budget_error", attempts: 3, usage: { totalTokens: 1_200 } });
    expect(model.callCount).toBe(2);
  });

  test("BLK-13 runs at the same time do not see each other", async () => {
    const model = scriptedModel(
      Array.from({ length: 20 }, () => (request) => ({
        output: { label: request.messages.at(-1)?.text === "A good one." ? "good" : "bad" },
        afterMs: 1,
      })),
    );
    const primitive = definePrimitive({ name: "classify", systemPrompt, output: label, adapter: modelAdapter(model) });
    const payloads = Array.from({ length: 20 }, (_, i) => (i % 3 === 0 ? "A good one." : "A bad one."));
    const results = await Promise.all(payloads.map((payload) => primitive.run(payload)));
    expect(results.map((result) => result.success && result.data.label)).toEqual(
      payloads.map((payload) => (payload === "A good one." ? "good" : "bad")),
    );
    for (const { messages } of model.requests) expect(messages).toHaveLength(2);
  });
});

test("BLK-6 a network that is down is a result after the retries", async () => {
  const adapter = modelAdapter(failingModel(new TypeError("fetch failed")), { throttle: { maxAttempts: 1 } });
  const primitive = definePrimitive({ name: "classify", systemPrompt, output: label, adapter });
  expect(await primitive.run("A.")).toMatchObject({ errorType: "ThrottleError", reason: "unknown_error" });
});

describe("BLK-6 run never rejects, whatever an adapter of other making does", () => {
  const revoked = (): object => {
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();
    return proxy;
  };
  const throwing = (name: string): object => ({
    get [name](): never {
      throw new Error("a getter");
    },
  });
  const usage = { inputTokens: 1, outputTokens: 1, totalTokens: 2 };
  const primitiveOver = (evaluate: () => unknown, more: object = {}) => {
    const adapter = { ...modelAdapter(scriptedModel([])), evaluate: async () => evaluate() } as ProviderAdapter;
    return definePrimitive({ name: "classify", systemPrompt, output: label, adapter, ...more });
  };
  const toThrow = (thrown: unknown) => (): never => {
    throw thrown;
  };

  test.each([
    ["throws a revoked proxy", toThrow(revoked())],
    [
      "throws an error whose message throws",
      toThrow(Object.defineProperties(new Error("x"), Object.getOwnPropertyDescriptors(throwing("message")))),
    ],
    ["answers with an output that throws", () => ({ usage, ...Object.create(null), __proto__: throwing("output") })],
  ])("BLK-6 an adapter that %s", async (_, evaluate) => {
    expect(failed(await primitiveOver(evaluate).run("x"))).toMatchObject({ reason: "unknown_error" });
  });

  test.each([
    ["bigints", { inputTokens: 1n, outputTokens: 1n }],
    ["NaN", { inputTokens: Number.NaN }],
    ["getters that throw", throwing("inputTokens")],
    ["a revoked proxy", revoked()],
  ])("BLK-6 a usage of %s counts as an estimate", async (_, given) => {
    const result = await primitiveOver(() => ({ output: { label: "good" }, usage: given })).run("x");
    expect(result).toMatchObject({ success: true, usage: { inputTokens: 0, totalTokens: 0, estimated: true } });
  });

  test("BLK-6 a recovery policy that throws a revoked proxy", async () => {
    const recovery = [{ on: ["render_error"], recover: toThrow(revoked()) }];
    const result = failed(await primitiveOver(() => ({}), { recovery }).run(""));
    expect(result.recoveryError?.message).toBe("recovery[0] failed: It threw a revoked proxy.");
  });
});

import { DefinitionError, type ModelFailure } from "@proviso/core";
import { definePrimitive, type RecoveryDecision, type RecoveryPolicy, type RunOptions } from "@proviso/primitive";
import { createSession, modelAdapter } from "@proviso/runtime";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { classifier, failed, neverAsked, type label } from "./support.ts";

type Label = z.infer<typeof label>;
type Policy = RecoveryPolicy<Label>;

const good = { output: { label: "good" } };
const ended: ModelFailure = { failure: "process", exitCode: 1, signal: null, stderr: "", message: "It ended." };
const policy = (on: Policy["on"], recover: Policy["recover"]): Policy => ({ on, recover });
const notAText = 42 as unknown as string;

describe("BLK-11 recovery", () => {
  test.each(["PromptRenderError", "render_error"] as const)("BLK-11 by %s: another payload", async (name) => {
    const recover: Policy["recover"] = (_, payload) => ({ retry: `The number ${String(payload)}.` });
    const { primitive, model } = classifier([good], { recovery: [policy([name], recover)] });
    expect(await primitive.run(notAText)).toMatchObject({ success: true, data: { label: "good" }, attempts: 2 });
    expect(model.lastPrompt).toBe("The number 42.");
  });

  test("BLK-11 with data, which is the answer", async () => {
    const data: Label = { label: "bad" };
    const { primitive, model } = classifier([], { recovery: [policy(["render_error"], () => ({ data }))] });
    const result = await primitive.run("");
    expect(result).toMatchObject({ success: true, data, response: undefined, attempts: 1 });
    expect(model.callCount).toBe(0);
  });

  test("BLK-11 data is what the schema takes, as a model would have answered it", async () => {
    const primitive = definePrimitive({
      name: "count",
      systemPrompt: "Count.",
      output: z.object({ count: z.string().transform(Number), unit: z.string().default("pieces") }),
      adapter: modelAdapter(neverAsked),
      recovery: [{ on: ["render_error"], recover: () => ({ data: { count: "5" } }) }],
    });
    expect(await primitive.run("")).toMatchObject({ success: true, data: { count: 5, unit: "pieces" } });
  });

  test.each([{ deadline: 5 }, { session: {} }, { budget: { maxTokens: 3 } }, { expect: {} }])(
    "BLK-11 BLK-6 %o of a run, which can never do, is not recovered from",
    async (options) => {
      const recovery = [policy(["render_error"], () => ({ data: { label: "bad" } }))];
      const { primitive, model } = classifier([good], { recovery });
      expect(await primitive.run("A fine day.", options as unknown as RunOptions)).toMatchObject({
        success: false,
        recoveryError: undefined,
      });
      expect(model.callCount).toBe(0);
    },
  );

  test("BLK-11 a command that ended badly", async () => {
    const recovery = [policy(["process_error"], () => ({ retry: "Once more." }))];
    const { primitive } = classifier([ended, good], { recovery });
    expect(await primitive.run("A fine day.")).toMatchObject({ success: true, attempts: 2 });
  });

  test("BLK-11 a listener that threw: what was paid for is not lost", async () => {
    const session = createSession();
    session.on("prompt.executed", () => {
      throw new Error("The listener broke.");
    });
    const answer: Policy["recover"] = (error) =>
      error.code === "listener" ? { data: error.response.output as Label } : "bubble";
    const { primitive } = classifier([good, good], { recovery: [policy(["ListenerError"], answer)] });
    const result = await primitive.run("A fine day.", { session });
    expect(result).toMatchObject({ success: true, data: { label: "good" }, usage: { totalTokens: 15 } });
  });

  test("BLK-11 policies are asked in order, and the first that does not bubble wins", async () => {
    const asked: string[] = [];
    const saying = (name: string, on: Policy["on"], decision: RecoveryDecision<Label>) =>
      policy(on, () => {
        asked.push(name);
        return decision;
      });
    const recovery = [
      saying("other", ["process_error", "listener_error"], { data: { label: "good" } }),
      saying("first", ["render_error"], "bubble"),
      saying("second", ["ProcessError", "PromptRenderError"], { data: { label: "bad" } }),
      saying("third", ["render_error"], { data: { label: "good" } }),
    ];
    const { primitive } = classifier([], { recovery });
    expect(await primitive.run(notAText)).toMatchObject({ success: true, data: { label: "bad" } });
    expect(await primitive.run(notAText)).toMatchObject({ success: true, data: { label: "bad" } });
    expect(asked).toEqual(["first", "second", "first", "second"]);
  });

  test("BLK-11 when all bubble it is the failure that it was", async () => {
    const { primitive } = classifier([], { recovery: [policy(["render_error"], () => "bubble")] });
    expect(failed(await primitive.run(notAText))).toMatchObject({ reason: "render_error", recoveryError: undefined });
  });
});

describe("BLK-12 recovery is bounded", () => {
  test.each([
    [undefined, 3],
    [0, 0],
    [7, 7],
  ])("BLK-12 maxRecoveries of %o is %o retries", async (maxRecoveries, retries) => {
    const attempts: number[] = [];
    const recover: Policy["recover"] = (_error, _payload, attempt) => {
      attempts.push(attempt);
      return { retry: "" };
    };
    const { primitive, model } = classifier([], { recovery: [policy(["render_error"], recover)], maxRecoveries });
    expect(failed(await primitive.run(""))).toMatchObject({ reason: "render_error", attempts: retries + 1 });
    expect(attempts).toEqual(Array.from({ length: retries + 1 }, (_, i) => i + 1));
    expect(model.callCount).toBe(0);
  });

  test.each([
    ["throws", () => thrown(new Error("The policy broke.")), "The policy broke."],
    ["throws no error", () => thrown("Oops."), "Oops."],
    ["returns nothing", () => undefined, "undefined"],
    ["returns a promise", async () => ({ retry: "later" }), "object"],
    ["returns another word", () => "retry", "retry"],
    ["has data that does not fit", () => ({ data: { label: "so-so" } }), "does not fit the output"],
    ["has data with an unknown key", () => ({ data: { label: "good", sure: true } }), "sure"],
  ])("BLK-12 a policy that %s ends the run with the error that it was asked about", async (_, recover, message) => {
    const never = policy(["render_error"], () => ({ data: { label: "good" } }));
    const recovery = [policy(["render_error"], recover as unknown as Policy["recover"]), never];
    const { primitive } = classifier([], { recovery });
    const result = failed(await primitive.run(notAText));
    expect(result).toMatchObject({ errorType: "PromptRenderError", reason: "render_error", attempts: 1 });
    expect(result.recoveryError).toBeInstanceOf(DefinitionError);
    expect(result.recoveryError?.message).toContain("recovery[0]");
    expect(result.recoveryError?.message).toContain(message);
  });
});

function thrown(what: unknown): never {
  throw what;
}

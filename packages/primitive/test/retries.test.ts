import { DefinitionError, type ModelFailure } from "@proviso/core";
import { describe, expect, test } from "vitest";
import { classifier, failed, refused } from "./support.ts";

const good = { output: { label: "good" } };
const unfit = { output: { label: "so-so" } };
const busy: ModelFailure = { failure: "throttle", kind: "rate_limit", status: 429, message: "Slow down." };

/** Everything that a run waits for is on the clock. */
async function settled<T>(clock: { advance(ms: number): Promise<void> }, running: Promise<T>): Promise<T> {
  await clock.advance(60_000);
  return running;
}

describe("BLK-8 schema repair is inside", () => {
  test("BLK-8 one turn by default: the model is shown what does not fit", async () => {
    const { primitive, model } = classifier([unfit, good]);
    const result = await primitive.run("A fine day.");
    expect(result).toMatchObject({ success: true, data: { label: "good" }, attempts: 1, usage: { totalTokens: 30 } });
    expect(model.lastPrompt).toContain("does not fit");
    expect(model.callCount).toBe(2);
  });

  test.each([
    [undefined, 2],
    [0, 1],
    [3, 4],
  ])("BLK-8 with maxRepairs %o it is a schema_error after %o requests", async (maxRepairs, requests) => {
    const { primitive, model } = classifier([unfit, unfit, unfit, unfit, unfit], { maxRepairs });
    const result = failed(await primitive.run("A fine day."));
    expect(result).toMatchObject({ errorType: "OutputParseError", reason: "schema_error", attempts: 1 });
    expect(model.callCount).toBe(requests);
    expect(result.usage.totalTokens).toBe(15 * requests);
  });
});

describe("BLK-9 API retry is inside", () => {
  test("BLK-9 a 429 is asked again until it is answered", async () => {
    const { primitive, model, clock } = classifier([busy, busy, good]);
    expect(await settled(clock, primitive.run("A fine day."))).toMatchObject({ success: true, attempts: 1 });
    expect(model.callCount).toBe(3);
  });

  test.each([
    ["rate_limit", "rate_limit_error"],
    ["timeout", "timeout_error"],
    ["server_error", "server_error"],
  ] as const)("BLK-9 %s is %s after the policy's attempts", async (kind, reason) => {
    const refusals = Array.from({ length: 9 }, () => ({ ...busy, kind }));
    const { primitive, model, clock } = classifier(refusals, { throttle: { maxAttempts: 3 } });
    const result = failed(await settled(clock, primitive.run("A fine day.")));
    expect(result).toMatchObject({ errorType: "ThrottleError", reason, error: { attempts: 3 } });
    expect(model.callCount).toBe(3);
  });

  test("BLK-9 an exhausted quota is not waited for", async () => {
    const { primitive, model } = classifier([{ ...busy, kind: "quota_exhausted" }]);
    expect(await primitive.run("A fine day.")).toMatchObject({ success: false, reason: "quota_error" });
    expect(model.callCount).toBe(1);
  });

  test("BLK-9 repairs and retries have budgets of their own", async () => {
    const steps = [busy, busy, unfit, busy, busy, good];
    const { primitive, model, clock } = classifier(steps, { throttle: { maxAttempts: 3 }, maxRepairs: 1 });
    expect(await settled(clock, primitive.run("A fine day."))).toMatchObject({
      success: true,
      data: { label: "good" },
    });
    expect(model.callCount).toBe(6);
  });
});

describe("BLK-10 what cannot get better bubbles at once", () => {
  test.each(["api_key", "context_length", "bad_request", "not_found", "content_filter", "unknown"] as const)(
    "BLK-10 %s takes one request, whatever the recovery policies are",
    async (reason) => {
      const always = () => ({ retry: "again" });
      const recovery = [{ on: ["PromptRenderError", "ProcessError", "ListenerError"] as const, recover: always }];
      const { primitive, model } = classifier([refused(reason), good], { recovery });
      expect(await primitive.run("A fine day.")).toMatchObject({ reason: `${reason}_error`, attempts: 1 });
      expect(model.callCount).toBe(1);
    },
  );

  test.each([
    "api_key_error",
    "context_length_error",
    "bad_request_error",
    "rate_limit_error",
    "schema_error",
    "budget_error",
    "ProviderError",
    "ThrottleError",
    "OutputParseError",
    "constructor",
    7,
  ])("BLK-11 a policy on %o is refused at the definition", (name) => {
    const recovery = [{ on: [name as "render_error"], recover: () => "bubble" as const }];
    expect(() => classifier([], { recovery })).toThrow(DefinitionError);
    expect(() => classifier([], { recovery })).toThrow("can be recovered from");
  });
});

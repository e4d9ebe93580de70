import { trackBudget, type ModelProvider } from "@proviso/core";
import { modelAdapter } from "@proviso/runtime";
import { hedged, paced, sharedPace } from "@proviso/runtime/routing";
import { fakeEnvironment } from "@proviso/runtime/testing";
import { expect, test } from "vitest";

test("LIM-5 LIM-10 RTE-11 the room of a loser is not free for others before it is charged", async () => {
  const environment = fakeEnvironment();
  const { clock } = environment;
  const question = "word ".repeat(400);
  const model = (name: string, afterMs: number) => {
    const provider: ModelProvider = {
      name,
      model: name,
      capabilities: { tools: false, nativeOutput: false, outputLimit: { least: 1 } },
      async generate({ maxOutputTokens = 0, signal }) {
        await clock.sleep(afterMs, signal);
        const message = { role: "assistant", text: "ok", toolCalls: [] } as const;
        return { message, finishReason: "stop", usage: { outputTokens: Math.min(maxOutputTokens, 50) } };
      },
    };
    return modelAdapter(provider, environment);
  };
  // Its only place is taken, so that a member of the hedge waits there until the end.
  const pace = sharedPace({ clock, maxInFlight: 1 });
  const busy = paced(model("busy", 60_000), pace).evaluate("x");
  await clock.advance(1);
  const limit = 1_300;
  const budget = trackBudget({ maxTotalTokens: limit });
  const members = [paced(model("waits", 0), pace), model("slow", 5_000), model("quick", 100)];
  const hedge = hedged(members, { afterMs: 10 }).evaluate(question, { budget });
  await clock.advance(30);
  const other = model("other", 10).evaluate(question, { budget });
  const results = Promise.allSettled([hedge, other]);
  await clock.advance(60_000);
  await busy;
  expect((await results).map(({ status }) => status)).toEqual(["fulfilled", "rejected"]);
  expect(budget.consumed.totalTokens).toBeLessThanOrEqual(limit);
});

import { defineTool, type Budget } from "@proviso/core";
import { modelAdapter } from "@proviso/runtime";
import { fakeEnvironment, scriptedModel } from "@proviso/runtime/testing";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { promptWith } from "../support.ts";
import { watching } from "./support.ts";

describe("OBS-6 the limits of an evaluation with several budgets", () => {
  const nested = async (around: Budget, own: Budget): Promise<unknown> => {
    const nest = defineTool({
      name: "nest",
      description: "Nests.",
      input: z.object({}),
      execute: async (_, { evaluate }) => (await evaluate("Go on.", { budget: own })).output,
    });
    const observer = watching();
    const options = { ...fakeEnvironment(1), observers: [observer], pricing: { input: 1, output: 1 } };
    const steps = [{ toolCalls: [{ name: "nest" }] }, { text: "In." }, { text: "Out." }];
    await modelAdapter(scriptedModel(steps), options).evaluate(promptWith(nest), { budget: around });
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

import { modelAdapter } from "@proviso/runtime";
import { fallback } from "@proviso/runtime/routing";
import { fakeEnvironment, scriptedModel, type ScriptedStep } from "@proviso/runtime/testing";
import { openTelemetry } from "@proviso/otel";
import { expect, test } from "vitest";
import { memorySdk } from "./support.ts";
import { note, promptOf } from "./tree.ts";

const fails = (tokens: number): ScriptedStep => ({
  failure: "throttle",
  kind: "server_error",
  message: "It is down.",
  retry: false,
  usage: { inputTokens: tokens, outputTokens: 0 },
});

test("OTEL-2 LIM-14 what requests without an answer have cost names the tokens among them that have no price", async () => {
  const sdk = memorySdk();
  const options = { ...fakeEnvironment(), observers: [openTelemetry(sdk.providers)] };
  const answers = {
    toolCalls: [{ name: "note", arguments: { text: "x" } }],
    usage: { inputTokens: 20, outputTokens: 0 },
  };
  const priced = modelAdapter(scriptedModel([fails(1_000_000), fails(3_000_000)]), {
    ...options,
    pricing: { input: 1, output: 1 },
  });
  const unpriced = modelAdapter(scriptedModel([answers, fails(500)]), options);
  await fallback([priced, unpriced], options)
    .evaluate(promptOf("outer", note))
    .catch(() => {});
  const costs = sdk
    .spans()
    .filter(({ name }) => name.startsWith("chat"))
    .map(({ attributes: of }) => [of["gen_ai.usage.cost"], of["proviso.usage.unpriced_tokens"]]);
  expect(costs).toEqual([
    [1, 20],
    [3, 500],
  ]);
});

import { aiSdk, litellm } from "@proviso/adapter-ai-sdk";
import { DefinitionError } from "@proviso/core";
import { checkOptions } from "@proviso/runtime";
import { expect, test } from "vitest";
import { mockModel } from "./support/mock-model.ts";

const model = mockModel({} as never);
const at = { model: "m", apiKey: "k", baseURL: "http://localhost:1" };

test.each<readonly [what: string, make: () => unknown, message: string]>([
  [
    "aiSdk",
    () => aiSdk({ model, maxTokens: 1 } as never),
    "aiSdk has no option maxTokens. Did you mean maxOutputTokens?",
  ],
  ["aiSdk", () => aiSdk({ model, topLogprobs: 1 } as never), "aiSdk has no option topLogprobs."],
  ["aiSdk", () => aiSdk({ model, capabilities: { tool: true } } as never), "Did you mean tools?"],
  [
    "litellm",
    () => litellm({ ...at, temprature: 1 } as never),
    "litellm has no option temprature. Did you mean temperature?",
  ],
  ["litellm", () => litellm({ ...at, api_base: "x" } as never), "litellm has no option api_base."],
])("ERR-4 %s refuses an option that it does not know", (_, make, message) => {
  expect(make).toThrow(DefinitionError);
  expect(make).toThrow(message);
});

test("ERR-4 advice is of the same opinion", () => {
  expect(checkOptions(aiSdk, { model }).ok).toBe(true);
  expect(checkOptions(aiSdk, { model, maxTokens: 1 } as never).ok).toBe(false);
});

import { definePrompt, DefinitionError } from "@proviso/core";
import { estimate, usageStatistics } from "@proviso/estimation";
import { createSession, modelAdapter } from "@proviso/runtime";
import { scriptedModel } from "@proviso/runtime/testing";
import { expect, test } from "vitest";

test.each<readonly [what: string, use: () => unknown, message: string]>([
  ["usageStatistics", () => usageStatistics(createSession(), { onErrors: () => {} } as never), "Did you mean onError?"],
])("ERR-4 %s", (_, use, message) => {
  expect(use).toThrow(DefinitionError);
  expect(use).toThrow(message);
});

test("ERR-4 where a promise is the answer, it rejects", async () => {
  const prompt = definePrompt({ key: "greet", text: "Say hello." }).bind();
  const adapter = modelAdapter(scriptedModel([]));
  await expect(estimate(prompt, { adapter, messages: [], usage: 1 } as never)).rejects.toThrow(
    "estimate has no option usage.",
  );
});

import { NotSupportedError, PromptRenderError } from "@proviso/core";
import { createSession, modelAdapter } from "@proviso/runtime";
import { scriptedModel } from "@proviso/runtime/testing";
import { expect, test } from "vitest";
import { promptOf, rejectionOf, thrownBy } from "./support.ts";

test("a session's JSON, streaming and secrets are not supported yet, and say so", () => {
  const adapter = modelAdapter(scriptedModel([]));
  const places = [
    () => createSession().toJSON(),
    () => adapter.stream(promptOf()),
    () => modelAdapter(scriptedModel([]), { secrets: ["key"] }),
  ];
  for (const place of places) expect(thrownBy(place)).toBeInstanceOf(NotSupportedError);
});

test.each([
  ["overrides", { overrides: { store: {} as never } }],
  ["maxRepairs", { maxRepairs: 1 }],
])("the option %s is not supported yet: the evaluation rejects before any request", async (name, options) => {
  const model = scriptedModel([]);
  const error = await rejectionOf(modelAdapter(model).evaluate(promptOf(), options));
  expect(error).toBeInstanceOf(PromptRenderError);
  expect(error.cause).toBeInstanceOf(NotSupportedError);
  expect((error.cause as Error).message).toContain(name);
  expect(model.callCount).toBe(0);
});

import { NotSupportedError, PromptRenderError } from "@proviso/core";
import { createSession, modelAdapter } from "@proviso/runtime";
import { scriptedModel } from "@proviso/runtime/testing";
import { expect, test } from "vitest";
import { promptOf, rejectionOf, thrownBy } from "./support.ts";

test("a session's JSON is not supported yet, and says so", () => {
  expect(thrownBy(() => createSession().toJSON())).toBeInstanceOf(NotSupportedError);
});

test.each([["overrides", { overrides: { store: {} as never } }]])(
  "the option %s is not supported yet: the evaluation rejects before any request",
  async (name, options) => {
    const model = scriptedModel([]);
    const error = await rejectionOf(modelAdapter(model).evaluate(promptOf(), options));
    expect(error).toBeInstanceOf(PromptRenderError);
    expect(error.cause).toBeInstanceOf(NotSupportedError);
    expect((error.cause as Error).message).toContain(name);
    expect(model.callCount).toBe(0);
  },
);

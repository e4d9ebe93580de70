import { definePrompt, DefinitionError, defineTool } from "@proviso/core";
import { agentAdapter, createSession, modelAdapter, restoreSession } from "@proviso/runtime";
import { fakeEnvironment, invokeTool, replayEvents, scriptedModel } from "@proviso/runtime/testing";
import { describe, expect, test } from "vitest";
import { z } from "zod";

const prompt = definePrompt({ key: "greet", text: "Say hello." }).bind();
const adapter = modelAdapter(scriptedModel([]));
const tool = defineTool({ name: "t", description: "T.", input: z.object({}), execute: () => "done" });
const driver = {
  name: "a",
  model: "a",
  drive: async () => ({ failure: "provider", reason: "unknown", message: "no" }),
};

describe("ERR-4 an unknown option is refused", () => {
  test.each<readonly [what: string, use: () => unknown, message: string]>([
    [
      "modelAdapter",
      () => modelAdapter(scriptedModel([]), { trottle: {} } as never),
      "modelAdapter has no option trottle. Did you mean throttle?",
    ],
    [
      "agentAdapter",
      () => agentAdapter(driver as never, { maxTurns: 3 } as never),
      "agentAdapter has no option maxTurns.",
    ],
    [
      "throttle",
      () => modelAdapter(scriptedModel([]), { throttle: { maxRetries: 2 } as never }),
      "A throttle policy has no option maxRetries. Did you mean maxAttempts?",
    ],
    [
      "createSession",
      () => createSession({ slice: [] } as never),
      "createSession has no option slice. Did you mean slices?",
    ],
    ["fork", () => createSession().fork({ name: "x" } as never), "fork has no option name."],
    [
      "restoreSession",
      () => restoreSession(createSession().toJSON(), { slices: [], id: "x" } as never),
      "restoreSession has no option id.",
    ],
    ["scriptedModel", () => scriptedModel([], { capability: {} } as never), "scriptedModel has no option capability."],
    [
      "a step",
      () => scriptedModel([{ tool_calls: [] } as never]),
      "Step 1 of the script has no option tool_calls. Did you mean toolCalls?",
    ],
    [
      "a call",
      () => scriptedModel([{ toolCalls: [{ name: "t", args: {} } as never] }]),
      "A call in step 1 of the script has no option args.",
    ],
    ["replayEvents", () => replayEvents([], { slice: [] } as never), "Did you mean slices?"],
  ])("ERR-4 %s", (_, use, message) => {
    expect(use).toThrow(DefinitionError);
    expect(use).toThrow(message);
  });

  test.each<readonly [what: string, use: () => unknown, message: string]>([
    [
      "a script that is a text",
      () => scriptedModel("x" as never),
      'scriptedModel takes a list of steps, [{ text: "Paris" }], not "x".',
    ],
    [
      "a step without a list",
      () => scriptedModel({ text: "x" } as never),
      'scriptedModel takes a list of steps, [{ text: "Paris" }], not an object.',
    ],
    [
      "a session's id alone",
      () => createSession("thread-1" as never),
      'createSession takes { slices, id }, not "thread-1".',
    ],
    ["slices alone", () => createSession([] as never), "createSession takes { slices, id }, not an empty list."],
  ])("ERR-4 %s is refused", (_, use, message) => {
    expect(use).toThrow(new DefinitionError(message));
  });

  test("ERR-4 where a promise is the answer, it rejects", async () => {
    await expect(invokeTool(tool, {}, { sesion: 1 } as never)).rejects.toThrow("Did you mean session?");
    const { result } = await invokeTool(tool, {}, fakeEnvironment());
    expect(result.success).toBe(true);
  });

  test.each([
    ["timeout", "evaluate has no option timeout. Did you mean deadline?"],
    ["abortSignal", "Did you mean signal?"],
    ["maxTokens", "Did you mean settings: { maxOutputTokens }?"],
    ["max_tokens", "Did you mean settings: { maxOutputTokens }?"],
    ["maxOutputTokens", "Did you mean settings: { maxOutputTokens }?"],
    ["temperature", "Did you mean settings: { temperature }?"],
    ["topP", "Did you mean settings: { topP }?"],
    ["top_p", "Did you mean settings: { topP }?"],
    ["seed", "Did you mean settings: { seed }?"],
    ["stopSequences", "Did you mean settings: { stop }?"],
    ["stop", "Did you mean settings: { stop }?"],
    ["maxRetries", "Did you mean the adapter's throttle: { maxAttempts }?"],
    ["deps", "Did you mean resources?"],
    ["usageLimits", "Did you mean budget?"],
    ["modelSettings", "Did you mean settings?"],
    ["maxSteps", "Did you mean maxTurns?"],
    ["sesion", "Did you mean session?"],
    ["colour", "evaluate has no option colour. It takes deadline, budget, signal,"],
  ])("ERR-4 ERR-1 evaluate and stream: %s", async (name, message) => {
    const options = { [name]: 5 } as never;
    for (const refused of [adapter.evaluate(prompt, options), adapter.stream(prompt, options).response]) {
      const error: unknown = await refused.catch((reason: unknown) => reason);
      expect(error).toMatchObject({ code: "option", option: name });
      expect((error as Error).message).toContain(message);
    }
  });
});

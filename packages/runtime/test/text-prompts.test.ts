import { DefinitionError, defineTool } from "@proviso/core";
import { createSession, modelAdapter } from "@proviso/runtime";
import { fakeEnvironment, recordEvents, scriptedModel } from "@proviso/runtime/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import { call, promptWith, rejection } from "./support.ts";

test("PRM-13 a text is evaluated as one user message, byte for byte", async () => {
  const text = "  Fill {{name}} and \\{{ literally, $& too.\n";
  const model = scriptedModel([{ text: "Hello." }]);
  const response = await modelAdapter(model, fakeEnvironment()).evaluate(text);
  expect(response).toMatchObject({ output: "Hello.", text: "Hello.", promptName: "app/text" });
  expect(model.requests[0]).toMatchObject({ messages: [{ role: "user", text }], tools: [], output: undefined });
});

test("PRM-13 its events carry the ns app, the key text and the name app/text; a stream is the same", async () => {
  const session = createSession();
  const events = recordEvents(session);
  const adapter = modelAdapter(scriptedModel([{ text: "One." }, { text: "Two." }]), fakeEnvironment());
  await adapter.evaluate("Say one.", { session });
  const types: string[] = [];
  const stream = adapter.stream("Say two.", { session });
  for await (const event of stream) types.push(event.type);
  expect((await stream.response).output).toBe("Two.");
  expect(types.at(-1)).toBe("prompt.executed");
  expect(events.filter(({ type }) => type === "prompt.rendered")).toMatchObject([
    { promptName: "app/text", text: "Say one.", params: { text: "Say one." }, descriptor: { ns: "app", key: "text" } },
    { promptName: "app/text", text: "Say two." },
  ]);
});

test("PRM-13 a text goes on with the messages of the one before", async () => {
  const model = scriptedModel([{ text: "Rome." }, { text: "Paris." }]);
  const adapter = modelAdapter(model, fakeEnvironment());
  const { messages } = await adapter.evaluate("Name a city.");
  await adapter.evaluate("Another one.", { messages });
  expect(model.requests[1]?.messages.map(({ text }) => text)).toEqual(["Name a city.", "Rome.", "Another one."]);
});

test("PRM-13 a handler evaluates a text inside its call", async () => {
  const ask = defineTool({
    name: "ask",
    description: "Asks.",
    input: z.object({}),
    execute: async (_, context) => (await context.evaluate("What is it?")).output.toUpperCase(),
  });
  const model = scriptedModel([{ toolCalls: [call("ask")] }, { text: "a bird" }, { text: "done" }]);
  const { toolResults } = await modelAdapter(model, fakeEnvironment()).evaluate(promptWith(ask));
  expect(toolResults[0]?.result).toMatchObject({ success: true, value: "A BIRD" });
});

test.each(["", " \n\t"])(
  "PRM-13 a blank text %j is refused before anything is sent, and says what to give",
  async (text) => {
    const model = scriptedModel([{ text: "never" }]);
    const adapter = modelAdapter(model, fakeEnvironment());
    for (const evaluating of [adapter.evaluate(text), adapter.stream(text).response]) {
      const error = await rejection(evaluating);
      expect(error).toMatchObject({ code: "option", promptName: "(no prompt)" });
      expect(error.message).toBe("The text to evaluate is empty: give the text of a message, or a bound prompt.");
      expect(error.cause).toBeInstanceOf(DefinitionError);
    }
    expect(model.callCount).toBe(0);
  },
);

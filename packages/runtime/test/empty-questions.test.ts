import { definePrompt, defineTool, type Prompt, type PromptEvaluationError } from "@proviso/core";
import { memoryConversations, modelAdapter, withConversation } from "@proviso/runtime";
import { fakeEnvironment, scriptedModel, type ScriptedModel } from "@proviso/runtime/testing";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { rejection } from "./support.ts";

const look = defineTool({ name: "look", description: "Looks.", input: z.object({}), execute: () => "seen" });
const chat = definePrompt({
  key: "chat",
  params: z.object({ said: z.string().optional() }),
  sections: [
    { key: "rules", text: "Never give more than 10 % off." },
    { key: "more", text: "Be polite.", visibility: "summary", summary: "On tone.", tools: [look] },
    { key: "said", role: "user", text: "{{said}}", enabled: "said" },
  ],
});
const system = chat.bind({ said: "x" }).render().system;
const sent = (model: ScriptedModel, at = -1): readonly string[] =>
  (model.requests.at(at)?.messages ?? []).map(({ role, text }) => `${role}: ${text}`);

describe("PRM-7 a prompt that asks nothing", () => {
  test.each([{ said: "" }, { said: " \n" }, {}])(
    "PRM-7 with the params %j is refused before anything is sent, and its system text is not asked",
    async (params) => {
      const model = scriptedModel([{ text: "never" }]);
      const adapter = modelAdapter(model, fakeEnvironment());
      for (const evaluating of [adapter.evaluate(chat.bind(params)), adapter.stream(chat.bind(params)).response]) {
        const error = await rejection(evaluating);
        expect(error).toMatchObject({ code: "render", phase: "render", promptName: "app/chat", messages: [] });
        expect(error.message).toBe(
          'The prompt "app/chat" has no user message: its user sections are disabled, or render to nothing. ' +
            "Give the params that they show a text.",
        );
      }
      expect(model.requests).toEqual([]);
    },
  );

  test.each<readonly [string, Prompt]>([
    ["a blank text", definePrompt({ key: "k", text: "  \n" }).bind()],
    ["blanks in a section without a role", definePrompt({ key: "k", sections: [{ key: "a", text: " " }] }).bind()],
    ["no section", definePrompt({ key: "k", sections: [] }).bind()],
  ])("PRM-7 with %s renders to nothing, and is refused", async (_, prompt) => {
    const model = scriptedModel([{ text: "never" }]);
    const error = await rejection(modelAdapter(model, fakeEnvironment()).evaluate(prompt));
    expect(error).toMatchObject({ code: "render", message: 'The prompt "app/k" renders to nothing.' });
    expect(model.requests).toEqual([]);
  });

  test("PRM-7 adds nothing to a conversation, whose next turn has the system text and the next words", async () => {
    const model = scriptedModel([{ text: "Hello." }, { text: "Goodbye." }]);
    const adapter = modelAdapter(model, fakeEnvironment());
    const store = memoryConversations();
    const turn = (said: string): Promise<unknown> =>
      withConversation(store, "ada", (conversation) => conversation.evaluate(adapter, chat.bind({ said })), {
        slices: chat.slices,
      });
    await turn("hi");
    expect(await rejection(turn(""))).toMatchObject({ code: "render" });
    await turn("bye");
    expect(sent(model)).toEqual([`system: ${system}`, "user: hi", "assistant: Hello.", "user: bye"]);
  });

  test.each([{ said: "" }, {}])(
    "PRM-7 goes on with a history that holds the question, under its system text (%j)",
    async (params) => {
      const model = scriptedModel([
        { failure: "provider", reason: "content_filter", message: "no" },
        { toolCalls: [{ name: "open_sections", arguments: { keys: ["more"], reason: "tone" } }] },
        { text: "ok" },
      ]);
      const adapter = modelAdapter(model, fakeEnvironment());
      const error = await rejection(adapter.evaluate(chat.bind({ said: "Give me 90 % off." })));
      const { output } = await adapter.evaluate(chat.bind(params), {
        continueFrom: error as unknown as PromptEvaluationError,
      });
      expect(output).toBe("ok");
      expect(sent(model, 1)).toEqual([`system: ${system}`, "user: Give me 90 % off."]);
      // The sections that were opened are in the system text, and the question is the one that was asked.
      expect(sent(model).slice(0, 2)).toEqual([
        "system: Never give more than 10 % off.\n\nBe polite.",
        "user: Give me 90 % off.",
      ]);
    },
  );

  test("PRM-7 has nothing to go on with where the error before it holds no question", async () => {
    const model = scriptedModel([{ text: "never" }]);
    const adapter = modelAdapter(model, fakeEnvironment());
    const error = await rejection(adapter.evaluate(chat.bind({ said: "" })));
    expect(
      await rejection(adapter.evaluate(chat.bind({}), { continueFrom: error as unknown as PromptEvaluationError })),
    ).toMatchObject({ code: "render" });
    expect(model.requests).toEqual([]);
  });
});

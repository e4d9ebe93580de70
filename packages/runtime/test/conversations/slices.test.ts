import { defineEvent, definePolicy, definePrompt, defineSlice, defineTool, allow } from "@proviso/core";
import { memoryConversations, modelAdapter, withConversation, type Conversation } from "@proviso/runtime";
import { scriptedModel } from "@proviso/runtime/testing";
import { expect, test } from "vitest";
import { z } from "zod";

const said = defineEvent("said", z.object({}));
const counting = (name: string) =>
  defineSlice({ name, initial: 0, reducers: ({ on }) => on(said, (count: number) => count + 1) });
const [own, ofPolicy, nested] = [counting("own"), counting("of-policy"), counting("nested")];
const inner = definePrompt({ key: "inner", text: "Inner.", slices: [nested] });
const nest = defineTool({
  name: "nest",
  description: "Evaluates inside.",
  input: z.object({}),
  execute: async (_, { evaluate }) => (await evaluate(inner.bind())).output,
});
const prompt = definePrompt({
  key: "outer",
  sections: [{ key: "task", text: "Work.", tools: [nest], slices: [own] }],
});
const policy = definePolicy({ name: "counted", slices: [ofPolicy], check: () => allow() });
const remedy = "slices: [...prompt.slices, ...policy.slices]";

function world() {
  const store = memoryConversations();
  const model = scriptedModel([{ text: "One." }, { text: "Two." }]);
  const use =
    (options: Parameters<Conversation["evaluate"]>[2] = {}) =>
    (conversation: Conversation) =>
      conversation.evaluate(modelAdapter(model), prompt.bind(), options);
  return { store, model, use };
}

test("CNV-1 a turn whose slices the conversation was not given is refused before it begins", async () => {
  const { store, model, use } = world();
  for (const [options, slices, missing] of [
    [{ policies: [policy] }, prompt.slices, '"of-policy"'],
    [{ policies: [policy] }, undefined, '"own", "of-policy"'],
    [{}, undefined, '"own"'],
  ] as const) {
    const refused = withConversation(store, "ada", use(options), { slices });
    await expect(refused).rejects.toMatchObject({ name: "DefinitionError" });
    await expect(refused).rejects.toThrow(missing);
    await expect(refused).rejects.toThrow(remedy);
  }
  const streaming = withConversation(store, "ada", (conversation) =>
    conversation.stream(modelAdapter(model), prompt.bind()),
  );
  await expect(streaming).rejects.toThrow(remedy);
  expect(model.callCount).toBe(0);
  expect(await store.list()).toEqual([]);
});

test("CNV-1 with the slices of the prompt and of the policies in the options the conversation goes on", async () => {
  const { store, use } = world();
  const slices = [...prompt.slices, ...policy.slices];
  await withConversation(store, "ada", use({ policies: [policy] }), { slices });
  const { output, messages } = await withConversation(store, "ada", use({ policies: [policy] }), { slices });
  expect(output).toBe("Two.");
  expect(messages.filter(({ role }) => role === "assistant")).toHaveLength(2);
});

test("CNV-1 slices that came with an evaluation inside a call are refused when it is saved", async () => {
  const store = memoryConversations();
  const turn = (slices: typeof prompt.slices) => {
    const model = scriptedModel([{ toolCalls: [{ name: "nest" }] }, { text: "Inner." }, { text: "Done." }]);
    const adapter = modelAdapter(model);
    return withConversation(store, "ada", (conversation) => conversation.evaluate(adapter, prompt.bind()), { slices });
  };
  await expect(turn(prompt.slices)).rejects.toThrow('"nested"');
  expect(await store.list()).toEqual([]);
  for (let time = 0; time < 2; time++)
    expect(await turn([...prompt.slices, ...inner.slices])).toMatchObject({ output: "Done." });
});

import type { ModelDelta } from "@proviso/core/provider";
import type { LanguageModelV4Content, LanguageModelV4StreamPart } from "@ai-sdk/provider";
import { aiSdkModel } from "@proviso/adapter-ai-sdk";
import type { Message } from "@proviso/core";
import { parseJson } from "@proviso/core/provider";
import { answerOf, requestOf } from "@proviso/fault-matrix/requests";
import fc from "fast-check";
import { expect, test } from "vitest";
import { finish, mockModel } from "./support/mock-model.ts";

const blocks = fc.array(
  fc.record({
    type: fc.constantFrom("text" as const, "reasoning" as const),
    item: fc.option(fc.constantFrom("a", "b", "c"), { nil: undefined }),
    deltas: fc.array(fc.string({ maxLength: 4 }), { maxLength: 4 }),
    id: fc.constantFrom("0", "1"),
  }),
  { maxLength: 6 },
);

test("STR-1 AIS-13 however a text is cut into deltas, blocks and items, a stream gives what JSON gives", async () => {
  await fc.assert(
    fc.asyncProperty(blocks, async (given) => {
      const metadata = (item: string | undefined) =>
        item === undefined ? {} : { providerMetadata: { mock: { itemId: item } } };
      const content = given.map(({ type, item, deltas }): LanguageModelV4Content => ({
        type,
        text: deltas.join(""),
        ...metadata(item),
      }));
      const parts = given.flatMap(({ type, item, deltas, id }): LanguageModelV4StreamPart[] => [
        { type: `${type}-start`, id, ...metadata(item) },
        ...deltas.map((delta) => ({ type: `${type}-delta` as const, id, delta })),
        { type: `${type}-end`, id },
      ]);
      const told: string[] = [];
      const onDelta = (delta: ModelDelta): void => void (delta.kind === "text" && told.push(delta.text));
      const model = mockModel([
        { content, response: { modelId: "m" } },
        [{ type: "response-metadata", modelId: "m" }, ...parts, finish()],
      ]);
      const provider = aiSdkModel({ model });
      const json = answerOf(await provider.generate(requestOf()));
      const streamed = answerOf(await provider.generate(requestOf({ onDelta })));
      expect(streamed).toEqual(json);
      expect(told.join("")).toBe(json.message.text);
    }),
    { numRuns: 200, seed: 4 },
  );
});

test("AIS-7 whatever a model sent as arguments, what goes back is an object, or the very text of one", async () => {
  const given = fc.oneof(
    fc.string(),
    fc.json(),
    fc.dictionary(fc.string(), fc.jsonValue()).map((value) => JSON.stringify(value, null, 1)),
  );
  await fc.assert(
    fc.asyncProperty(given, fc.constantFrom("openai.chat", "anthropic.messages"), async (text, provider) => {
      const model = mockModel([{}], provider);
      const messages: Message[] = [
        { role: "assistant", text: "", toolCalls: [{ id: "1", name: "look_up", arguments: text }] },
        { role: "tool", callId: "1", name: "look_up", text: "a letter", isError: false },
      ];
      await aiSdkModel({ model }).generate(requestOf({ messages }));
      const [part] = model.calls[0]?.prompt[0]?.content ?? [];
      const input: unknown = typeof part === "object" && part.type === "tool-call" ? part.input : part;
      const read = parseJson(text);
      const isObject = read.ok && typeof read.value === "object" && read.value !== null && !Array.isArray(read.value);
      if (typeof input === "string") expect([input, provider]).toEqual([text, "openai.chat"]);
      else expect(input).toEqual(isObject ? read.value : {});
      // What an SDK of a text wire makes of it is what came.
      if (isObject && provider === "openai.chat")
        expect(typeof input === "string" ? input : JSON.stringify(input)).toBe(text);
    }),
    { numRuns: 300, seed: 4 },
  );
});

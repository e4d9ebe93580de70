import { aiSdkModel, type AiSdkOptions } from "@proviso/adapter-ai-sdk";
import type { AssistantMessage, Message, ModelRequest } from "@proviso/core";
import { answerOf, lookUp, requestOf } from "@proviso/fault-matrix/requests";
import { describe, expect, test } from "vitest";
import { call, mockModel, type MockModel } from "./support/mock-model.ts";

async function asked(
  request: Partial<ModelRequest>,
  options: Partial<AiSdkOptions> = {},
  provider?: string,
): Promise<MockModel["calls"][number]> {
  const model = mockModel([{}], provider);
  answerOf(await aiSdkModel({ model, ...options }).generate(requestOf(request)));
  const [first] = model.calls;
  if (first === undefined) throw new Error("Nothing was asked.");
  return first;
}

const turn = (...given: readonly string[]): Message[] => [
  {
    role: "assistant",
    text: "",
    toolCalls: given.map((text, at) => ({ id: `call_${at}`, name: "look_up", arguments: text })),
  },
  ...given.map((_, at): Message => ({
    role: "tool",
    callId: `call_${at}`,
    name: "look_up",
    text: `answer ${at}`,
    isError: at === 1,
  })),
];

describe("PRO-2 only what was set is sent", () => {
  test("PRO-2 a bare request is its prompt", async () => {
    const { abortSignal, ...rest } = await asked({
      messages: [
        { role: "system", text: "S" },
        { role: "user", text: "U" },
      ],
    });
    expect(abortSignal).toBeInstanceOf(AbortSignal);
    expect(rest).toEqual({
      prompt: [
        { role: "system", content: "S" },
        { role: "user", content: [{ type: "text", text: "U" }] },
      ],
    });
  });

  test("PRO-2 every setting by its name", async () => {
    const settings = { temperature: 0, topP: 1, maxOutputTokens: 9, seed: 7, presencePenalty: 1, frequencyPenalty: -1 };
    const headers = { "x-team": "a" };
    const providerOptions = { mock: { fast: true } };
    const given = await asked({}, { ...settings, stop: ["END"], headers, providerOptions });
    expect(given).toMatchObject({ ...settings, stopSequences: ["END"], headers, providerOptions });
  });

  test.each([
    ["auto", { type: "auto" }],
    ["none", { type: "none" }],
    ["required", { type: "required" }],
    [{ tool: "look_up" }, { type: "tool", toolName: "look_up" }],
    [undefined, undefined],
  ] as const)("TOOL-9 the choice %o", async (toolChoice, expected) => {
    expect((await asked({ tools: [lookUp], toolChoice })).toolChoice).toEqual(expected);
    expect(await asked({ toolChoice })).not.toHaveProperty("toolChoice");
  });
});

describe("AIS-5 AIS-6 tool answers", () => {
  test("AIS-5 AIS-6 the answers of a turn are one message, and a failed call's is marked", async () => {
    const { prompt } = await asked({ messages: [{ role: "user", text: "U" }, ...turn("{}", "{}"), ...turn("{}")] });
    expect(prompt.map(({ role }) => role)).toEqual(["user", "assistant", "tool", "assistant", "tool"]);
    expect(prompt[2]?.content).toEqual([
      { type: "tool-result", toolCallId: "call_0", toolName: "look_up", output: { type: "text", value: "answer 0" } },
      {
        type: "tool-result",
        toolCallId: "call_1",
        toolName: "look_up",
        output: { type: "error-text", value: "answer 1" },
      },
    ]);
  });

  test("AIS-6 TOOL-5 the OpenAI family reads the very text", async () => {
    const { prompt } = await asked({ messages: turn("{}", "{}") }, {}, "openai.responses");
    expect(JSON.stringify(prompt)).not.toContain("error-text");
  });
});

describe("AIS-7 arguments go back", () => {
  const inputs = async (provider: string, ...given: readonly string[]): Promise<unknown[]> => {
    const { prompt } = await asked({ messages: turn(...given) }, {}, provider);
    const parts = prompt[0]?.role === "assistant" ? prompt[0].content : [];
    return parts.map((part) => (part.type === "tool-call" ? part.input : part.type));
  };
  test("AIS-7 as objects", async () => {
    expect(await inputs("anthropic.messages", '{ "word":"a" }', '{"word":"b"}')).toEqual([
      { word: "a" },
      { word: "b" },
    ]);
  });
  test("AIS-7 LOOP-2 as the very text where the wire is text and the bytes would change", async () => {
    expect(await inputs("openai.chat", '{ "word":"a" }', '{"n":1.0}', '{"word":"b"}')).toEqual([
      '{ "word":"a" }',
      '{"n":1.0}',
      { word: "b" },
    ]);
  });
  test.each(["", "null", "[1]", "{bad", '"text"', '{"__proto__":{}}', "[".repeat(20_000)])(
    "AIS-7 as {} where they are no JSON object: %.20s",
    async (given) => {
      for (const provider of ["anthropic.messages", "openai.chat"]) expect(await inputs(provider, given)).toEqual([{}]);
    },
  );
});

describe("AIS-10 schemas", () => {
  const closed = { type: "object", properties: { a: { type: "string" } }, additionalProperties: false };
  const open = { type: "object", additionalProperties: { type: "string" } };
  const asks = (schema: object, provider?: string) =>
    asked({ output: { name: "my output", schema: schema as Readonly<Record<string, unknown>> } }, {}, provider);

  test("AIS-10 OUT-4 strict where it can be, under a name that every provider takes", async () => {
    const { responseFormat, providerOptions } = await asks(closed);
    expect(responseFormat).toEqual({
      type: "json",
      name: "my_output",
      schema: { ...closed, properties: { a: { type: ["string", "null"] } }, required: ["a"] },
    });
    expect(providerOptions).toBeUndefined();
  });

  test("AIS-10 OUT-4 a schema that cannot be strict is sent as not strict", async () => {
    const { responseFormat, providerOptions } = await asks(open, "openai.responses");
    expect(responseFormat).toMatchObject({ schema: open });
    expect(providerOptions).toEqual({ openai: { strictJsonSchema: false } });
  });

  test("AIS-10 the gateway is asked for a schema that is not strict in the words of both families", async () => {
    const { providerOptions } = await asks(open, "gateway");
    expect(providerOptions).toEqual({
      openai: { strictJsonSchema: false },
      anthropic: { structuredOutputMode: "jsonTool" },
    });
  });

  test("AIS-10 a tool is strict only where every key is required, and the setting is sent to the OpenAI family alone", async () => {
    const loose = { ...lookUp, name: "loose", inputSchema: closed };
    const tools = [lookUp, loose];
    expect((await asked({ tools }, {}, "openai.chat")).tools).toMatchObject([
      { strict: true },
      { strict: false, inputSchema: closed },
    ]);
    const others = (await asked({ tools })).tools ?? [];
    expect(others.some((tool) => "strict" in tool)).toBe(false);
  });
});

describe("AIS-8 replay", () => {
  const thinking = {
    type: "reasoning" as const,
    text: "Hm.",
    providerMetadata: { mock: { signature: "sig" } },
  };
  const signed = call("call_0", '{ "word":"a" }', { providerMetadata: { mock: { itemId: "fc_1" } } });

  async function heldBy(provider: string): Promise<AssistantMessage> {
    const model = mockModel([{ content: [thinking, { type: "text", text: "I look." }, signed] }], provider);
    return answerOf(await aiSdkModel({ model }).generate(requestOf())).message;
  }
  const answer: Message = { role: "tool", callId: "call_0", name: "look_up", text: "a letter", isError: false };

  test("AIS-8 parts come back in their order, their metadata as options", async () => {
    const message = await heldBy("mock.chat");
    const { prompt } = await asked({ messages: [message, answer] });
    expect(prompt[0]?.content).toEqual([
      { type: "reasoning", text: "Hm.", providerOptions: { mock: { signature: "sig" } } },
      { type: "text", text: "I look." },
      {
        type: "tool-call",
        toolCallId: "call_0",
        toolName: "look_up",
        input: { word: "a" },
        providerOptions: { mock: { itemId: "fc_1" } },
      },
    ]);
    expect(JSON.parse(JSON.stringify(message))).toEqual(message);
  });

  const rebuilt = [
    { type: "text", text: "I look." },
    { type: "tool-call", toolCallId: "call_0", toolName: "look_up", input: { word: "a" } },
  ];
  test("AIS-8 another provider gets text and calls", async () => {
    const { prompt } = await asked({ messages: [await heldBy("other.chat"), answer] });
    expect(prompt[0]?.content).toEqual(rebuilt);
  });

  test("AIS-8 calls that are no longer those of the parts are rebuilt", async () => {
    const message = await heldBy("mock.chat");
    const [first] = message.toolCalls;
    const renamed = { ...message, toolCalls: [{ ...first, id: "call_9" }] } as AssistantMessage;
    const { prompt } = await asked({ messages: [renamed, { ...answer, callId: "call_9" }] });
    expect(prompt[0]?.content).toEqual([rebuilt[0], { ...rebuilt[1], toolCallId: "call_9" }]);
  });

  test.each([null, 5, { api: "openai.responses", items: [] }, { api: "ai-sdk", provider: "mock.chat", parts: [5] }])(
    "AIS-8 items of another kind are passed over: %o",
    async (providerItems) => {
      const message: AssistantMessage = { role: "assistant", text: "Hello.", toolCalls: [], providerItems };
      const { prompt } = await asked({ messages: [message] });
      expect(prompt[0]?.content).toEqual([{ type: "text", text: "Hello." }]);
    },
  );

  test("AIS-8 text and calls alone need no parts", async () => {
    const model = mockModel([{ content: [{ type: "text", text: "I look." }, call("call_0", "{}")] }]);
    const { message } = answerOf(await aiSdkModel({ model }).generate(requestOf()));
    expect(message).not.toHaveProperty("providerItems");
  });

  test("AIS-8 what the provider ran itself comes back with it", async () => {
    const ran = call("srv_1", '{"q":1}', { toolName: "search", providerExecuted: true });
    const found = { type: "tool-result" as const, toolCallId: "srv_1", toolName: "search", result: { hits: 2 } };
    const model = mockModel([{ content: [ran, found, { type: "text", text: "Two." }] }]);
    const { message } = answerOf(await aiSdkModel({ model }).generate(requestOf()));
    const { prompt } = await asked({ messages: [message] });
    expect(prompt[0]?.content).toEqual([
      { type: "tool-call", toolCallId: "srv_1", toolName: "search", input: { q: 1 }, providerExecuted: true },
      { type: "tool-result", toolCallId: "srv_1", toolName: "search", output: { type: "json", value: { hits: 2 } } },
      { type: "text", text: "Two." },
    ]);
  });
});

test("AIS-5 LOOP-2 a message is converted once, however many requests carry it", async () => {
  const model = mockModel([{}, {}]);
  const provider = aiSdkModel({ model });
  const messages: Message[] = [{ role: "user", text: "U" }, ...turn("{}")];
  await provider.generate(requestOf({ messages }));
  await provider.generate(requestOf({ messages: [...messages, { role: "user", text: "More." }] }));
  const [first, second] = model.calls.map(({ prompt }) => prompt);
  expect(second?.[0]).toBe(first?.[0]);
  expect(second?.[1]).toBe(first?.[1]);
  expect(second?.[2]?.content[0]).toBe(first?.[2]?.content[0]);
});

test("AIS-24 a call's name that every object has goes back with an underscore, to the OpenAI family alone", async () => {
  const calls = ["constructor", "__proto__"].map((name, at) => ({ id: `call_${at}`, name, arguments: "{}" }));
  const answers = calls.map(({ id, name }) => ({
    role: "tool" as const,
    callId: id,
    name,
    text: "No.",
    isError: true,
  }));
  const messages: readonly Message[] = [{ role: "assistant", text: "", toolCalls: calls }, ...answers];
  const namesFor = async (provider: string): Promise<unknown> => {
    const { prompt } = await asked({ messages }, {}, provider);
    return prompt.map(({ content }) => (content as readonly { toolName: string }[]).map(({ toolName }) => toolName));
  };
  const sent = ["constructor_", "__proto___"];
  expect(await namesFor("openai.responses")).toEqual([sent, sent]);
  const own = ["constructor", "__proto__"];
  expect(await namesFor("mock.chat")).toEqual([own, own]);
});

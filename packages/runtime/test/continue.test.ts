import {
  definePrompt,
  defineTool,
  OutputParseError,
  provideFactory,
  resourceKey,
  TurnLimitError,
  type ContinueFrom,
  type EvaluateOptions,
  type Message,
  type PromptEvaluationError,
  type PromptResponse,
} from "@proviso/core";
import { completedMessages } from "@proviso/core/internal";
import { createSession, modelAdapter } from "@proviso/runtime";
import { scriptedModel, type ScriptedModel } from "@proviso/runtime/testing";
import { describe, expect, expectTypeOf, test } from "vitest";
import { z } from "zod";
import { rejection } from "./support.ts";

const look = defineTool({
  name: "look",
  description: "Looks.",
  input: z.object({ at: z.string() }),
  execute: ({ at }) => `seen ${at}`,
});
const prompt = definePrompt({
  key: "p",
  params: z.object({ q: z.string() }),
  sections: [
    { key: "rules", text: "Be brief.", tools: [look] },
    { key: "q", text: "What is {{q}}?", role: "user" },
  ],
}).bind({ q: "A" });
const unopened = provideFactory(resourceKey<string>("Unopened"), () => Promise.reject(new Error("not there")), {
  eager: true,
});
const said = (model: ScriptedModel, at = 0): readonly string[] =>
  (model.requests[at]?.messages ?? []).map(({ role, text }) => `${role}: ${text}`);
const step = { toolCalls: [{ name: "look", arguments: { at: "a" } }] };
const goingOn = async (options: EvaluateOptions, bound: typeof prompt = prompt) => {
  const model = scriptedModel([{ text: "Done." }]);
  const response = await modelAdapter(model).evaluate(bound, options);
  return { response, sent: said(model) };
};
const turnLimit = async (): Promise<TurnLimitError> =>
  (await rejection(modelAdapter(scriptedModel([step])).evaluate(prompt, { maxTurns: 1 }))) as unknown as TurnLimitError;

describe("LOOP-9 an evaluation goes on where another one stopped", () => {
  test("LOOP-9 after a turn limit: the question once, the system text from the prompt, usage of its own", async () => {
    const error = await turnLimit();
    const { response, sent } = await goingOn({ continueFrom: error });
    expect(sent).toEqual(["system: Be brief.", "user: What is A?", "assistant: ", "tool: seen a"]);
    expect(response).toMatchObject({ output: "Done.", turns: 1, toolResults: [], usage: { totalTokens: 15 } });
    expect(response.messages.map(({ role }) => role)).toEqual(["user", "assistant", "tool", "assistant"]);
  });

  test("LOOP-9 from the messages of the error, and from the same stored as JSON", async () => {
    const error = await turnLimit();
    const first = await goingOn({ continueFrom: error });
    for (const continueFrom of [error.messages, JSON.parse(JSON.stringify(error.messages)) as readonly Message[]]) {
      expect((await goingOn({ continueFrom })).sent).toEqual(first.sent);
    }
  });

  test("LOOP-9 the rules are those of the prompt that goes on", async () => {
    const other = definePrompt({
      key: "other",
      params: z.object({ q: z.string() }),
      sections: [
        { key: "rules", text: "Be thorough." },
        { key: "q", text: "Anything about {{q}}?", role: "user" },
      ],
    }).bind({ q: "B" });
    const { sent } = await goingOn({ continueFrom: await turnLimit() }, other);
    expect(sent).toEqual(["system: Be thorough.", "user: What is A?", "assistant: ", "tool: seen a"]);
  });

  test("LOOP-9 a failure before anything was asked: the prompt is asked", async () => {
    const error = await rejection(modelAdapter(scriptedModel([])).evaluate(prompt, { maxTurns: 0 }));
    const { sent } = await goingOn({ continueFrom: error as unknown as PromptEvaluationError });
    expect(sent).toEqual(["system: Be brief.", "user: What is A?"]);
  });

  test("LOOP-9 after an answer the user says so, and an output that did not fit is named", async () => {
    const { response } = await goingOn({});
    expect((await goingOn({ continueFrom: response })).sent.slice(-2)).toEqual(["assistant: Done.", "user: Go on."]);
    const typed = definePrompt({ key: "n", text: "Give n.", output: z.object({ n: z.number() }) }).bind();
    const error = await rejection(modelAdapter(scriptedModel([{ text: '{"n":"x"}' }])).evaluate(typed));
    expect(error).toBeInstanceOf(OutputParseError);
    const model = scriptedModel([{ output: { n: 1 } }]);
    const continued = await modelAdapter(model).evaluate(typed, { continueFrom: error as unknown as OutputParseError });
    expectTypeOf(continued).toEqualTypeOf<PromptResponse<{ n: number }>>();
    expect(continued.output).toEqual({ n: 1 });
    expect(said(model).at(-1)).toMatch(/^user: Your answer does not fit .*n: .*number/);
  });

  test("LOOP-9 OUT-5 of very many issues the model reads how many there are, though the error lists 100", async () => {
    const typed = definePrompt({ key: "n", text: "List.", output: z.object({ list: z.array(z.number()) }) }).bind();
    const wrong = JSON.stringify({ list: Array.from({ length: 150 }, () => "x") });
    const error = await rejection(modelAdapter(scriptedModel([{ text: wrong }])).evaluate(typed));
    const model = scriptedModel([{ output: { list: [] } }]);
    await modelAdapter(model).evaluate(typed, { continueFrom: error as unknown as OutputParseError });
    expect(said(model).at(-1)).toContain("; and 130 more. Answer again");
  });

  test("LOOP-9 SEC-1 an error shows no secret, and what goes on is what was sent", async () => {
    const secret = "sk-hidden-0123456789";
    const own = definePrompt({ key: "s", text: `Use ${secret}.` }).bind();
    const adapter = (model: ScriptedModel) => modelAdapter(model, { secrets: [secret] });
    const refused = { failure: "provider", reason: "unknown", message: "no" } as const;
    const error = await rejection(adapter(scriptedModel([refused])).evaluate(own));
    expect(JSON.stringify(error["messages"])).not.toContain(secret);
    const model = scriptedModel([{ text: "Done." }]);
    await adapter(model).evaluate(own, { continueFrom: error as unknown as PromptEvaluationError });
    expect(said(model)).toEqual([`user: Use ${secret}.`]);
  });

  test("LOOP-9 VIS-3 a section that opens is still opened in the question that it belongs to", async () => {
    const manual = definePrompt({
      key: "m",
      sections: [
        { key: "q", text: "Long text.", summary: "Short text.", visibility: "summary", role: "user", tools: [look] },
      ],
    }).bind();
    const refused = { failure: "provider", reason: "unknown", message: "no" } as const;
    const error = await rejection(modelAdapter(scriptedModel([refused])).evaluate(manual));
    const open = { toolCalls: [{ name: "open_sections", arguments: { keys: ["q"], reason: "needed" } }] };
    const model = scriptedModel([open, { text: "Done." }]);
    await modelAdapter(model).evaluate(manual, { continueFrom: error as unknown as PromptEvaluationError });
    expect(said(model)[0]).toContain("Short text.");
    expect(said(model, 1)[0]).toContain("Long text.");
  });

  test("LOOP-9 inside a tool, and streamed", async () => {
    const error = await turnLimit();
    const model = scriptedModel([{ toolCalls: [{ name: "outer" }] }, { text: "Inner." }, { text: "Outer." }]);
    const outer = defineTool({
      name: "outer",
      description: "O.",
      input: z.object({}),
      execute: async (_, { evaluate }) => (await evaluate(prompt, { continueFrom: error })).text,
    });
    const around = definePrompt({ key: "o", sections: [{ key: "a", text: "Go.", tools: [outer] }] }).bind();
    const { text } = await modelAdapter(model).stream(around).response;
    expect(text).toBe("Outer.");
    expect(said(model, 1)).toEqual(["system: Be brief.", "user: What is A?", "assistant: ", "tool: seen a"]);
  });

  test.each<readonly [what: string, options: object, message: string]>([
    ["messages beside it", { messages: [], continueFrom: [] }, "Give continueFrom or messages"],
    [
      "what is none",
      { continueFrom: "more" },
      "The option continueFrom must be an error that evaluate rejected with, a response, or messages",
    ],
    ["messages that are none", { continueFrom: [{ role: "user" }] }, "messages[0].text must be a string"],
    [
      "no question",
      { continueFrom: [{ role: "assistant", text: "a", toolCalls: [] }] },
      "continueFrom holds no question",
    ],
  ])("LOOP-9 ERR-1 %s is refused", async (_, options, message) => {
    const error = await rejection(modelAdapter(scriptedModel([])).evaluate(prompt, options as EvaluateOptions));
    expect(error).toMatchObject({ code: "option", option: "continueFrom" });
    expect(error.message).toContain(message);
  });

  test("LOOP-9 LOOP-3 an evaluation whose second call was never reached is gone on with", async () => {
    const controller = new AbortController();
    const session = createSession();
    session.on("tool.invoked", () => controller.abort());
    const both = scriptedModel([
      {
        toolCalls: [
          { name: "look", arguments: { at: "a" } },
          { name: "look", arguments: { at: "b" } },
        ],
      },
    ]);
    const error = await rejection(modelAdapter(both).evaluate(prompt, { session, signal: controller.signal }));
    const { sent } = await goingOn({ continueFrom: error as unknown as PromptEvaluationError });
    expect(sent.slice(1)).toEqual([
      "user: What is A?",
      "assistant: ",
      "tool: seen a",
      "tool: Not run: The evaluation was aborted.",
    ]);
  });
});

describe("LOOP-9 an evaluation that could not begin loses no history", () => {
  const over = { signal: AbortSignal.abort() };
  const failing = async (options: EvaluateOptions): Promise<PromptEvaluationError> =>
    (await rejection(modelAdapter(scriptedModel([])).evaluate(prompt, options))) as unknown as PromptEvaluationError;
  const sentFrom = async (continueFrom: ContinueFrom) => (await goingOn({ continueFrom })).sent;
  const toolTurn = ["system: Be brief.", "user: What is A?", "assistant: ", "tool: seen a"];

  test.each<readonly [what: string, options: () => EvaluateOptions]>([
    ["the caller's signal", () => over],
    ["a wrong option", () => ({ maxTurns: 0 })],
    ["a resource that cannot be opened", () => ({ resources: [unopened] })],
  ])("LOOP-9 %s: its error goes on where the one before had stopped", async (_, options) => {
    const first = await turnLimit();
    const second = await failing({ continueFrom: first, ...options() });
    expect(second.messages).toEqual(first.messages);
    const third = await failing({ continueFrom: second, ...over });
    for (const continueFrom of [second, third, third.messages]) expect(await sentFrom(continueFrom)).toEqual(toolTurn);
    expect(second.usage.totalTokens).toBe(0);
  });

  test("LOOP-9 the model still reads what was wrong with an output", async () => {
    const typed = definePrompt({ key: "n", text: "Give n.", output: z.object({ n: z.number() }) }).bind();
    const first = await rejection(modelAdapter(scriptedModel([{ text: '{"n":"x"}' }])).evaluate(typed));
    const second = await failing({ continueFrom: first as unknown as PromptEvaluationError, ...over });
    expect((await sentFrom(second)).at(-1)).toMatch(/^user: Your answer does not fit .*n: .*number/);
  });

  test("LOOP-9 earlier turns stand before the question, which is asked", async () => {
    const { response } = await goingOn({});
    const messages: readonly Message[] = [{ role: "system", text: "Old." }, ...response.messages];
    const first = await failing({ messages, ...over });
    expect(first.messages).toEqual(response.messages);
    const second = await failing({ continueFrom: first, ...over });
    const asked = ["system: Be brief.", "user: What is A?", "assistant: Done.", "user: What is A?"];
    for (const continueFrom of [first, second]) expect(await sentFrom(continueFrom)).toEqual(asked);
    expect((await goingOn({ messages: second.messages })).sent).toEqual(asked);
  });

  test("LOOP-9 SEC-1 its error shows no secret, and what goes on is what was sent", async () => {
    const secret = "sk-hidden-0123456789";
    const messages: readonly Message[] = [{ role: "user", text: `I use ${secret}.` }];
    const adapter = modelAdapter(scriptedModel([]), { secrets: [secret] });
    const first = await rejection(adapter.evaluate(prompt, { messages, ...over }));
    expect(JSON.stringify(first["messages"])).toContain("I use [secret].");
    expect((await sentFrom(first as unknown as PromptEvaluationError))[1]).toBe(`user: I use ${secret}.`);
  });

  test("LOOP-9 EVT-5 its messages are frozen at every depth, and what is no history is none", async () => {
    const second = await failing({ continueFrom: structuredClone((await turnLimit()).messages), ...over });
    expect([second.messages, ...second.messages].every((each) => Object.isFrozen(each))).toBe(true);
    const odd = await failing({ messages: [{ role: "user" }] as never });
    expect(odd).toMatchObject({ code: "option", messages: [] });
  });
});

test("LOOP-9 what was stored is made whole: calls get answers, answers without calls go", () => {
  const call = (id: string) => ({ id, name: "look", arguments: "{}" });
  const assistant = (...ids: readonly string[]) => ({ role: "assistant", text: "", toolCalls: ids.map(call) });
  const tool = (callId: string) => ({ role: "tool", callId, name: "look", text: "seen", isError: false });
  const user = { role: "user", text: "Hi." };
  const whole = completedMessages([tool("z"), user, assistant("a", "b"), tool("b"), tool("b"), user, assistant("c")]);
  const shown = whole.map((message) =>
    message.role === "tool" ? `${message.callId} ${message.isError}` : message.role,
  );
  expect(shown).toEqual(["user", "assistant", "b false", "a true", "user", "assistant", "c true"]);
  expect(() => completedMessages([assistant("a", "a")])).toThrow('has the id "a" twice');
});

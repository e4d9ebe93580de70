import { toUIMessageStream, type UIMessageStreamChunk, type UIMessageStreamOptions } from "@proviso/adapter-ai-sdk";
import {
  Blobs,
  definePrompt,
  defineTool,
  provide,
  type EvaluateOptions,
  type ModelProvider,
  type Prompt,
  type ProviderAdapter,
} from "@proviso/core";
import { memoryJournal } from "@proviso/journal";
import { createSession, memoryBlobs, modelAdapter } from "@proviso/runtime";
import { fallback } from "@proviso/runtime/routing";
import { fakeEnvironment, scriptedModel, testImage, type ScriptedStep } from "@proviso/runtime/testing";
import { createUIMessageStreamResponse, DefaultChatTransport, readUIMessageStream, type UIMessage } from "ai";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import type { ReadableStream as NodeStream } from "node:stream/web";
import { describe, expect, test } from "vitest";
import { z } from "zod";

const add = defineTool({
  name: "add",
  description: "Add.",
  input: z.object({ a: z.number(), b: z.number() }),
  async execute({ a, b }, context) {
    context.progress({ done: 1, total: 2, message: "adding" });
    if (a < 0) throw new Error("No negative numbers.");
    return { sum: a + b };
  },
});
const sum = definePrompt({ key: "sum", sections: [{ key: "ask", text: "What is 1 + 2?", tools: [add] }] }).bind();
const toolCall = (input: object, name = "add") => ({ toolCalls: [{ name, arguments: input }] });

/** A server whose only answer is the evaluation, read by the AI SDK's own client: each state of the message. */
async function readOverHttp(
  adapter: ProviderAdapter,
  prompt: Prompt,
  options: EvaluateOptions &
    Pick<UIMessageStreamOptions, "tools" | "text" | "fileUrl"> & { readonly leaveAfter?: number } = {},
) {
  const { tools, text, fileUrl, leaveAfter = Infinity, ...given } = options;
  const server = createServer((_, response) => {
    const stream = toUIMessageStream(adapter.stream(prompt, given), {
      messageId: "m1",
      tools,
      text,
      fileUrl,
    });
    const answer = createUIMessageStreamResponse({ stream });
    response.writeHead(answer.status, Object.fromEntries(answer.headers));
    const body = Readable.fromWeb(answer.body as NodeStream);
    response.on("close", () => body.destroy());
    body.on("error", () => response.destroy());
    body.pipe(response);
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const leaving = new AbortController();
  try {
    const transport = new DefaultChatTransport({ api: `http://127.0.0.1:${port}/chat` });
    const chunks = await transport.sendMessages({
      chatId: "c",
      trigger: "submit-message",
      messageId: undefined,
      messages: [{ id: "u", role: "user", parts: [{ type: "text", text: "What is 1 + 2?" }] }],
      abortSignal: leaving.signal,
    });
    const states: UIMessage[] = [];
    const errors: unknown[] = [];
    const reading = readUIMessageStream({ stream: chunks, onError: (error) => errors.push(error) });
    for await (const message of reading) {
      states.push(structuredClone(message));
      if (states.length >= leaveAfter) break;
    }
    leaving.abort();
    return { states, errors, parts: states.at(-1)?.parts ?? [] };
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

const scripted = (steps: readonly ScriptedStep[]): ProviderAdapter =>
  modelAdapter(scriptedModel(steps), fakeEnvironment());

test("AIS-25 the AI SDK's client reads text as it comes, turn by turn", async () => {
  const { states, parts } = await readOverHttp(scripted([toolCall({ a: 1, b: 2 }), { text: "It is 3." }]), sum);
  expect(states[0]?.id).toBe("m1");
  expect(parts.map(({ type }) => type)).toEqual(["step-start", "dynamic-tool", "step-start", "text"]);
  expect(parts.at(-1)).toMatchObject({ type: "text", text: "It is 3.", state: "done" });
});

test("AIS-25 a tool call is shown with its arguments, its progress and its result", async () => {
  const { states, parts } = await readOverHttp(scripted([toolCall({ a: 1, b: 2 }), { text: "3" }]), sum);
  const calls = states.flatMap(({ parts: all }) => all.filter(({ type }) => type === "dynamic-tool"));
  expect(calls[0]).toMatchObject({ toolName: "add", state: "input-available", input: { a: 1, b: 2 } });
  expect(calls).toContainEqual(
    expect.objectContaining({ preliminary: true, output: { done: 1, total: 2, message: "adding" } }),
  );
  expect(parts[1]).toMatchObject({ state: "output-available", input: { a: 1, b: 2 }, output: { sum: 3 } });
});

test.each([
  ["null", null, null],
  ["an empty text", "", ""],
  ["nothing", undefined, ""],
  ["false", false, false],
])("AIS-25 TOOL-5 a tool that returned %s is shown so", async (_, returned, output) => {
  const look = defineTool({ name: "look", description: "Looks.", input: z.object({}), execute: () => returned });
  const prompt = definePrompt({ key: "look", sections: [{ key: "ask", text: "Look.", tools: [look] }] }).bind();
  const { parts } = await readOverHttp(scripted([toolCall({}, "look"), { text: "Done." }]), prompt);
  expect(parts[1]).toMatchObject({ state: "output-available", output });
});

test("AIS-25 a call that failed, one that does not fit and an unknown tool are shown as what they are", async () => {
  const { parts } = await readOverHttp(
    scripted([toolCall({ a: -1, b: 2 }), toolCall({ a: "x" }), toolCall({}, "subtract"), { text: "Sorry." }]),
    sum,
  );
  const calls = parts.filter(({ type }) => type === "dynamic-tool");
  expect(calls).toMatchObject([
    { toolName: "add", state: "output-error", errorText: expect.stringContaining("No negative numbers.") },
    { toolName: "add", state: "output-error", errorText: expect.stringContaining("a") },
    { toolName: "subtract", state: "output-error", errorText: expect.stringContaining("no tool") },
  ]);
});

test("AIS-25 TOOL-7 a call with the id of an earlier turn's is a call of its own on the page", async () => {
  const again = (input: object): ScriptedStep => ({ toolCalls: [{ id: "call_1", name: "add", arguments: input }] });
  const steps = [
    again({ a: 1, b: 2 }),
    again({ a: "x" }),
    again({ a: 3, b: 4 }),
    again({ a: -1, b: 0 }),
    { text: "3" },
  ];
  const { parts, states } = await readOverHttp(scripted(steps), sum);
  expect(parts.filter(({ type }) => type === "dynamic-tool")).toMatchObject([
    { state: "output-available", toolCallId: "call_1", output: { sum: 3 } },
    { state: "output-error", errorText: expect.stringContaining("a") as string },
    { state: "output-available", output: { sum: 7 } },
    { state: "output-error", errorText: "No negative numbers." },
  ]);
  const ids = parts.flatMap((part) => (part.type === "dynamic-tool" ? [part.toolCallId] : []));
  expect(new Set(ids).size).toBe(4);
  expect(states.at(-1)?.parts.at(-1)).toMatchObject({ type: "text", text: "3" });
});

test("AIS-25 calls that the provider ran are apart on the page, without an id and with that of another turn", async () => {
  const ran = (callId: string) => ({ callId, name: "web_search", input: {}, output: "found", isError: false });
  const first = { ...toolCall({ a: 1, b: 2 }), providerCalls: [ran(""), ran(""), ran("s1")] };
  const { parts } = await readOverHttp(scripted([first, { text: "3", providerCalls: [ran("s1")] }]), sum);
  const ids = parts.flatMap((part) => (part.type === "dynamic-tool" ? [part.toolCallId] : []));
  expect(ids).toHaveLength(5);
  expect(new Set(ids).size).toBe(5);
});

test("AIS-25 many calls that the provider ran without an id have ids that do not grow with their number", async () => {
  const ran = (callId: string) => ({ callId, name: "web_search", input: {}, output: "found", isError: false });
  const providerCalls = [ran("web_search_3"), ...Array.from({ length: 400 }, () => ran(""))];
  const { parts } = await readOverHttp(scripted([{ text: "3", providerCalls }]), sum);
  const ids = parts.flatMap((part) => (part.type === "dynamic-tool" ? [part.toolCallId] : []));
  expect(new Set(ids).size).toBe(401);
  expect(ids.slice(0, 4)).toEqual(["web_search_3", "web_search", "web_search_2", "web_search_4"]);
  expect(ids.at(-1)).toBe("web_search_401");
});

test("AIS-25 with `tools: false` no visitor sees a call, its arguments or its result", async () => {
  const { states } = await readOverHttp(scripted([toolCall({ a: 1, b: 2 }), { text: "3" }]), sum, { tools: false });
  expect(JSON.stringify(states)).not.toMatch(/add|dynamic|sum/);
});

test("AIS-25 a structured output comes as a data part, the last one whole", async () => {
  const rhyme = definePrompt({ key: "r", text: "Rhyme.", output: z.object({ lines: z.array(z.string()) }) }).bind();
  const { parts } = await readOverHttp(scripted([{ output: { lines: ["Roses are red", "Violets"] } }]), rhyme);
  expect(parts).toContainEqual(
    expect.objectContaining({ type: "data-output", data: { lines: ["Roses are red", "Violets"] } }),
  );
});

test("AIS-25 with `text: false` a structured output is no text as well", async () => {
  const prompt = definePrompt({ key: "n", text: "A number.", output: z.object({ n: z.number() }) }).bind();
  const adapter = scripted([{ reasoning: "Three.", output: { n: 3 } }]);
  const { parts } = await readOverHttp(adapter, prompt, { text: false });
  expect(parts.slice(1)).toMatchObject([
    { type: "reasoning", text: "Three." },
    { type: "data-output", data: { n: 3 } },
  ]);
});

test("AIS-25 thoughts are a part of their own, before the text", async () => {
  const { parts } = await readOverHttp(scripted([{ reasoning: "One and two.", text: "It is 3." }]), sum);
  expect(parts.slice(1)).toMatchObject([
    { type: "reasoning", text: "One and two.", state: "done" },
    { type: "text", text: "It is 3.", state: "done" },
  ]);
});

test("AIS-25 SRC-1 sources, files and calls that the provider ran are parts of the message", async () => {
  const bytes = Buffer.from("\u0089PNG\r\n\u001a\n picture", "latin1");
  const step: ScriptedStep = {
    text: "It is 3.",
    providerCalls: [
      { callId: "p1", name: "search", input: { query: "1 + 2" }, output: ["3"], isError: false },
      { callId: "p2", name: "search", input: {}, output: "too many", isError: true },
    ],
    sources: [
      { kind: "url", url: "https://a.example/", title: "A" },
      { kind: "document", title: "B", fileName: "b.pdf" },
    ],
    files: [{ at: 8, mediaType: "image/png", data: bytes }],
  };
  const { parts, errors } = await readOverHttp(scripted([step]), sum, {
    fileUrl: (file) => (file.kind === "stored" ? `/files/${file.hash}` : undefined),
  });
  expect(errors).toEqual([]);
  expect(parts.slice(1)).toMatchObject([
    { type: "text", text: "It is 3." },
    { type: "dynamic-tool", toolName: "search", state: "output-available", output: ["3"], providerExecuted: true },
    { type: "dynamic-tool", toolName: "search", state: "output-error", errorText: "too many" },
    { type: "source-url", url: "https://a.example/", title: "A" },
    { type: "source-document", title: "B", filename: "b.pdf" },
    { type: "file", mediaType: "image/png", url: expect.stringMatching(/^\/files\/[0-9a-f]{64}$/) as string },
  ]);
  const hidden = await readOverHttp(scripted([step]), sum, { tools: false });
  expect(hidden.parts.map(({ type }) => type)).toEqual(["step-start", "text", "source-url", "source-document"]);
});

test("AIS-25 RTE-8 what an evaluation that begins again has shown is taken back", async () => {
  const answers = definePrompt({ key: "n", text: "A number.", output: z.object({ n: z.number() }) });
  const [first, second] = [scripted([{ text: "none" }]), scripted([{ output: { n: 3 } }])];
  const stream = fallback([first, second], { on: ["output"] }).stream(answers.bind());
  const chunks: UIMessageStreamChunk[] = [];
  for await (const chunk of toUIMessageStream(stream)) chunks.push(chunk);
  const resets = chunks.flatMap((chunk) => (chunk.type === "data-reset" ? [chunk.data.id] : []));
  expect(resets).toEqual(["text-1"]);
  expect(chunks.filter(({ type }) => type === "text-start")).toHaveLength(2);
  expect(chunks.at(-1)).toEqual({ type: "finish" });
});

test("AIS-25 text of a request that is made again stays a part of its own, and is named", async () => {
  const refused = { failure: "throttle", kind: "unknown", message: "cut" } as const;
  let asked = 0;
  const adapter = modelAdapter(
    {
      name: "m",
      model: "m",
      capabilities: { tools: false, nativeOutput: false },
      async generate({ onDelta }) {
        onDelta?.({ kind: "text", text: asked === 0 ? "Hel" : "Hello." });
        await new Promise((resolve) => void setImmediate(resolve));
        if (asked++ === 0) return refused;
        return { message: { role: "assistant", text: "Hello.", toolCalls: [] }, finishReason: "stop" };
      },
    },
    { throttle: { baseDelayMs: 1, maxDelayMs: 2 } },
  );
  const chunks = [];
  for await (const chunk of toUIMessageStream(adapter.stream("Hi."))) chunks.push(chunk);
  expect(chunks).toEqual([
    { type: "start" },
    { type: "start-step" },
    { type: "text-start", id: "text-1" },
    { type: "text-delta", id: "text-1", delta: "Hel" },
    { type: "text-end", id: "text-1" },
    { type: "data-reset", data: { id: "text-1" }, transient: true },
    { type: "text-start", id: "text-2" },
    { type: "text-delta", id: "text-2", delta: "Hello." },
    { type: "text-end", id: "text-2" },
    { type: "finish-step" },
    { type: "finish" },
  ]);
});

test("AIS-25 a failure is shown by its code alone, also one before the first event", async () => {
  const failing = scripted([{ failure: "provider", reason: "api_key", message: "sk-secret is wrong" }]);
  const { errors } = await readOverHttp(failing, sum);
  expect(errors.map(String)).toEqual(["Error: provider"]);
  const early = await readOverHttp(scripted([]), sum, { maxTurns: -1 });
  expect(early.errors.map(String)).toEqual(["Error: option"]);
});

test("AIS-25 a reader that leaves aborts the evaluation", async () => {
  const session = createSession();
  const ended = new Promise((resolve) => {
    session.on("prompt.failed", resolve);
  });
  const slow = modelAdapter({
    name: "m",
    model: "m",
    capabilities: { tools: false, nativeOutput: false },
    generate: ({ onDelta, signal }) => {
      onDelta?.({ kind: "text", text: "Once" });
      return new Promise((_, reject) => {
        signal.addEventListener("abort", () => reject(signal.reason));
      });
    },
  });
  const prompt = definePrompt({ key: "tell", text: "Tell a story." }).bind();
  await readOverHttp(slow, prompt, { session, leaveAfter: 1 });
  expect(await ended).toMatchObject({ code: "aborted" });
});

test("AIS-25 what is no stream, and an unknown option, are refused", () => {
  expect(() => toUIMessageStream({} as never)).toThrow("toUIMessageStream needs what adapter.stream returns");
  expect(() => toUIMessageStream(scripted([]).stream(sum), { tool: true } as never)).toThrow("tools");
});

test("AIS-25 what is shown of a request that is made again is taken back, each part of it", async () => {
  let asked = 0;
  const provider: ModelProvider = {
    name: "m",
    model: "m",
    capabilities: { tools: true, nativeOutput: true },
    async generate({ onDelta }) {
      if (asked++ > 0) {
        onDelta?.({ kind: "text", text: "The answer." });
        return { message: { role: "assistant", text: "The answer.", toolCalls: [] }, finishReason: "stop" };
      }
      onDelta?.({ kind: "text", text: "First. " });
      onDelta?.({ kind: "reasoning", text: "Hm." });
      onDelta?.({ kind: "text", text: "Second." });
      return { failure: "throttle", kind: "server_error", message: "busy" };
    },
  };
  const environment = fakeEnvironment();
  const stream = modelAdapter(provider, environment).stream("Hi");
  const valid = new Map<string, string>();
  const reading = (async () => {
    for await (const chunk of toUIMessageStream(stream)) {
      if (chunk.type === "text-delta" || chunk.type === "reasoning-delta")
        valid.set(chunk.id, (valid.get(chunk.id) ?? "") + chunk.delta);
      if (chunk.type === "data-reset") valid.delete((chunk.data as { readonly id: string }).id);
    }
  })();
  for (let left = 10; left > 0; left--) await environment.clock.advance(10_000);
  await reading;
  expect([...valid.values()]).toEqual(["The answer."]);
});

test.each(["fileUrl", "onError"] as const)("AIS-25 the evaluation is aborted when %s throws", async (name) => {
  const thrown = new Error(`${name} failed`);
  const steps: ScriptedStep[] = [
    {
      text: "a",
      files: [{ at: 0, mediaType: "image/png", data: await testImage().bytes() }],
      toolCalls: [{ name: "add", arguments: { a: 1, b: 2 } }],
    },
    { text: "Done." },
  ];
  const model = scriptedModel(steps, { capabilities: { files: { types: ["image/png"], from: ["stored"] } } });
  const stream = modelAdapter(model).stream(sum, {
    resources: [provide(Blobs, memoryBlobs())],
    ...(name === "onError" ? { maxTurns: 1 } : {}),
  });
  const page = toUIMessageStream(stream, {
    [name]: () => {
      throw thrown;
    },
  });
  const reading = (async () => {
    for await (const { type } of page) expect(type).not.toBe("finish");
  })();
  await expect(reading).rejects.toBe(thrown);
  await expect(stream.response).rejects.toMatchObject({ code: name === "fileUrl" ? "aborted" : "turns" });
  expect(model.callCount).toBe(1);
});

/** What a page keeps of a message: ids of its parts are the stream's own. */
const asked = (
  prompt: Prompt,
  steps: readonly ScriptedStep[],
  options: Pick<UIMessageStreamOptions, "tools" | "text"> = {},
) => {
  const journal = memoryJournal();
  const adapter = scripted(steps);
  const messages = [
    { role: "user", text: "Hello." },
    { role: "assistant", text: "An older answer.", toolCalls: [] },
  ] as const;
  return () => readOverHttp(adapter, prompt, { ...options, messages, run: journal.run("r") });
};

describe("AIS-25 a page that asks for a run that has ended gets what the first one got", () => {
  const steps = [
    { reasoning: "Hm.", text: "I add.", toolCalls: [{ name: "add", arguments: { a: 1, b: 2 } }] },
    {
      toolCalls: [
        { name: "add", arguments: { a: -1, b: 2 } },
        { name: "add", arguments: { a: "x" } },
        { name: "nope" },
      ],
    },
    { text: "It is 3.", sources: [{ kind: "url", url: "https://a.example", title: "A" }] },
  ] as const satisfies readonly ScriptedStep[];

  test("text, thoughts, calls and sources, turn by turn", async () => {
    const ask = asked(sum, steps);
    const [first, again] = [await ask(), await ask()];
    expect(first.parts.map(({ type }) => type)).toContain("source-url");
    expect(again.parts).toEqual(first.parts);
    expect(again.states.at(-1)?.id).toBe("m1");
  });

  test("without tools, and without text", async () => {
    const ask = asked(sum, steps, { tools: false, text: false });
    const [first, again] = [await ask(), await ask()];
    expect(again.parts).toEqual(first.parts);
    expect(JSON.stringify(again.parts)).not.toMatch(/add|It is/);
  });

  test("a structured output", async () => {
    const prompt = definePrompt({ key: "n", text: "A number.", output: z.object({ n: z.number() }) }).bind();
    const ask = asked(prompt, [{ output: { n: 3 } }]);
    const [first, again] = [await ask(), await ask()];
    expect(again.parts).toContainEqual(expect.objectContaining({ type: "data-output", data: { n: 3 } }));
    expect(again.parts).toContainEqual(expect.objectContaining({ type: "text", text: '{"n":3}' }));
    const kept = (parts: typeof first.parts) => parts.filter(({ type }) => type !== "data-output");
    expect(kept(again.parts)).toEqual(kept(first.parts));
  });

  test("RTE-8 of an evaluation that began again the calls of its last attempt", async () => {
    const prompt = definePrompt({
      key: "n",
      output: z.object({ n: z.number() }),
      sections: [{ key: "task", text: "Add.", tools: [add] }],
    });
    const attempt = (last: string) => scripted([toolCall({ a: 1, b: 2 }), { text: last }]);
    const chain = fallback([attempt("none"), attempt('{"n":3}')], { on: ["output"], repeatTools: true });
    const journal = memoryJournal();
    const messages = [1, 2, 3].flatMap((n) => [
      { role: "user" as const, text: "Hello." },
      { role: "assistant" as const, text: `Older answer ${n}.`, toolCalls: [] },
    ]);
    const ask = () => readOverHttp(chain, prompt.bind(), { messages, run: journal.run("r") });
    const [first, again] = [await ask(), await ask()];
    expect(JSON.stringify(again.parts)).not.toContain("Older");
    expect(again.parts.filter(({ type }) => type === "step-start")).toHaveLength(2);
    expect(first.parts.filter(({ type }) => type === "dynamic-tool")).toHaveLength(2);
    expect(again.parts.filter(({ type }) => type === "dynamic-tool")).toMatchObject([
      { toolName: "add", state: "output-available", output: { sum: 3 } },
    ]);
  });

  test("a run that ended with a failure says its code again", async () => {
    const ask = asked(sum, [{ failure: "provider", reason: "bad_request", message: "No." }]);
    const [first, again] = [await ask(), await ask()];
    expect(first.errors).toHaveLength(1);
    expect(String(again.errors[0])).toBe(String(first.errors[0]));
  });
});

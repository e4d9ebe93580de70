import type {
  AssistantMessage,
  Message,
  ModelFailure,
  ModelProvider,
  ModelRequest,
  ModelResponse,
} from "@proviso/core";
import type { ModelDelta } from "@proviso/core/provider";
import { modelAdapter } from "@proviso/runtime";
import { afterEach, describe, expect, test, vi } from "vitest";
import { benchOf, type Way } from "../../src/conformance/kit.ts";
import { cases } from "../../src/conformance/suite.ts";
import { toyModel } from "./toy-adapter.ts";
import { startToyService } from "./toy-service.ts";

type Answer = ModelResponse | ModelFailure;
interface Break {
  readonly request?: (request: ModelRequest) => ModelRequest;
  readonly response?: (response: ModelResponse) => Answer;
  readonly failure?: (failure: ModelFailure) => Answer;
  /** The key is not among the secrets. */
  readonly leaky?: boolean;
  /** Asks again by itself. */
  readonly insistent?: boolean;
  /** Throws what it should tell. */
  readonly throws?: boolean;
  /** Sends what it was asked before along. */
  readonly remembers?: boolean;
  /** Tells the deltas of all evaluations to the last one. */
  readonly mixes?: boolean;
  /** Reads each piece of a body for itself. */
  readonly piecemeal?: boolean;
  readonly way?: Way;
  /** How the titles of cases begin that have to fail. */
  readonly caught: readonly string[];
}

const eachMessage = (change: (message: Message) => Message) => (request: ModelRequest) => ({
  ...request,
  messages: request.messages.map(change),
});
const assistant = (change: (message: AssistantMessage) => AssistantMessage) =>
  eachMessage((message) => (message.role === "assistant" ? change(message) : message));
const trimmed = (role: Message["role"]) =>
  eachMessage((message) => (message.role === role ? { ...message, text: message.text.trim() } : message));
const isTool = ({ role }: Message) => role === "tool";
const said = (response: ModelResponse) => JSON.stringify(response.payload);
const unreadable = { failure: "provider", reason: "invalid_response", message: "Unreadable." } as const;
const answering = (change: Partial<ModelResponse>) => (response: ModelResponse) => ({ ...response, ...change });

/** Mistakes that adapters make, each with the cases that have to see it. */
const breaks: Readonly<Record<string, Break>> = {
  "arguments are parsed and written again": {
    request: assistant((message) => ({
      ...message,
      toolCalls: message.toolCalls.map((call) => ({ ...call, arguments: rewritten(call.arguments) })),
    })),
    caught: ["LOOP-2 arguments"],
  },
  "the text beside calls is dropped": {
    request: assistant((message) => (message.toolCalls.length > 0 ? { ...message, text: "" } : message)),
    caught: ["LOOP-7 a request", "LOOP-2 arguments"],
  },
  "thoughts are not replayed": {
    request: assistant(({ role, text, toolCalls }) => ({ role, text, toolCalls })),
    caught: ["LOOP-2 opaque"],
  },
  "the system text is dropped": {
    request: (request) => ({ ...request, messages: request.messages.filter(({ role }) => role !== "system") }),
    caught: ["LOOP-7 a request"],
  },
  "the history is forgotten": {
    request: (request) => ({ ...request, messages: request.messages.slice(-2) }),
    caught: ["LOOP-7 a request", "LOOP-2 what a request carries"],
  },
  "results come in the wrong order": {
    request: (request) => ({ ...request, messages: toolsReversed(request.messages) }),
    caught: ["TOOL-5"],
  },
  "the tool choice is not sent": {
    request: (request) => ({ ...request, toolChoice: undefined }),
    caught: ["TOOL-9 a forced", "TOOL-9 none"],
  },
  "a tool choice is always sent": {
    request: (request) => ({
      ...request,
      toolChoice: "required",
      tools: [{ name: "x", description: "", inputSchema: {} }],
    }),
    caught: ["PRO-2 a setting", "PRO-2 a prompt", "TOOL-9"],
  },
  "the schema is not sent": { request: (request) => ({ ...request, output: undefined }), caught: ["OUT-2 OUT-6"] },
  "the schema is empty": {
    request: ({ output, ...request }) => ({ ...request, output: output && { ...output, schema: {} } }),
    caught: ["OUT-6 the schema"],
  },
  "the schema is sent on the first turn alone": {
    request: (request) => (request.messages.some(isTool) ? { ...request, output: undefined } : request),
    caught: ["OUT-6 the schema"],
  },
  "the schema is changed in place": {
    request: (request) => {
      for (const { inputSchema } of request.tools) Reflect.set(inputSchema, "strict", true);
      return request;
    },
    caught: ["PRM-9"],
  },
  "tools are not sent": { request: (request) => ({ ...request, tools: [] }), caught: ["LOOP-7 tools"] },
  "tools are sent on the first turn alone": {
    request: (request) => (request.messages.some(isTool) ? { ...request, tools: [] } : request),
    caught: ["LOOP-7 tools"],
  },
  "tools are sent without their descriptions": {
    request: ({ tools, ...request }) => ({ ...request, tools: tools.map((tool) => ({ ...tool, description: "" })) }),
    caught: ["LOOP-7 tools"],
  },
  "tools are sent without their parameters": {
    request: ({ tools, ...request }) => ({ ...request, tools: tools.map((tool) => ({ ...tool, inputSchema: {} })) }),
    caught: ["LOOP-7 tools"],
  },
  "of two user messages in a row the last one is sent": {
    request: ({ messages, ...request }) => ({
      ...request,
      messages: messages.filter(({ role }, at) => role !== "user" || messages[at + 1]?.role !== "user"),
    }),
    caught: ["LOOP-7 two user messages"],
  },
  "user texts are trimmed": { request: trimmed("user"), caught: ["LOOP-7 white space"] },
  "results are trimmed": { request: trimmed("tool"), caught: ["TOOL-5 white space"] },
  "answers are trimmed": {
    response: ({ message, ...rest }) => ({ ...rest, message: { ...message, text: message.text.trim() } }),
    caught: ["LOOP-7 white space"],
  },
  "arguments are replayed without the white space around them": {
    request: assistant(({ toolCalls, ...message }) => ({
      ...message,
      toolCalls: toolCalls.map((call) => ({ ...call, arguments: call.arguments.trim() })),
    })),
    caught: ["LOOP-2 arguments are replayed with"],
  },
  "an evaluation is asked with what another one was": { remembers: true, caught: ["LOOP-7 one adapter"] },
  "deltas go to whoever asked last": { mixes: true, way: "stream", caught: ["PRO-1 one adapter"] },
  "the signal does not reach the wire": {
    request: (request) => ({ ...request, signal: new AbortController().signal }),
    caught: ["LIM-3 the signal"],
  },
  "what the service said is lost": {
    response: answering({ payload: undefined }),
    caught: ["LOOP-5 THR-6 what the service answered"],
  },
  "what the service said in a refusal is lost": {
    failure: (failure) => ({ ...failure, payload: undefined }),
    caught: ["LOOP-5 THR-6 what the service answered"],
  },
  "unknown fields are refused": {
    response: (response) => (said(response).includes("brandNew") ? unreadable : response),
    caught: ["PRO-3 unknown fields"],
  },
  "long answers are refused": {
    response: (response) => (said(response).length > 65_536 ? unreadable : response),
    caught: ["LOOP-5 a long answer"],
  },
  "characters are read in pieces": { piecemeal: true, way: "stream", caught: ["PRO-3 a stream that is cut inside"] },
  "a stream is never asked for": {
    way: "stream",
    request: ({ onDelta: _, ...request }) => request,
    caught: ["STR-1 stream asks"],
  },
  "another shape is asked for again": {
    response: (response) =>
      said(response).includes('"list"') ? { failure: "throttle", kind: "unknown", message: "Odd." } : response,
    caught: ["LOOP-5 JSON of another shape"],
  },
  "cached tokens are forgotten": {
    response: (response) => ({ ...response, usage: { ...response.usage, cachedInputTokens: 0 } }),
    caught: ["LOOP-6 usage comes"],
  },
  "usage is never told": {
    response: answering({ usage: undefined }),
    caught: ["LOOP-6 usage comes", "LOOP-6 usage is summed", "LIM-6"],
  },
  "usage is made up where there is none": {
    response: (response) => ({
      ...response,
      usage: response.usage ?? { inputTokens: 1, outputTokens: 1, totalTokens: 2 },
    }),
    caught: ["LIM-6"],
  },
  "every answer is a whole one": {
    response: (response) => ({ ...response, finishReason: "stop" }),
    caught: ["LOOP-5 a refusal", "LOOP-5 an answer that is cut"],
  },
  "a refusal is a text": {
    response: ({ refusal, message, ...rest }) => ({
      ...rest,
      message: refusal ? { ...message, text: refusal } : message,
    }),
    caught: ["LOOP-5 a refusal"],
  },
  "only the first call is read": {
    response: ({ message, ...rest }) => ({
      ...rest,
      message: { ...message, toolCalls: message.toolCalls.slice(0, 1) },
    }),
    caught: ["TOOL-6", "TOOL-7", "TX-1"],
  },
  "arguments are trimmed on their way in": {
    response: ({ message, ...rest }) => ({
      ...rest,
      message: {
        ...message,
        toolCalls: message.toolCalls.map((call) => ({ ...call, arguments: rewritten(call.arguments) })),
      },
    }),
    caught: ["LOOP-2 arguments"],
  },
  "Retry-After is not read": {
    failure: (failure) => (failure.failure === "throttle" ? { ...failure, retryAfterMs: undefined } : failure),
    caught: ["THR-3 Retry-After is the floor", "THR-3 THR-4"],
  },
  "everything is asked again": {
    failure: ({ message }) => ({ failure: "throttle", kind: "unknown", message }),
    caught: ["THR-1 ERR-2", "LOOP-5 a body", "THR-1 a passing failure"],
  },
  "nothing is asked again": {
    failure: ({ message }) => ({ failure: "provider", reason: "unknown", message }),
    caught: ["THR-1 a passing failure", "THR-6", "THR-5", "PRO-1 the same events"],
  },
  "failures are thrown": { throws: true, caught: ["THR-1 a passing failure", "THR-1 ERR-2"] },
  "it asks again by itself": { insistent: true, caught: ["THR-1 a passing failure", "THR-6", "PRO-1 the same events"] },
  "the key is no secret": { leaky: true, caught: ["SEC-1"] },
  "a cut stream is a short answer": {
    way: "stream",
    failure: (failure) =>
      failure.message.includes("ended before")
        ? { message: { role: "assistant", text: "Once", toolCalls: [] }, finishReason: "stop" }
        : failure,
    caught: ["THR-9"],
  },
  "every delta is told twice": {
    way: "stream",
    request: ({ onDelta, ...request }) => ({
      ...request,
      ...(onDelta && {
        onDelta: (delta) => {
          onDelta(delta);
          onDelta(delta);
        },
      }),
    }),
    caught: ["STR-1 the deltas add", "STR-1 the deltas of"],
  },
  "a stream is asked for always": {
    way: "evaluate",
    request: (request) => ({ ...request, onDelta: request.onDelta ?? (() => {}) }),
    caught: ["STR-1 evaluate"],
  },
};

afterEach(() => void vi.unstubAllGlobals());

describe("PRO-1 PRO-5 what the suite is worth", () => {
  test.each(Object.entries(breaks))("PRO-1 PRO-5 an adapter is caught where %s", async (_, broken) => {
    const way = broken.way ?? "evaluate";
    if (broken.piecemeal === true) readInPieces();
    const bench = benchOf(
      {
        async start(script, { apiKey, ...settings }) {
          const service = await startToyService(script);
          const provider = toyModel({ model: "toy-1", baseURL: service.baseURL, apiKey });
          const secrets = broken.leaky === true ? [] : [apiKey];
          return { ...service, adapter: modelAdapter(withBreak(provider, broken), { ...settings, secrets }) };
        },
      },
      way,
    );
    for (const beginning of broken.caught) {
      const concerned = cases.filter((one) => (one.way ?? way) === way && one.title.startsWith(beginning));
      expect(concerned.length, beginning).toBeGreaterThan(0);
      const outcomes = await Promise.allSettled(concerned.map((one) => one.run(bench)));
      expect(
        outcomes.map(({ status }) => status),
        beginning,
      ).toContain("rejected");
    }
  });
});

function withBreak(provider: ModelProvider, broken: Break): ModelProvider {
  const { request: changed = (given) => given, response = (given) => given, failure = (given) => given } = broken;
  const kept: Message[] = [];
  let hear: ModelRequest["onDelta"];
  return {
    ...provider,
    async generate(given) {
      const messages = [...kept, ...given.messages];
      if (broken.remembers === true) kept.push(...given.messages);
      hear = given.onDelta;
      const heard = hear && broken.mixes === true ? { onDelta: (delta: ModelDelta) => hear?.(delta) } : {};
      const request = { ...given, messages, ...heard };
      let answer = await provider.generate(changed(request));
      if (broken.insistent === true && answer.failure === "throttle") answer = await provider.generate(request);
      if (answer.failure === undefined) return response(answer);
      if (broken.throws === true) throw new Error(answer.message);
      return failure(answer);
    },
  };
}

function readInPieces(): void {
  const { fetch } = globalThis;
  vi.stubGlobal("fetch", async (...given: Parameters<typeof fetch>) => {
    const { body, ...response } = await fetch(...given).then(({ body, status, headers }) => ({
      body,
      status,
      headers,
    }));
    const transform = (bytes: Uint8Array, controller: TransformStreamDefaultController<Uint8Array>) =>
      controller.enqueue(new TextEncoder().encode(new TextDecoder().decode(bytes)));
    return new Response(body?.pipeThrough(new TransformStream({ transform })) ?? null, response);
  });
}

function rewritten(given: string): string {
  try {
    return JSON.stringify(JSON.parse(given));
  } catch {
    return given;
  }
}

function toolsReversed(messages: readonly Message[]): readonly Message[] {
  const tools = messages.filter(({ role }) => role === "tool").toReversed();
  return messages.map((message) => (message.role === "tool" ? (tools.shift() ?? message) : message));
}

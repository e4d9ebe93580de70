import type {
  AssistantMessage,
  Message,
  ModelFailure,
  ModelProvider,
  ModelRequest,
  ModelResponse,
} from "@proviso/core";
import { modelAdapter } from "@proviso/runtime";
import { describe, expect, test } from "vitest";
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
  "cached tokens are forgotten": {
    response: (response) => ({ ...response, usage: { ...response.usage, cachedInputTokens: 0 } }),
    caught: ["LOOP-6 usage is told"],
  },
  "usage is never told": {
    response: answering({ usage: undefined }),
    caught: ["LOOP-6 usage is told", "LOOP-6 usage is summed", "LIM-6"],
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
    caught: ["THR-1 ERR-2", "LOOP-5 a body", "THR-1 what passes"],
  },
  "nothing is asked again": {
    failure: ({ message }) => ({ failure: "provider", reason: "unknown", message }),
    caught: ["THR-1 what passes", "THR-6", "THR-5", "PRO-1 the same events"],
  },
  "failures are thrown": { throws: true, caught: ["THR-1 what passes", "THR-1 ERR-2"] },
  "it asks again by itself": { insistent: true, caught: ["THR-1 what passes", "THR-6", "PRO-1 the same events"] },
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

describe("PRO-1 PRO-5 what the suite is worth", () => {
  test.each(Object.entries(breaks))("PRO-1 PRO-5 an adapter is caught where %s", async (_, broken) => {
    const way = broken.way ?? "evaluate";
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
  return {
    ...provider,
    async generate(request) {
      let answer = await provider.generate(changed(request));
      if (broken.insistent === true && answer.failure === "throttle") answer = await provider.generate(request);
      if (answer.failure === undefined) return response(answer);
      if (broken.throws === true) throw new Error(answer.message);
      return failure(answer);
    },
  };
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

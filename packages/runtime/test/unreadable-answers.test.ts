import {
  definePrompt,
  defineTool,
  isEvent,
  type ModelProvider,
  type ModelResponse,
  type ProviderResponded,
} from "@proviso/core";
import { agentAdapter, createSession, modelAdapter } from "@proviso/runtime";
import { fakeEnvironment, recordEvents, scriptedModel } from "@proviso/runtime/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import { rejectionOf } from "./tools/support.ts";

const add = defineTool({
  name: "add",
  description: "Adds.",
  input: z.object({ a: z.number().default(1) }),
  execute: ({ a }) => a,
});
const prompt = definePrompt({ key: "p", sections: [{ key: "s", text: "Add.", tools: [add] }] }).bind();
const budget = { maxTotalTokens: 100_000 };

/** A model of somebody's own, which answers first with this message. */
function answering(message: object): ModelProvider & { readonly requests: { count: number } } {
  const requests = { count: 0 };
  return {
    name: "own",
    model: "own-1",
    capabilities: { tools: true, nativeOutput: false },
    requests,
    async generate() {
      requests.count += 1;
      const first = { role: "assistant", text: "", toolCalls: [], ...message };
      const answer = requests.count === 1 ? first : { role: "assistant", text: "done", toolCalls: [] };
      return { message: answer, finishReason: "stop" } as unknown as ModelResponse;
    },
  };
}

const circular: Record<string, unknown> = {};
circular["self"] = circular;
const call = { id: "c1", name: "add" };

test.each([
  [
    "a bigint among the provider's own items",
    { toolCalls: [{ ...call, arguments: "{}" }], providerItems: [{ id: 1n }] },
    "BigInt",
  ],
  ["a circle among them", { text: "x", providerItems: circular }, "circular"],
  [
    "one that throws when it is read",
    {
      text: "x",
      providerItems: {
        get item() {
          throw new Error("not now");
        },
      },
    },
    "not now",
  ],
])("PRO-10 an answer with %s is an invalid response", async (_, message, why) => {
  const session = createSession();
  const model = answering(message);
  const error = await rejectionOf(modelAdapter(model, fakeEnvironment()).evaluate(prompt, { session, budget }));
  expect(error).toMatchObject({ code: "provider", reason: "invalid_response" });
  expect(error.message).toContain("The provider's own items cannot be written as JSON");
  expect(error.message).toContain(why);
  expect(model.requests.count).toBe(1);
});

test.each([[{ a: 1 }], [7], [[]], [true]])(
  "PRO-10 arguments that are no text are an invalid response: %o",
  async (given) => {
    const session = createSession();
    const events = recordEvents(session);
    const model = answering({ toolCalls: [{ ...call, arguments: given }] });
    const error = await rejectionOf(modelAdapter(model, fakeEnvironment()).evaluate(prompt, { session, budget }));
    expect(error).toMatchObject({ code: "provider", reason: "invalid_response" });
    expect(error.message).toBe("The provider returned a call of add whose arguments are no text.");
    const { usage } = error as unknown as { usage: Record<string, number> };
    for (const count of Object.values(usage)) expect(count).not.toBeNaN();
    expect(events.map(({ type }) => type)).not.toContain("tool.invoked");
  },
);

test.each([[undefined], [null], [""]])("TOOL-1 arguments that are left out are none: %o", async (given) => {
  const model = answering({ toolCalls: [{ ...call, arguments: given }] });
  const { toolResults, usage } = await modelAdapter(model, fakeEnvironment()).evaluate(prompt, { budget });
  expect(toolResults[0]?.result).toMatchObject({ success: true, value: 1 });
  for (const count of Object.values(usage)) expect(count).not.toBeNaN();
});

test("PRO-10 TOOL-1 an agent that gives an object as arguments gets an error about it, and its usage is a number", async () => {
  const adapter = agentAdapter(
    {
      name: "own",
      model: "own-1",
      async drive({ executeToolCall }) {
        const { text } = await executeToolCall({ ...call, arguments: { a: 1 } as unknown as string });
        return { message: { role: "assistant", text, toolCalls: [] }, finishReason: "stop" };
      },
    },
    fakeEnvironment(),
  );
  const { text, usage } = await adapter.evaluate(prompt, { budget });
  expect(text).toMatch(/^The arguments could not be read: not JSON: .*an object.* Send one JSON object\.$/u);
  for (const count of Object.values(usage)) expect(count).not.toBeNaN();
});

test("PRO-10 messages whose provider items cannot be written as JSON are refused before a request", async () => {
  const model = scriptedModel([{ text: "done" }]);
  const messages = [
    { role: "user", text: "Hi." },
    { role: "assistant", text: "Hello.", toolCalls: [], providerItems: [{ id: 1n }] },
  ] as const;
  const error = await rejectionOf(modelAdapter(model, fakeEnvironment()).evaluate(prompt, { messages, budget }));
  expect(error).toMatchObject({ code: "option" });
  expect(error.message).toContain("[1].providerItems");
  expect(model.requests).toHaveLength(0);
});

/** A model of somebody's own that returns this beside its message, or in place of it. */
function returning(given: object): ModelProvider {
  const message = { role: "assistant", text: "x", toolCalls: [] };
  return {
    ...answering({}),
    generate: async () => ({ message, finishReason: "stop", ...given }) as unknown as ModelResponse,
  };
}

async function respondedWith(given: object) {
  const session = createSession();
  const events = recordEvents(session);
  const response = await modelAdapter(returning(given), fakeEnvironment()).evaluate(prompt, { session });
  const event = events.find((each) => isEvent(each, "provider.responded")) as ProviderResponded;
  return { response, event };
}

test("PRO-5 EVT-2 logarithms of tokens are finite numbers, in the response as in the event", async () => {
  const given = (logprob: number, other: number) => ({
    logprobs: [{ token: "a", logprob, top: [{ token: "b", logprob: other }] }],
  });
  for (const odd of [-Infinity, Number.NaN]) {
    const without = await respondedWith(given(odd, -1));
    expect(without.response).not.toHaveProperty("logprobs");
    expect(without.event).not.toHaveProperty("logprobs");
    const { response, event } = await respondedWith(given(-1, odd));
    expect(response.logprobs).toEqual([{ token: "a", logprob: -1, top: [] }]);
    expect(JSON.parse(JSON.stringify(event.logprobs))).toEqual(response.logprobs);
  }
});

const step = { provider: "p", model: "m", outcome: "answered", durationMs: 1 };

test.each<[string, unknown]>([
  ["a bigint for a name", [{ ...step, provider: 1n }]],
  ["a field missing", [step, { provider: "p" }]],
  ["no number of milliseconds", [{ ...step, durationMs: Number.NaN }]],
  ["no list", step],
  ["nothing in it", []],
])("PRO-5 EVT-2 a route with %s counts as not given", async (_, route) => {
  const { event } = await respondedWith({ route });
  expect(event).not.toHaveProperty("route");
});

test("PRO-5 EVT-2 what a route has beside its fields is left out", async () => {
  const { event } = await respondedWith({
    route: [{ ...step, why: 1n, more: 1n, usage: { inputTokens: 3, cost: 1n } }],
  });
  expect(JSON.parse(JSON.stringify(event.route))).toEqual([{ ...step, usage: { inputTokens: 3 } }]);
});

test("PRO-5 a failure with an empty route was sent, and the service's own answer is its message", async () => {
  const failure = { failure: "throttle", kind: "rate_limit", message: "Slow down.", route: [], retry: false };
  const error = await rejectionOf(modelAdapter(returning(failure), fakeEnvironment()).evaluate(prompt));
  expect(error).toMatchObject({ code: "throttled" });
  expect(error.message).toContain("Slow down.");
  expect(error.message).not.toContain("not sent");
});

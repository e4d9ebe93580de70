// An agent that fails while a call of it is under way.
import { allow, definePolicy, defineTool } from "@proviso/core";
import { agentAdapter, modelAdapter, type AgentDriver } from "@proviso/runtime";
import { recordEvents, scriptedModel } from "@proviso/runtime/testing";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { noted, promptOf, rejectionOf, world } from "./tools/support.ts";

/** Fails as soon as what it called has begun. */
const failing = (begun: Promise<unknown>, way: string): AgentDriver => ({
  name: "agent",
  model: "agent-1",
  async drive({ executeToolCall }) {
    void executeToolCall({ id: "c", name: "wait", arguments: "{}" });
    await begun;
    if (way === "throws") throw new Error("The agent crashed.");
    if (way === "answers nothing") return undefined as never;
    return { failure: "provider", reason: "unknown", message: "The agent crashed." };
  },
});

const untilAborted = (signal: AbortSignal): Promise<unknown> =>
  new Promise((resolve) => signal.addEventListener("abort", () => resolve("told")));

const waits = {
  "a handler that waits for its signal": true,
  "a handler that heeds nothing": true,
  "an evaluation inside the call": true,
  "a policy's check": true,
  "an approval": true,
} as const;

describe.each(Object.keys(waits) as (keyof typeof waits)[])("LIM-3 %s", (wait) => {
  test.each(["throws", "answers nothing", "fails"])("ends when the agent %s, and its call is undone", async (way) => {
    const { promise: begun, resolve: begins } = Promise.withResolvers<void>();
    let told: AbortSignal | undefined;
    const tool = defineTool({
      name: "wait",
      description: "Waits for an answer from elsewhere.",
      input: z.object({}),
      async execute(_, context) {
        told = context.signal;
        context.session.dispatch(noted({ text: "never" }));
        if (wait === "an evaluation inside the call") {
          const model = scriptedModel([
            () => {
              begins();
              return { text: "late", afterMs: 60_000 };
            },
          ]);
          return (await context.evaluate(promptOf({}, "dear"), { adapter: modelAdapter(model) })).text;
        }
        begins();
        return wait === "a handler that heeds nothing" ? new Promise(() => {}) : untilAborted(context.signal);
      },
    });
    const holds = (): Promise<never> => {
      begins();
      return new Promise(() => {});
    };
    const policies =
      wait === "an approval"
        ? [definePolicy({ name: "asks", approve: holds })]
        : wait === "a policy's check"
          ? [definePolicy({ name: "looks", check: holds })]
          : [definePolicy({ name: "lets", check: () => allow() })];
    const { session, resources, digest } = world();
    const before = await digest();
    const events = recordEvents(session);
    const adapter = agentAdapter(failing(begun, way));
    const error = await rejectionOf(adapter.evaluate(promptOf({ tools: [tool] }), { session, resources, policies }));
    expect(error).toMatchObject({ code: "provider" });
    if (told !== undefined) expect(told.aborted).toBe(true);
    expect(await digest()).toEqual(before);
    expect(events.filter(({ type }) => type === "tool.invoked")).toMatchObject([
      { result: { success: false, message: expect.stringContaining("The turn of the agent has failed.") } },
    ]);
  });
});

test("LIM-3 the signal of a handler does not fire when the agent has answered: what it does counts", async () => {
  const { promise: begun, resolve: begins } = Promise.withResolvers<void>();
  const tool = defineTool({
    name: "wait",
    description: "Works on.",
    input: z.object({}),
    async execute(_, { signal }) {
      begins();
      for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => setImmediate(resolve));
      return signal.aborted;
    },
  });
  const adapter = agentAdapter({
    name: "agent",
    model: "agent-1",
    async drive({ executeToolCall }) {
      void executeToolCall({ id: "c", name: "wait", arguments: "{}" });
      await begun;
      return { message: { role: "assistant", text: "Done.", toolCalls: [] }, finishReason: "stop" };
    },
  });
  const { session } = world();
  const events = recordEvents(session);
  expect((await adapter.evaluate(promptOf({ tools: [tool] }), { session })).text).toBe("Done.");
  expect(events.filter(({ type }) => type === "tool.invoked")).toMatchObject([
    { result: { success: true, value: false } },
  ]);
});

// An agent that fails while a call of it is under way, in a run that is recorded.
import { defineTool, trackBudget } from "@proviso/core";
import { memoryJournal } from "@proviso/journal";
import { replay } from "@proviso/journal/testing";
import { agentAdapter, createSession, modelAdapter } from "@proviso/runtime";
import { recordEvents, scriptedModel } from "@proviso/runtime/testing";
import { definePrompt } from "@proviso/core";
import { expect, test } from "vitest";
import { z } from "zod";

test.each(["recorded", "run"] as const)(
  "RPL-7 LIM-3 a turn that failed beside its call replays up to its failure, its tools %s",
  async (tools) => {
    const { promise: begun, resolve: begins } = Promise.withResolvers<void>();
    const told: boolean[] = [];
    const wait = defineTool({
      name: "wait",
      description: "Waits for an answer from elsewhere.",
      input: z.object({}),
      execute: (_, { signal }) =>
        new Promise((resolve) => {
          begins();
          signal.addEventListener("abort", () => resolve(told.push(true)));
        }),
    });
    const prompt = definePrompt({ key: "p", sections: [{ key: "task", text: "Wait.", tools: [wait] }] }).bind();
    const adapter = agentAdapter({
      name: "agent",
      model: "agent-1",
      async drive({ executeToolCall }) {
        void executeToolCall({ id: "c", name: "wait", arguments: "{}" });
        await begun;
        throw new Error("The agent crashed.");
      },
    });
    const journal = memoryJournal();
    const evaluated = async (run: ReturnType<typeof journal.run>) => {
      const session = createSession({ id: "s" });
      const events = recordEvents(session);
      const error = await adapter.evaluate(prompt, { run, session }).then(
        () => undefined,
        (each: Error) => each.message,
      );
      return { error, events: events.map((event) => JSON.stringify(event)) };
    };
    const live = await evaluated(journal.run("r"));
    expect(live.error).toContain("The agent crashed.");
    expect(told).toEqual([true]);
    expect(await evaluated(journal.replay("r", { tools }))).toEqual(live);
  },
);

test.each([60, 90, 300])(
  "RPL-1 LIM-5 a turn whose call has spent %i of its budget replays, whether its place is refused or not",
  async (outputTokens) => {
    const other = modelAdapter(scriptedModel([{ text: "x", usage: { inputTokens: 10, outputTokens } }]));
    const think = defineTool({
      name: "think",
      description: "Thinks.",
      input: z.object({}),
      readOnly: true,
      execute: async (_, { evaluate }) => (await evaluate("Think.", { adapter: other })).text,
    });
    const prompt = definePrompt({ key: "p", sections: [{ key: "task", text: "Do.", tools: [think] }] }).bind();
    const usage = { inputTokens: 10, outputTokens: 5 };
    const adapter = agentAdapter({
      name: "agent",
      model: "agent-1",
      async drive({ executeToolCall }) {
        await executeToolCall({ id: "c", name: "think", arguments: "{}" });
        return { message: { role: "assistant", text: "done", toolCalls: [] }, finishReason: "stop", usage };
      },
    });
    await using journal = memoryJournal();
    const budget = trackBudget({ maxTotalTokens: 200 });
    const live = await adapter.evaluate(prompt, { budget, run: journal.run("r") }).then(
      ({ text }) => text,
      (error: Error) => error.message,
    );
    const { response, failure } = await replay(prompt, journal.replay("r"));
    expect(response?.text ?? failure?.message).toBe(live);
  },
);

// An agent that fails while a call of it is under way, in a run that is recorded.
import { defineTool } from "@proviso/core";
import { memoryJournal } from "@proviso/journal";
import { agentAdapter, createSession } from "@proviso/runtime";
import { recordEvents } from "@proviso/runtime/testing";
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

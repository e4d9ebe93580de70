// Where nobody reports what a request spent it is estimated from its texts, of which a record may show less.
import { definePrompt, defineTool, type ModelProvider } from "@proviso/core";
import { memoryJournal, type Journal } from "@proviso/journal";
import { replay } from "@proviso/journal/testing";
import { agentAdapter, createSession, modelAdapter, type AgentDriver } from "@proviso/runtime";
import { fakeEnvironment, recordEvents } from "@proviso/runtime/testing";
import { describe, expect, it } from "vitest";
import { z } from "zod";

const secret = "s3cr3t-value-that-is-rather-long-0123456789";
type Place = "nowhere" | "result" | "arguments" | "text" | "thoughts" | "answer";
const shownIn = (place: Place, here: Place): string => (place === here ? `it is ${secret} here` : "nothing");

/** An agent that looks once and answers, or fails. */
const agentOf = (place: Place, isFailing: boolean): AgentDriver => ({
  name: "agent",
  model: "agent-1",
  async drive({ executeToolCall, onDelta }) {
    onDelta({ kind: "text", text: shownIn(place, "text") });
    onDelta({ kind: "reasoning", text: shownIn(place, "thoughts") });
    await executeToolCall({ id: "c", name: "look", arguments: JSON.stringify({ q: shownIn(place, "arguments") }) });
    if (isFailing) return { failure: "provider", reason: "unknown", message: "It broke." };
    return {
      message: { role: "assistant", text: shownIn(place, "answer"), toolCalls: [] },
      finishReason: "stop",
    };
  },
});

/** A model that does the same in two turns. */
const modelOf = (place: Place, isFailing: boolean): ModelProvider => ({
  name: "model",
  model: "model-1",
  capabilities: { tools: true, nativeOutput: true },
  async generate({ messages }) {
    const isFirst = messages.every(({ role }) => role !== "tool");
    if (!isFirst && isFailing) return { failure: "provider", reason: "unknown", message: "It broke." };
    const call = { id: "c", name: "look", arguments: JSON.stringify({ q: shownIn(place, "arguments") }) };
    return {
      message: { role: "assistant", text: shownIn(place, "answer"), toolCalls: isFirst ? [call] : [] },
      finishReason: isFirst ? "tool-calls" : "stop",
    };
  },
});

const promptOf = (place: Place) => {
  const look = defineTool({
    name: "look",
    description: "Looks.",
    input: z.object({ q: z.string() }),
    readOnly: true,
    execute: () => shownIn(place, "result"),
  });
  return definePrompt({ key: "look", sections: [{ key: "task", text: "Look.", tools: [look] }] }).bind();
};

async function evaluated(place: Place, adapter: ReturnType<typeof modelAdapter>, run: ReturnType<Journal["run"]>) {
  const session = createSession({ id: "s" });
  const events = recordEvents(session);
  const came = await adapter.evaluate(promptOf(place), { run, session }).then(
    ({ usage }) => ({ usage }),
    ({ usage, code, message }) => ({ usage, code, message }),
  );
  return { came, events: events.map((event) => JSON.stringify(event)) };
}

const places: readonly Place[] = ["nowhere", "result", "arguments", "text", "thoughts", "answer"];

describe.each(["an agent", "a model"])(
  "RPL-1 JRN-6 %s that reports no usage is replayed with the usage of then",
  (who) => {
    describe.each([false, true])("where it fails: %s", (isFailing) => {
      it.each(places.flatMap((place) => [["journal", place] as const, ["adapter", place] as const]))(
        "and a secret of the %s is in: %s",
        async (whose, place) => {
          const journal = memoryJournal(whose === "journal" ? { secrets: [secret] } : {});
          const own = whose === "adapter" ? { secrets: [secret] } : {};
          const options = { ...fakeEnvironment(), ...own, pricing: { input: 1, output: 2 } };
          const adapter = (): ReturnType<typeof modelAdapter> =>
            who === "a model"
              ? modelAdapter(modelOf(place, isFailing), options)
              : agentAdapter(agentOf(place, isFailing), options);
          const live = await evaluated(place, adapter(), journal.run("r"));
          expect(live.came.usage?.estimated).toBe(true);
          expect(await evaluated(place, adapter(), journal.replay("r"))).toEqual(live);
          await replay(promptOf(place), journal.replay("r"));
        },
      );
    });
  },
);

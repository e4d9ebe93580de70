import { definePrompt, defineTool, type StreamEvent } from "@proviso/core";
import { agentAdapter, modelAdapter, type AgentDriver } from "@proviso/runtime";
import { memoryJournal } from "@proviso/journal";
import { fakeEnvironment, scriptedModel } from "@proviso/runtime/testing";
import { expect, test } from "vitest";
import { z } from "zod";

const secret = "very-secret-token-0001";
const ask = defineTool({
  name: "ask",
  description: "Asks.",
  input: z.object({}),
  async execute(_, { evaluate }) {
    const adapter = modelAdapter(scriptedModel([{ text: "ok" }]), { secrets: [secret] });
    await evaluate("What is the token?", { adapter });
    return `the token is ${secret}`;
  },
});
const prompt = definePrompt({ key: "p", sections: [{ key: "t", text: "Go.", tools: [ask] }] }).bind();

async function all<T>(given: AsyncIterable<T>): Promise<readonly T[]> {
  const list: T[] = [];
  for await (const each of given) list.push(each);
  return list;
}

const usage = { inputTokens: 10, outputTokens: 5, totalTokens: 15 };
const shown = (events: readonly StreamEvent[]): readonly StreamEvent[] =>
  events.filter(({ type }) => type.startsWith("text."));

/** Tells a text, calls the tool, whose evaluation has the secret, and goes on in pieces of this length. */
function agent(before: string, after: string, pieces: number) {
  const driver: AgentDriver = {
    name: "agent",
    model: "agent",
    async drive(run) {
      run.onDelta({ kind: "text", text: before });
      await run.executeToolCall({ id: "c1", name: "ask", arguments: "{}" });
      for (let at = 0; at < after.length; at += pieces)
        run.onDelta({ kind: "text", text: after.slice(at, at + pieces) });
      return { message: { role: "assistant", text: before + after, toolCalls: [] }, finishReason: "stop", usage };
    },
  };
  return agentAdapter(driver, fakeEnvironment());
}

test.each([
  ["Look: ", `the token is ${secret}.`, 1],
  ["Look: ", `the token is ${secret}.`, 5],
  ["Look: ", `the token is ${secret}.`, 1000],
  // Its beginning was kept before anybody knew that it is one.
  ["Look: very-sec", `${secret.slice(8)}.`, 1],
] as const)(
  "JRN-6 SEC-1 after %j the record of a turn hides a secret of an evaluation inside it",
  async (before, after, pieces) => {
    const journal = memoryJournal();
    const events = await all(agent(before, after, pieces).stream(prompt, { run: journal.run("r") }));
    const entries = await all(journal.entries("r"));
    const deltas = entries.flatMap((entry) => (entry.kind === "delta" ? [entry] : []));
    const kept = deltas.slice(deltas.findLastIndex(({ of }) => of === "reset") + 1);
    expect(kept.map(({ text }) => text).join("")).toBe((before + after).replace(secret, "[secret]"));
    expect(JSON.stringify([entries, events])).not.toContain(secret);

    const again = await all(agent("", "", 1).stream(prompt, { run: journal.replay("r") }));
    expect(shown(again)).toEqual(shown(events));
  },
);

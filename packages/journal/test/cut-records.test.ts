// A record may end anywhere, when its process is killed: a replay of what is there comes to its end and says so.
import {
  allow,
  definePolicy,
  definePrompt,
  defineTool,
  provide,
  resourceKey,
  suspend,
  type RunError,
} from "@proviso/core";
import { createJournal, memoryJournal, type Journal, type JournalEntry } from "@proviso/journal";
import { bodyOf, frameSum, memoryStore } from "@proviso/journal/internal";
import { replay } from "@proviso/journal/testing";
import { agentAdapter, modelAdapter, type AgentDriver } from "@proviso/runtime";
import { scriptedModel } from "@proviso/runtime/testing";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { noted, notes } from "./runs-support.ts";
import { listed } from "./support.ts";

interface Rows {
  readonly durable: true;
  readonly rows: string[];
  snapshot(): number;
  restore(length: number): void;
}
const Rows = resourceKey<Rows>("rows");
const newRows = () => {
  const rows: string[] = [];
  const resource: Rows = {
    durable: true,
    rows,
    snapshot: () => rows.length,
    restore: (length) => void rows.splice(length),
  };
  return [provide(Rows, resource)];
};

const input = z.object({ text: z.string() });
const toolOf = (name: string, more: object) =>
  defineTool({
    name,
    description: `Does ${name}.`,
    input,
    ...more,
    async execute({ text }, { session, evaluate, progress }) {
      if (text === "ask") return `asked: ${(await evaluate("A question?")).text}`;
      progress({ done: 1 });
      if (name !== "look") session.dispatch(noted({ text }));
      if (text === "fail") throw new Error("It failed.");
      return `did ${text}`;
    },
  });
const save = toolOf("save", {});
const store = defineTool({
  name: "store",
  description: "Stores a row.",
  input,
  uses: [Rows],
  execute({ text }, { session, resources }) {
    for (let n = 0; n < 2; n++) session.dispatch(noted({ text }));
    resources.get(Rows).rows.push(text);
    return "stored";
  },
});
const later = definePolicy({
  name: "later",
  tools: [save],
  check: ({ input: { text } }) => (text === "later" ? suspend("Now?") : allow()),
});
const prompt = definePrompt({
  ns: "test",
  key: "cut",
  slices: [notes],
  policies: [later],
  sections: [
    {
      key: "task",
      text: "Work.",
      tools: [
        save,
        store,
        toolOf("look", { readOnly: true }),
        toolOf("put", { idempotent: true }),
        toolOf("move", { transactional: true }),
      ],
    },
  ],
}).bind();

const call = (name: string, text: string) => ({ name, arguments: { text } });

async function modelRun(): Promise<Journal> {
  const journal = memoryJournal();
  const model = scriptedModel([
    { toolCalls: [call("look", "1"), call("look", "2")] },
    { toolCalls: [call("save", "ask"), call("move", "3"), call("put", "4")] },
    { text: "An answer." },
    { toolCalls: [call("move", "fail"), call("store", "a"), call("store", "b"), call("save", "5")] },
    { toolCalls: [call("put", "6"), call("save", "later"), call("move", "7")] },
    { text: "Done." },
  ]);
  const resources = newRows();
  const evaluate = () => modelAdapter(model).evaluate(prompt, { run: journal.run("r"), resources });
  const error = await evaluate().catch((cause: unknown) => cause as RunError);
  if (!("pending" in error) || error.pending === undefined) throw new Error("It does not wait.");
  await journal.resolve(error.pending.token, allow());
  await evaluate();
  return journal;
}

async function agentRun(): Promise<Journal> {
  const journal = memoryJournal();
  const drive: AgentDriver["drive"] = async (run) => {
    const calls = [call("look", "1"), call("save", "ask"), call("move", "3"), call("store", "a"), call("save", "4")];
    for (const [place, { name, arguments: given }] of calls.entries()) {
      run.onDelta({ kind: "text", text: "Now " });
      await run.executeToolCall({ id: `c${place}`, name, arguments: JSON.stringify(given) });
    }
    const message = { role: "assistant", text: "Done.", toolCalls: [] } as const;
    return { message, finishReason: "stop", usage: { inputTokens: 1, outputTokens: 1 } };
  };
  const agent = agentAdapter({ name: "agent", model: "agent-1", drive });
  await agent.evaluate(prompt, { run: journal.run("r"), resources: newRows() });
  return journal;
}

/** A journal with the beginning of a record. */
async function beginning(entries: readonly JournalEntry[]): Promise<Journal> {
  const store = memoryStore();
  const of = { run: "r", first: 0, body: bodyOf(1, entries) };
  await store.append([{ ...of, count: entries.length, writer: "gone", sum: frameSum(of), summary: "{}" }]);
  return createJournal(store);
}

describe.each([
  ["a model", modelRun],
  ["an agent", agentRun],
])("of %s", (_, record) => {
  it.each(["recorded", "run"] as const)(
    "RPL-6 RPL-4 a record that was cut anywhere before the end of its evaluation, or cancelled then, is missing what comes next, with tools %s",
    async (tools) => {
      const entries = await listed((await record()).entries("r"));
      const end = entries.findLastIndex((entry) => entry.kind === "event" && entry.event.type === "prompt.executed");
      expect(end).toBeGreaterThan(20);
      for (let length = 1; length <= end; length++) {
        const last = entries[length - 1];
        // That is where the attempt ended which waited.
        const isWaiting = isQuestion(entries.slice(0, length));
        const cut = await beginning(entries.slice(0, length));
        if (length % 2 === 0 && !isWaiting) await cut.cancel("r");
        const outcome = await replay(prompt, cut.replay("r", { tools }), { resources: newRows() }).catch(
          (cause: unknown) => cause as RunError,
        );
        const what = "divergence" in outcome ? outcome.divergence : outcome;
        if (isWaiting) expect(outcome, `cut after ${length}`).toMatchObject({ failure: { reason: "suspended" } });
        else expect(what, `cut after entry ${length}, ${JSON.stringify(last)}`).toMatchObject({ what: "missing" });
      }
    },
  );
});

/** Whether the record ends with a question, and what was decided on it. */
function isQuestion(entries: readonly JournalEntry[]): boolean {
  const place = entries.findLastIndex(({ kind }) => kind === "suspended");
  const after = entries.slice(place + 1);
  return (
    place !== -1 &&
    after.every(
      (entry) =>
        entry.kind === "resolved" ||
        // An attempt that has added nothing.
        entry.kind === "resumed" ||
        (entry.kind === "event" && entry.event.type === "run.suspended"),
    )
  );
}

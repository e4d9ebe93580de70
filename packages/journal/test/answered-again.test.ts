import {
  defineEvent,
  definePrompt,
  defineSlice,
  defineTool,
  isEvaluationFailure,
  type ProviderAdapter,
} from "@proviso/core";
import { memoryJournal } from "@proviso/journal";
import { sqliteJournal } from "@proviso/journal/node";
import {
  agentAdapter,
  memoryConversations,
  modelAdapter,
  readConversation,
  withConversation,
  type Conversation,
} from "@proviso/runtime";
import { scriptedModel, type ScriptedStep } from "@proviso/runtime/testing";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { z } from "zod";

const added = defineEvent("added", z.object({ title: z.string() }));
const tasks = defineSlice({
  name: "tasks",
  initial: [] as readonly string[],
  reducers: ({ on }) => on(added, (draft, { title }) => void draft.push(title)),
});
const add = defineTool({
  name: "add",
  description: "Adds a task.",
  input: z.object({ title: z.string() }),
  execute({ title }, { session }) {
    session.dispatch(added({ title }));
    return "added";
  },
});
const chat = definePrompt({
  key: "chat",
  params: z.object({ said: z.string() }),
  sections: [
    { key: "rules", text: "Keep tasks.", tools: [add], slices: [tasks] },
    { key: "said", role: "user", text: "{{said}}" },
  ],
});

/** Adds what is said; "hello" is answered without a call. */
const step: ScriptedStep = ({ messages }) => {
  const last = messages.at(-1);
  if (last?.role === "user" && last.text !== "hello")
    return { toolCalls: [{ name: "add", arguments: { title: last.text } }] };
  return { text: last?.role === "tool" ? `It is ${last.text}.` : "Hello." };
};

function desk(journal = memoryJournal(), steps: readonly ScriptedStep[] = Array.from({ length: 20 }, () => step)) {
  const store = memoryConversations();
  const model = scriptedModel(steps);
  const adapter = modelAdapter(model);
  const slices = chat.slices;
  const turn = <T>(use: (conversation: Conversation) => Promise<T>) => withConversation(store, "ada", use, { slices });
  const say = (run: string, said: string) =>
    turn((conversation) => conversation.evaluate(adapter, chat.bind({ said }), { run: journal.run(run) }));
  const stored = async () => {
    const { revision, messages, session } = (await readConversation(store, "ada", { slices })) ?? {};
    return { revision, messages, session: session?.toJSON() };
  };
  return { say, stored, turn, model, adapter, journal, store };
}

describe("CNV-9 a run that has ended, asked again in the conversation that has its turn", () => {
  it("CNV-9 gives its answer without a request, and the conversation stays as it is", async () => {
    const { say, stored, model } = desk();
    await say("r0", "hello");
    const first = await say("r1", "milk");
    const [before, requests] = [await stored(), model.requests.length];
    const again = await say("r1", "milk");
    expect(again).toEqual({ ...first, run: { ...first.run, attempt: again.run?.attempt, keptSteps: 3 } });
    expect(model.requests).toHaveLength(requests);
    expect(await stored()).toEqual(before);
    // The next turn goes on from there.
    await say("r2", "bread");
    expect((await stored()).session).toMatchObject({ slices: [{ state: ["milk", "bread"] }] });
  });

  it("CNV-9 so it does where the conversation has gone on since, and where the turn changed no state", async () => {
    const { say, stored } = desk();
    await say("r1", "hello");
    await say("r2", "milk");
    await say("r3", "hello");
    const before = await stored();
    expect((await say("r1", "hello")).text).toBe("Hello.");
    expect((await say("r2", "milk")).text).toBe("It is added.");
    expect(await stored()).toEqual(before);
  });

  it("CNV-9 twice within one function, before it is saved, and as a stream", async () => {
    const { turn, adapter, journal, stored } = desk();
    await turn(async (conversation) => {
      const ask = () => conversation.evaluate(adapter, chat.bind({ said: "milk" }), { run: journal.run("r1") });
      await ask();
      const { messages } = conversation;
      expect((await ask()).text).toBe("It is added.");
      expect(conversation.messages).toBe(messages);
      expect(conversation.session.get(tasks)).toEqual(["milk"]);
      // A turn of another run is one more.
      await conversation.evaluate(adapter, chat.bind({ said: "milk" }), { run: journal.run("r2") });
      expect(conversation.session.get(tasks)).toEqual(["milk", "milk"]);
    });
    const before = await stored();
    await turn(async (conversation) => {
      const { response } = conversation.stream(adapter, chat.bind({ said: "milk" }), { run: journal.run("r1") });
      expect((await response).text).toBe("It is added.");
    });
    expect(await stored()).toEqual(before);
  });

  it("CNV-9 from a journal in a file, as after a restart", async () => {
    const folder = mkdtempSync(join(tmpdir(), "proviso-told-"));
    const journal = sqliteJournal(join(folder, "runs.db"));
    onTestFinished(async () => {
      await journal.close();
      rmSync(folder, { recursive: true });
    });
    const { say, stored } = desk(journal);
    await say("r1", "milk");
    const before = await stored();
    expect((await say("r1", "milk")).text).toBe("It is added.");
    expect(await stored()).toEqual(before);
  });

  it("CNV-9 a failure that is given again leaves it, too", async () => {
    const refused = { failure: "provider", reason: "content_filter", message: "refused" } as const;
    for (const steps of [[refused], [step, refused]] satisfies readonly (readonly ScriptedStep[])[]) {
      const { turn, adapter, journal, stored } = desk(memoryJournal(), steps);
      const ask = () =>
        turn(async (conversation) => {
          const run = journal.run("r1");
          const failed = await conversation
            .evaluate(adapter, chat.bind({ said: "milk" }), { run })
            .catch((e: unknown) => e);
          if (!isEvaluationFailure(failed)) throw failed;
          return failed.message;
        });
      const message = await ask();
      const before = await stored();
      expect(before.messages).toHaveLength(steps.length === 1 ? 1 : 3);
      expect(await ask()).toBe(message);
      expect(await stored()).toEqual(before);
    }
  });
});

describe("CNV-9 a turn that shortened its conversation itself", () => {
  const read = defineTool({
    name: "read",
    description: "Reads a document.",
    input: z.object({ n: z.number() }),
    readOnly: true,
    execute: ({ n }) => `DOCUMENT ${n} ${"fact ".repeat(400)}`,
  });
  const ask = definePrompt({
    key: "ask",
    params: z.object({ said: z.string() }),
    sections: [{ key: "said", role: "user", text: "{{said}}", tools: [read] }],
  });
  const reading: readonly ScriptedStep[] = [
    ...Array.from({ length: 6 }, (_, n) => ({ toolCalls: [{ name: "read", arguments: { n } }] })),
    { text: "The answer." },
  ];

  function shortening(more: readonly ScriptedStep[] = []) {
    const { store, journal } = desk();
    const model = scriptedModel([{ text: "Hello." }, ...reading, ...more]);
    let compacted = 0;
    const turn = (run: string, said = run) =>
      withConversation(
        store,
        "ada",
        async (conversation) => {
          conversation.session.on("history.compacted", () => void compacted++);
          const options = { context: { window: 4_000 }, run: journal.run(run) };
          return (await conversation.evaluate(modelAdapter(model), ask.bind({ said }), options)).text;
        },
        { slices: [] },
      );
    const stored = async () => {
      const { revision, messages, session } = (await readConversation(store, "ada", { slices: [] })) ?? {};
      return { revision, messages, session: session?.toJSON() };
    };
    return { turn, stored, model, journal, compactions: () => compacted };
  }

  it("CNV-9 is recognised, also behind an earlier turn, and stays so when others come", async () => {
    const { turn, stored, model, compactions } = shortening([{ text: "Once more." }]);
    await turn("hello");
    expect(await turn("read")).toBe("The answer.");
    expect(compactions()).toBeGreaterThan(0);
    const before = await stored();
    expect(before.messages?.length).toBeLessThan(2 + 2 + 2 * 6);
    expect(await turn("read")).toBe("The answer.");
    expect(await stored()).toEqual(before);
    await turn("more");
    const after = await stored();
    expect(await turn("read")).toBe("The answer.");
    expect(await stored()).toEqual(after);
    expect(model.requests).toHaveLength(1 + reading.length + 1);
  });

  it("CNV-9 RSM-4 is not where a later turn shortened it: the error says how its answer is read", async () => {
    const { turn, stored, journal } = shortening(reading);
    await turn("hello");
    await turn("read");
    await turn("read again");
    const before = await stored();
    const again = turn("read");
    await expect(again).rejects.toMatchObject({ name: "RunError", reason: "diverged" });
    await expect(again).rejects.toThrow(
      'since the run has ended, read its answer by adapter.evaluate(prompt, { run: journal.replay("read") })',
    );
    const { output } = await modelAdapter(scriptedModel([])).evaluate(ask.bind({ said: "read" }), {
      run: journal.replay("read"),
      context: { window: 4_000 },
    });
    expect(output).toBe("The answer.");
    expect(await stored()).toEqual(before);
  });
});

it("CNV-9 a turn of an agent that called tools is recognised", async () => {
  const { turn, journal, stored } = desk();
  const agent = agentAdapter({
    name: "agent",
    model: "any",
    async drive(run) {
      const { text } = await run.executeToolCall({
        id: "c1",
        name: "add",
        arguments: JSON.stringify({ title: "milk" }),
      });
      return { message: { role: "assistant", text: `It is ${text}.`, toolCalls: [] }, finishReason: "stop" };
    },
  });
  const ask = () =>
    turn(async (conversation) => {
      const { text } = await conversation.evaluate(agent, chat.bind({ said: "milk" }), { run: journal.run("r1") });
      return text;
    });
  expect(await ask()).toBe("It is added.");
  const before = await stored();
  expect(await ask()).toBe("It is added.");
  expect(await stored()).toEqual(before);
});

describe("RSM-4 a run that has ended, asked in a conversation that has another turn in its place", () => {
  const askedIn = async (desked: ReturnType<typeof desk>, adapter: ProviderAdapter) => {
    const { turn, journal } = desked;
    return turn((conversation) =>
      conversation.evaluate(adapter, chat.bind({ said: "milk" }), { run: journal.run("r1") }),
    );
  };

  it("RSM-4 is refused with how to read its answer, and that works", async () => {
    const desked = desk();
    const { turn, adapter, journal, say, stored } = desked;
    // It ended, and its function threw: the turn was not saved.
    const lost = turn(async (conversation) => {
      await conversation.evaluate(adapter, chat.bind({ said: "milk" }), { run: journal.run("r1") });
      throw new Error("The process went away.");
    });
    await expect(lost).rejects.toThrow("went away");
    await say("r2", "bread");
    const before = await stored();
    const refused = askedIn(desked, adapter);
    await expect(refused).rejects.toMatchObject({ code: "option", option: "session" });
    await expect(refused).rejects.toThrow("The run has ended, and its turn is not in the conversation");
    await expect(refused).rejects.toThrow('adapter.evaluate(prompt, { run: journal.replay("r1") })');
    const { text } = await adapter.evaluate(chat.bind({ said: "milk" }), { run: journal.replay("r1") });
    expect(text).toBe("It is added.");
    expect(await stored()).toEqual(before);
  });

  it("RSM-4 a run whose turn was not saved, in a conversation that stayed, becomes its turn", async () => {
    const desked = desk();
    const { turn, adapter, journal, stored, model } = desked;
    const lost = turn(async (conversation) => {
      await conversation.evaluate(adapter, chat.bind({ said: "milk" }), { run: journal.run("r1") });
      throw new Error("The process went away.");
    });
    await expect(lost).rejects.toThrow("went away");
    const requests = model.requests.length;
    expect((await askedIn(desked, adapter)).text).toBe("It is added.");
    expect(model.requests).toHaveLength(requests);
    expect(await stored()).toMatchObject({ messages: { length: 4 }, session: { slices: [{ state: ["milk"] }] } });
  });
});

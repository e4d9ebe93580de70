// Handlers that begin several evaluations, and run again: what comes inside has the order of the record.
import {
  defineEvent,
  definePrompt,
  defineSlice,
  defineTool,
  type ModelProvider,
  type Tool,
  type ToolContext,
} from "@proviso/core";
import { memoryJournal, type Journal } from "@proviso/journal";
import { replay } from "@proviso/journal/testing";
import { createSession, modelAdapter } from "@proviso/runtime";
import { expect, it } from "vitest";
import { z } from "zod";
import { expectNoWait, journalWith, listed } from "./support.ts";

const wait = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

const noted = defineEvent("noted", z.object({ topic: z.string() }));
const notes = defineSlice({
  name: "notes",
  initial: [] as readonly string[],
  reducers: ({ on }) => on(noted, (draft, { topic }) => void draft.push(topic)),
});
const topics = z.object({ topic: z.string() });
const note = defineTool({
  name: "note",
  description: "Notes a topic.",
  input: topics,
  idempotent: true,
  execute: ({ topic }, { session }) => void session.dispatch(noted({ topic })),
});
const look = definePrompt({
  key: "look",
  params: topics,
  slices: [notes],
  sections: [{ key: "task", text: "look {{topic}}", tools: [note] }],
});

type Handler = (look: (topic: string) => Promise<string>, context: ToolContext) => Promise<string>;

/** A prompt with a tool that looks at topics; each is noted by an evaluation inside. */
const promptOf = (handler: Handler) =>
  definePrompt({
    key: "outer",
    slices: [notes],
    sections: [
      {
        key: "task",
        text: "Go.",
        tools: [
          defineTool({
            name: "research",
            description: "Researches.",
            input: z.object({}),
            idempotent: true,
            execute: (_input, context) =>
              handler(async (topic) => (await context.evaluate(look.bind({ topic }))).text ?? "", context),
          }),
        ],
      },
    ],
  }).bind();

/** Calls a tool, and then is done: of a topic that is "slow" later than of others, of one that is "hangs" much later. */
const model: ModelProvider = {
  name: "m",
  model: "m-1",
  capabilities: { tools: true, nativeOutput: true },
  async generate({ messages }) {
    const topic = /look (\w+)/u.exec(messages[0]?.text ?? "")?.[1];
    await wait(topic === "slow" ? 30 : topic === "hangs" ? 400 : 1);
    const isFirst = messages.every(({ role }) => role !== "assistant");
    const call =
      topic === undefined
        ? { id: "c", name: "research", arguments: "{}" }
        : { id: `c-${topic}`, name: "note", arguments: JSON.stringify({ topic }) };
    return {
      message: { role: "assistant", text: isFirst ? "" : `saw ${topic}`, toolCalls: isFirst ? [call] : [] },
      finishReason: isFirst ? "tool-calls" : "stop",
      usage: { inputTokens: 1, outputTokens: 1 },
    };
  },
};

async function recorded(handler: Handler): Promise<Journal> {
  const journal = memoryJournal();
  await modelAdapter(model).evaluate(promptOf(handler), { run: journal.run("r") });
  return journal;
}

const sideBySide: Handler = async (look) => (await Promise.all(["slow", "fast"].map(look))).join();

const handlers: readonly (readonly [what: string, handler: Handler])[] = [
  ["waits for several at once", sideBySide],
  [
    "says in which order they came",
    async (look, { session }) => {
      const came: string[] = [];
      const seen = async (topic: string): Promise<void> => {
        came.push(await look(topic));
        session.dispatch(noted({ topic: `after ${topic}` }));
      };
      await Promise.all(["slow", "fast", "faster"].map(seen));
      return came.join();
    },
  ],
  [
    "begins the second one later",
    async (look) => (await Promise.all([look("slow"), wait(10).then(() => look("fast"))])).join(),
  ],
  ["takes the first that comes", (look) => Promise.race(["hangs", "fast"].map(look))],
  [
    "leaves one behind",
    async (look) => {
      void look("hangs").catch(() => {});
      return "left";
    },
  ],
  [
    "leaves one behind after a while",
    async (look) => {
      void look("hangs").catch(() => {});
      await wait(50);
      return look("fast");
    },
  ],
];

it.each(handlers)("RPL-3 a handler that %s comes to the same when it runs again", async (_, handler) => {
  const journal = await recorded(handler);
  await replay(promptOf(handler), journal.replay("r", { tools: "run" }));
});

it.each(handlers)("RPL-3 RSM-9 so does one of a run that went on from anywhere, and %s", async (_, handler) => {
  const entries = await listed((await recorded(handler)).entries("r"));
  for (let count = 2; count < entries.length; count += 5) {
    const journal = await journalWith(entries.slice(0, count));
    await modelAdapter(model).evaluate(promptOf(handler), { run: journal.run("r", { takeOver: true }) });
    await replay(promptOf(handler), journal.replay("r", { tools: "run" }));
  }
});

it("RPL-3 a handler that asks one after the other now gets its answers, and what comes of that is compared", async () => {
  const journal = await recorded(sideBySide);
  const inTurn: Handler = async (look) => [await look("slow"), await look("fast")].join();
  await expect(replay(promptOf(inTurn), journal.replay("r", { tools: "run" }))).rejects.toMatchObject({
    reason: "diverged",
    divergence: { what: "event", path: "research: dispatched[0].topic", recorded: "fast", now: "slow" },
  });
});

it("RPL-3 a handler that now waits for what it had left behind asks for what the record has not", async () => {
  const left = handlers.find(([what]) => what === "leaves one behind")?.[1];
  const journal = await recorded(left as Handler);
  await expect(
    replay(
      promptOf((look) => look("hangs")),
      journal.replay("r", { tools: "run" }),
    ),
  ).rejects.toMatchObject({
    reason: "diverged",
    divergence: { what: "request", path: "research: a request inside", now: "look hangs" },
  });
});

/** Evaluates "a" and "b" side by side, whose calls note topics with the tool; the first answer to "b" comes after `late`. */
function besideWith(
  tool: Tool,
  { topicsOf, late }: { readonly topicsOf: Readonly<Record<string, readonly string[]>>; late(): Promise<void> },
) {
  const who = definePrompt({
    key: "who",
    params: topics,
    slices: [notes],
    sections: [{ key: "task", text: "who {{topic}}", tools: [tool] }],
  });
  const prompt = promptOf(async (_look, context) => {
    await Promise.all(["a", "b"].map((topic) => context.evaluate(who.bind({ topic }))));
    return "done";
  });
  const provider: ModelProvider = {
    ...model,
    async generate({ messages }) {
      const topic = /who (\w+)/u.exec(messages[0]?.text ?? "")?.[1];
      const isFirst = messages.every(({ role }) => role !== "assistant");
      if (topic === "b" && isFirst) await late();
      const asked = topic === undefined ? undefined : topicsOf[topic];
      const calls = asked?.map((each) => ({ id: each, name: "note", arguments: JSON.stringify({ topic: each }) }));
      const toolCalls = isFirst ? (calls ?? [{ id: "c", name: "research", arguments: "{}" }]) : [];
      return {
        message: { role: "assistant", text: "done", toolCalls },
        finishReason: isFirst ? "tool-calls" : "stop",
        usage: { inputTokens: 1, outputTokens: 1 },
      };
    },
  };
  return { prompt, adapter: modelAdapter(provider) };
}

/** The first answer to "b" comes some promises later. */
async function recordedBeside(hops: number) {
  const noteUndone = defineTool({
    name: "note",
    description: "Notes a topic.",
    input: topics,
    transactional: true,
    execute: ({ topic }, { session }) => void session.dispatch(noted({ topic })),
  });
  const { prompt, adapter } = besideWith(noteUndone, {
    topicsOf: { a: ["a0", "a1", "a2"], b: ["b0", "b1"] },
    async late() {
      for (let hop = 0; hop < hops; hop++) await Promise.resolve();
    },
  });
  const journal = memoryJournal();
  await adapter.evaluate(prompt, { run: journal.run("r") });
  return { journal, prompt };
}

it.each([9, 10, 20, 21])(
  "RPL-3 calls that wait for the session get it in the order that they had, after %i promises",
  async (hops) => {
    const { journal, prompt } = await recordedBeside(hops);
    await expectNoWait(() => replay(prompt, journal.replay("r", { tools: "run" })));
  },
);

it("RPL-3 an evaluation that its budget ended before it asked for anything keeps no later one waiting", async () => {
  const handler: Handler = async (lookAt, context) => {
    const ended = context.evaluate(look.bind({ topic: "none" }), { budget: { maxTotalTokens: 1 } });
    const failed = await ended.then(
      ({ text }) => text ?? "",
      (error: unknown) => (error as { code?: string }).code ?? "",
    );
    return [failed, await lookAt("fast"), await lookAt("faster")].join();
  };
  const journal = await recorded(handler);
  await expectNoWait(() => replay(promptOf(handler), journal.replay("r", { tools: "run" })));
});

it("RPL-3 calls inside begin in the order that they had, however long their arguments are checked now", async () => {
  /** Milliseconds that the check of the arguments of "b" takes. */
  let checkMs = 0;
  const checkedNote = defineTool({
    name: "note",
    description: "Notes a topic.",
    input: topics.refine(async ({ topic }) => {
      if (topic === "b") await wait(checkMs);
      return true;
    }),
    transactional: true,
    execute: async ({ topic }, { session }) => {
      await wait(100);
      session.dispatch(noted({ topic }));
    },
  });
  const { prompt, adapter } = besideWith(checkedNote, {
    topicsOf: { a: ["a0", "a1"], b: ["b"] },
    late: () => wait(20),
  });
  const session = createSession();
  const journal = memoryJournal();
  await adapter.evaluate(prompt, { session, run: journal.run("r") });
  expect(session.get(notes)).toEqual(["a0", "b", "a1"]);
  checkMs = 200;
  await replay(prompt, journal.replay("r", { tools: "run" }));
});

it("RPL-3 many evaluations side by side take time by their number, and not by its square", async () => {
  const handler: Handler = async (look) => {
    await Promise.all(Array.from({ length: 400 }, (_, at) => look(`t${at}`)));
    return "done";
  };
  const journal = await recorded(handler);
  const timeOf = async (tools: "recorded" | "run"): Promise<number> => {
    const begunAt = performance.now();
    await replay(promptOf(handler), journal.replay("r", { tools }));
    return performance.now() - begunAt;
  };
  expect(await timeOf("run")).toBeLessThan(2_000 + 20 * (await timeOf("recorded")));
});

import {
  definePrompt,
  defineSection,
  defineTool,
  RunError,
  trackBudget,
  type FrameworkEvent,
  type SessionEvent,
} from "@proviso/core";
import { createJournal, memoryJournal, type JournalEntry, type JournalStore } from "@proviso/journal";
import { bodyOf, entriesOf, frameSum, memoryStore } from "@proviso/journal/internal";
import { replay } from "@proviso/journal/testing";
import { createSession, modelAdapter } from "@proviso/runtime";
import { scriptedModel, type ScriptedStep } from "@proviso/runtime/testing";
import { expect, it } from "vitest";
import { z } from "zod";
import { heard } from "./runs-support.ts";
import { listed } from "./support.ts";

const rejection = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => undefined,
    (error: unknown) => error,
  );

type Gate = PromiseWithResolvers<void>;

const call: ScriptedStep = { toolCalls: [{ id: "c1", name: "act" }] };

function promptWith(execute: () => unknown, readOnly = false) {
  const act = defineTool({ name: "act", description: "Acts.", input: z.object({}), readOnly, execute });
  return definePrompt({
    key: "act",
    params: z.object({}),
    sections: [defineSection({ key: "task", text: "Act.", tools: [act] })],
  }).bind({});
}

it("JRN-2 the clock is read once for an entry, and all that follows from it has its time", async () => {
  const journal = memoryJournal();
  let reads = 0;
  const clock = { now: () => (reads += 1), sleep: async () => {} };
  const session = createSession();
  const events = heard(session);
  await modelAdapter(scriptedModel([call, { text: "Done." }]), { clock }).evaluate(
    promptWith(() => 1),
    {
      run: journal.run("r"),
      session,
    },
  );
  const entries = await listed(journal.entries("r"));
  // Once when it began, and once for each entry after that.
  expect(reads).toBe(entries.length);
  const times = (of: readonly SessionEvent[]): readonly number[] => of.map((event) => (event as FrameworkEvent).at);
  const replayed = await replay(
    promptWith(() => 1),
    journal.replay("r"),
  );
  expect(times(replayed.events)).toEqual(times(events));
  expect(times(events)).toEqual(times(events).toSorted((a, b) => a - b));
});

it("JRN-4 a handler that may change something begins when the store has the entry that says so", async () => {
  for (const readOnly of [false, true]) {
    const store = memoryStore();
    const kept: JournalEntry["kind"][] = [];
    const watched: JournalStore = {
      ...store,
      async append(frames) {
        for (const frame of frames) for (const { kind } of entriesOf(frame, "test")) kept.push(kind);
        return store.append(frames);
      },
    };
    const journal = createJournal(watched, { flushMs: 60_000 });
    let atBegin = false;
    const prompt = promptWith(() => (atBegin = kept.includes("started")), readOnly);
    await modelAdapter(scriptedModel([call, { text: "Done." }])).evaluate(prompt, { run: journal.run("r") });
    expect(atBegin).toBe(!readOnly);
    // `evaluate` settled when the end was kept.
    expect(kept.at(-1)).toBe("ended");
  }
});

it("JRN-4 what nothing waits for is written when 256 entries wait, or after flushMs", async () => {
  const store = memoryStore();
  const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
  /** How many entries each write had, while a handler ran that made so many. */
  const writtenWhile = async (flushMs: number, entries: number): Promise<readonly number[]> => {
    const written: number[] = [];
    const wrote = Promise.withResolvers<void>();
    let inside: readonly number[] = [];
    const watched: JournalStore = {
      ...store,
      append(frames) {
        written.push(frames.reduce((sum, { count }) => sum + count, 0));
        wrote.resolve();
        return store.append(frames);
      },
    };
    const act = defineTool({
      name: "act",
      description: "Goes on.",
      input: z.object({}),
      readOnly: true,
      async execute(_, { progress }) {
        for (let done = 0; done < entries; done++) progress({ done });
        for (let turns = 0; turns < 5; turns++) await turn();
        if (flushMs === 1) await wrote.promise;
        inside = [...written];
      },
    });
    const prompt = definePrompt({ key: "act", sections: [{ key: "task", text: "Act.", tools: [act] }] }).bind();
    const run = createJournal(watched, { flushMs }).run(`${flushMs} ${entries}`);
    await modelAdapter(scriptedModel([call, { text: "Done." }])).evaluate(prompt, { run });
    return inside;
  };
  expect(await writtenWhile(60_000, 200)).toEqual([]);
  expect(await writtenWhile(60_000, 260)).toEqual([256]);
  // What comes while a write is under way is written after it, together.
  expect(await writtenWhile(60_000, 600)).toEqual([256, expect.any(Number)]);
  expect((await writtenWhile(1, 200))[0]).toBeGreaterThan(200);
});

it("JRN-4 what comes while a write is under way, and nothing waits for, is written after flushMs too", async () => {
  const store = memoryStore();
  const [begun, may, again] = [1, 2, 3].map(() => Promise.withResolvers<void>()) as [Gate, Gate, Gate];
  let writes = 0;
  const watched: JournalStore = {
    ...store,
    async append(frames) {
      if (++writes > 1) again.resolve();
      begun.resolve();
      await may.promise;
      return store.append(frames);
    },
  };
  let writesInside = 0;
  const act = defineTool({
    name: "act",
    description: "Goes on.",
    input: z.object({}),
    readOnly: true,
    async execute(_, { progress }) {
      progress({ done: 1 });
      await begun.promise;
      progress({ done: 2 });
      may.resolve();
      // Longer than `flushMs` by far.
      await Promise.race([again.promise, new Promise((resolve) => setTimeout(resolve, 60_000))]);
      writesInside = writes;
    },
  });
  const prompt = definePrompt({ key: "act", sections: [{ key: "task", text: "Act.", tools: [act] }] }).bind();
  const run = createJournal(watched, { flushMs: 1 }).run("r");
  await modelAdapter(scriptedModel([call, { text: "Done." }])).evaluate(prompt, { run });
  expect(writesInside).toBe(2);
});

it.each([
  ["before the handler", 0, false],
  ["after the answer", 1, true],
] as const)("JRN-5 a store that fails %s ends the evaluation with a RunError", async (_when, passes, hasRun) => {
  const store = memoryStore();
  let appended = 0;
  const failing: JournalStore = {
    ...store,
    append: (frames) => (appended++ < passes ? store.append(frames) : Promise.reject(new Error("The disk is full."))),
  };
  const journal = createJournal(failing, { flushMs: 60_000 });
  let ran = false;
  const prompt = promptWith(() => (ran = true));
  const error = await rejection(
    modelAdapter(scriptedModel([call, { text: "Done." }])).evaluate(prompt, { run: journal.run("r") }),
  );
  expect(error).toBeInstanceOf(RunError);
  expect(error).toMatchObject({ code: "run", reason: "journal", runId: "r", cause: { code: "journal" } });
  expect((error as RunError).message).toContain("The disk is full.");
  expect(ran).toBe(hasRun);
  expect((error as RunError).response?.text).toBe(hasRun ? "Done." : undefined);
});

it("JRN-8 a frame of a newer format and one that is no body are refused, and other runs can be read", async () => {
  const store = memoryStore();
  const journal = createJournal(store);
  await modelAdapter(scriptedModel([{ text: "Done." }])).evaluate("Hello.", { run: journal.run("good") });
  for (const [run, body] of [
    ["newer", JSON.stringify({ v: 4, a: 1, e: [{}] })],
    ["torn", "{"],
    ["short", JSON.stringify({ v: 1, a: 1, e: [] })],
  ] as const) {
    const of = { run, first: 0, body };
    await store.append([{ ...of, count: 1, writer: "w", sum: frameSum(of), summary: "{}" }]);
  }
  await expect(journal.describe("newer")).rejects.toMatchObject({ code: "journal", reason: "newer", run: "newer" });
  await expect(journal.describe("torn")).rejects.toMatchObject({ reason: "damaged", run: "torn" });
  await expect(journal.describe("short")).rejects.toMatchObject({ reason: "damaged", run: "short" });
  expect((await journal.describe("good"))?.state).toBe("executed");
});

it("RPL-5 a request whose messages are others is named by its path", async () => {
  const journal = memoryJournal();
  const adapter = modelAdapter(scriptedModel([{ text: "Done." }]));
  const earlier = (text: string) => [
    { role: "user" as const, text },
    { role: "assistant" as const, text: "Yes.", toolCalls: [] },
  ];
  await adapter.evaluate("Hello.", { run: journal.run("r"), messages: earlier("First.") });
  const error = await rejection(adapter.evaluate("Hello.", { run: journal.run("r"), messages: earlier("Other.") }));
  expect(error).toBeInstanceOf(RunError);
  expect((error as RunError).divergence).toMatchObject({ step: 0, what: "request", path: "messages[0]" });
});

it("RSM-5 listeners receive what is new alone, beginning with run.resumed, and the state has everything", async () => {
  const first = memoryJournal();
  const recorded = createSession({ id: "s" });
  const all = heard(recorded);
  const prompt = promptWith(() => 1);
  await modelAdapter(scriptedModel([call, { text: "Done." }])).evaluate(prompt, {
    run: first.run("r"),
    session: recorded,
  });
  const entries = await listed(first.entries("r"));
  const count = entries.findIndex(({ kind }) => kind === "committed") + 1;
  const store = memoryStore();
  const of = { run: "r", first: 0, body: bodyOf(1, entries.slice(0, count)) };
  await store.append([{ ...of, count, writer: "gone", sum: frameSum(of), summary: "{}" }]);
  const session = createSession({ id: "s" });
  const events = heard(session);
  const options = { run: createJournal(store).run("r", { takeOver: true }), session };
  await modelAdapter(scriptedModel([{ text: "Done." }])).evaluate(prompt, options);
  expect(events.map(({ type }) => type)).toEqual([
    "run.resumed",
    "provider.requested",
    "provider.responded",
    "prompt.executed",
  ]);
  expect(events[0]).toMatchObject({ runId: "r", attempt: 2, keptSteps: 2, unknown: [] });
  const lastKept = Math.max(
    ...all
      .slice(0, all.findIndex(({ type }) => type === "tool.invoked") + 1)
      .map((event) => (event as FrameworkEvent).seq),
  );
  expect((events[0] as { readonly seq: number }).seq).toBe(lastKept + 1);
});

it("LIM-5 JRN-4 a request that the record's failed write ends leaves nothing reserved on a shared budget", async () => {
  const tried = Promise.withResolvers<void>();
  const broken: JournalStore = {
    ...memoryStore(),
    append() {
      tried.resolve();
      return Promise.reject(new Error("The disk is full."));
    },
  };
  const afterWrite = async (): Promise<string> => {
    await tried.promise;
    await new Promise((resolve) => setImmediate(resolve));
    return "Acted.";
  };
  const budget = trackBudget({ maxTotalTokens: 20_000 });
  const model = scriptedModel([call, { text: "Done." }]);
  const run = createJournal(broken, { flushMs: 1 }).run("r");
  const error = await rejection(modelAdapter(model).evaluate(promptWith(afterWrite, true), { run, budget }));
  expect(error).toMatchObject({ code: "run", reason: "journal" });
  expect(model.callCount).toBe(1);
  expect(budget.remaining().totalTokens).toBe(20_000 - budget.consumed.totalTokens);
});

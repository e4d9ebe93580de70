// What calls dispatch: reduced where it was, delivered when the call counts, and in logs whatever becomes of the call.
import { definePrompt, defineSlice, defineTool, type SessionEvent, type StreamEvent, type Tool } from "@proviso/core";
import { createJournal, memoryJournal, type Journal } from "@proviso/journal";
import { bodyOf, frameSum, memoryStore } from "@proviso/journal/internal";
import { replay } from "@proviso/journal/testing";
import { createSession, modelAdapter } from "@proviso/runtime";
import { scriptedModel, type ScriptedStep } from "@proviso/runtime/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import { heard, noted } from "./runs-support.ts";
import { listed } from "./support.ts";

const order = defineSlice({
  name: "order",
  initial: [] as readonly string[],
  reducers: ({ on }) => {
    on(noted, (draft, { text }) => void draft.push(text));
    on("tool.progress", (draft, { name }) => void draft.push(`${name} goes on`));
    on("tool.invoked", (draft, { name }) => void draft.push(`${name} ends`));
  },
});
const log = defineSlice({
  name: "log",
  kind: "log",
  initial: [] as readonly string[],
  reducers: ({ on }) => {
    on(noted, (draft, { text }) => draft.push(text));
    on("tool.invoked", (draft, { name, result }) => draft.push(`${name} ${result.success}`));
  },
});

const input = z.object({});
const inner = defineTool({
  name: "inner",
  description: "Notes.",
  input,
  transactional: true,
  execute: (_, { session }) => void session.dispatch(noted({ text: "inside" })),
});
const nested = definePrompt({
  key: "nested",
  slices: [order, log],
  sections: [{ key: "task", text: "Nest.", tools: [inner] }],
});

/** Dispatches before, between and after what else it does; the last thing that it does may fail. */
const outer = (fails: boolean): Tool =>
  defineTool({
    name: "outer",
    description: "Notes, and evaluates.",
    input,
    transactional: true,
    async execute(_, { session, progress, evaluate }) {
      session.dispatch(noted({ text: "first" }));
      progress({ done: 1 });
      session.dispatch(noted({ text: "second" }));
      await evaluate(nested.bind());
      session.dispatch(noted({ text: "third" }));
      if (fails) throw new Error("It fails.");
    },
  }) as Tool;
const promptOf = (fails: boolean) =>
  definePrompt({
    key: "outer",
    slices: [order, log],
    sections: [{ key: "task", text: "Note.", tools: [outer(fails)] }],
  }).bind();

const steps: readonly ScriptedStep[] = [
  { toolCalls: [{ id: "c1", name: "outer", arguments: {} }] },
  { toolCalls: [{ id: "d1", name: "inner", arguments: {} }] },
  { text: "Nested." },
  { text: "Done." },
];
const states = {
  false: ["first", "outer goes on", "second", "inside", "inner ends", "third", "outer ends"],
  true: ["outer ends"],
};

test.each([false, true])("RPL-1 FRK-2 a session is the same in every replay, where a call fails: %s", async (fails) => {
  const journal = memoryJournal();
  const session = createSession({ id: "s" });
  const live = heard(session);
  await modelAdapter(scriptedModel([...steps])).evaluate(promptOf(fails), { session, run: journal.run("r") });
  expect(session.get(order)).toEqual(states[`${fails}`]);
  expect(session.get(log)).toEqual(["first", "second", "inside", "inner true", "third", `outer ${!fails}`]);
  for (const tools of ["recorded", "run"] as const) {
    const again = await replay(promptOf(fails), journal.replay("r", { tools }));
    expect(again.events).toEqual(live);
    expect(JSON.stringify(again.session)).toBe(JSON.stringify(session));
  }
  const read = await journal.session("r", { slices: [order, log] });
  expect([read.get(order), read.get(log)]).toEqual([session.get(order), session.get(log)]);
});

async function cutOff(from: Journal, count: number): Promise<Journal> {
  const store = memoryStore();
  const of = { run: "r", first: 0, body: bodyOf(1, (await listed(from.entries("r"))).slice(0, count)) };
  await store.append([{ ...of, count, writer: "gone", sum: frameSum(of), summary: "{}" }]);
  return createJournal(store);
}

test.each([false, true])("RSM-2 a run that goes on has the same session, where a call fails: %s", async (fails) => {
  const journal = memoryJournal();
  const first = createSession({ id: "s" });
  await modelAdapter(scriptedModel([...steps])).evaluate(promptOf(fails), { session: first, run: journal.run("r") });
  const entries = await listed(journal.entries("r"));
  const ended = entries.findLastIndex(
    ({ kind, evaluationId }) => kind === "asked" && evaluationId === entries[0]?.evaluationId,
  );
  const cut = await cutOff(journal, ended);
  const session = createSession({ id: "s" });
  const run = cut.run("r", { takeOver: true });
  await modelAdapter(scriptedModel([{ text: "Done." }])).evaluate(promptOf(fails), { session, run });
  expect([session.get(order), session.get(log)]).toEqual([first.get(order), first.get(log)]);
});

test("RPL-8 a replayed stream has what its own evaluation dispatched, and not what a call inside did", async () => {
  const journal = memoryJournal();
  const appsOf = async (stream: AsyncIterable<StreamEvent>): Promise<readonly unknown[]> => {
    const events = await listed(stream);
    return events
      .filter(({ type }) => type === "app")
      .map((event) => (event as { readonly event: SessionEvent }).event);
  };
  const live = modelAdapter(scriptedModel([...steps])).stream(promptOf(false), { run: journal.run("r") });
  const apps = await appsOf(live);
  expect(apps).toMatchObject([{ text: "first" }, { text: "second" }, { text: "third" }]);
  for (const tools of ["recorded", "run"] as const) {
    const again = modelAdapter(scriptedModel([])).stream(promptOf(false), { run: journal.replay("r", { tools }) });
    expect(await appsOf(again)).toEqual(apps);
  }
});

test("RSM-2 feedback on a kept call stands: wherever the process ended, the model reads what was given, and nothing twice", async () => {
  let asked = 0;
  const look = defineTool({ name: "look", description: "Looks.", input, readOnly: true, execute: () => "seen" });
  const promptWith = () =>
    definePrompt({
      key: "looks",
      sections: [{ key: "task", text: "Look.", tools: [look] }],
      feedback: [
        { name: "count", every: { calls: 1 }, provide: () => `Number ${++asked}.` },
        { name: "second", every: { calls: 2 }, provide: () => "Go on." },
      ],
    }).bind();
  const call = (id: string): ScriptedStep => ({ toolCalls: [{ id, name: "look", arguments: {} }] });
  const turns = [call("c1"), call("c2"), { text: "Done." }];
  const journal = memoryJournal();
  const whole = await modelAdapter(scriptedModel([...turns])).evaluate(promptWith(), { run: journal.run("r") });
  expect(whole.messages.filter(({ role }) => role === "tool")).toMatchObject([
    { text: expect.stringContaining("Number 1.") },
    { text: expect.stringMatching(/Number 2\.[^]*Go on\./) },
  ]);
  const entries = await listed(journal.entries("r"));
  for (const [place, entry] of entries.entries()) {
    const kept = entries.slice(0, place + 1);
    const texts = kept.flatMap((each) =>
      each.kind === "event" && each.event.type === "feedback.given" ? [each.event.text] : [],
    );
    asked = texts.filter((text) => text !== "Go on.").length;
    const answers = kept.filter(({ kind }) => kind === "answered").length;
    const run = (await cutOff(journal, place + 1)).run("r", { takeOver: true });
    const { messages } = await modelAdapter(scriptedModel(turns.slice(answers))).evaluate(promptWith(), { run });
    const read = messages.map(({ text }) => text).join("\n");
    for (const text of texts) expect(read.split(text).length - 1, `${text} in ${place}`).toBe(1);
    // Of a call that is kept without its feedback nobody is asked again.
    const next = entries[place + 1];
    const isTorn = next?.kind === "event" && next.event.type === "feedback.given";
    if (!isTorn) expect(messages, `${entry.kind} at ${place}`).toEqual(whole.messages);
  }
});

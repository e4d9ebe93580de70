// Thirty and more changes, each of which a replay names at its first difference: of the prompt, of its tools, and of the record.
import {
  defineEvent,
  definePrompt,
  defineSlice,
  defineTool,
  deny,
  toolError,
  toolOk,
  type RunError,
  type Section,
  type ToolPolicy,
} from "@proviso/core";
import { createJournal, memoryJournal, type Journal, type JournalEntry } from "@proviso/journal";
import { bodyOf, frameSum, memoryStore } from "@proviso/journal/internal";
import { replay } from "@proviso/journal/testing";
import { modelAdapter } from "@proviso/runtime";
import { scriptedModel } from "@proviso/runtime/testing";
import { beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { listed } from "./support.ts";

const ordered = defineEvent("ordered", z.object({ id: z.string(), count: z.number() }));
const orders = defineSlice({
  name: "orders",
  initial: [] as readonly string[],
  reducers: ({ on }) => on(ordered, (draft, { id }) => void draft.push(id)),
});

/** What can be changed of the prompt. Each has its default. */
interface Change {
  readonly key?: string;
  readonly text?: string;
  readonly title?: string;
  readonly role?: "system" | "user";
  readonly ask?: string;
  readonly extraSection?: Section;
  readonly order?: "reversed";
  readonly description?: string;
  readonly toolName?: string;
  readonly input?: z.ZodObject;
  readonly withoutTool?: true;
  readonly extraTool?: true;
  readonly output?: z.ZodObject;
  readonly result?: unknown;
  readonly count?: number;
  readonly dispatches?: number;
  readonly throws?: string;
  readonly inside?: string;
  readonly policy?: ToolPolicy;
  readonly params?: { readonly name: string };
}

function promptOf(change: Change = {}) {
  const {
    key = "shop",
    text = "Order what is asked for.",
    title = "Rules",
    role = "system",
    ask = "For {{name}}: two pens.",
    description = "Orders something.",
    toolName = "order",
    input = z.object({ id: z.string() }),
    output = z.object({ done: z.boolean() }),
    result = "ordered",
    count = 2,
    dispatches = 1,
    inside = "Is there stock?",
  } = change;
  const order = defineTool({
    name: toolName,
    description,
    input,
    async execute(given, { session, evaluate }) {
      const { text: stock } = await evaluate(inside);
      if (change.throws !== undefined) throw new Error(change.throws);
      for (let n = 0; n < dispatches; n++) session.dispatch(ordered({ id: String(given["id"]), count }));
      return typeof result === "string" ? `${result}, ${stock}` : (result as never);
    },
  });
  const look = defineTool({
    name: "look",
    description: "Looks.",
    input: z.object({}),
    readOnly: true,
    execute: () => 1,
  });
  const tools = [...(change.withoutTool === true ? [] : [order]), ...(change.extraTool === true ? [look] : [])];
  const sections: Section[] = [
    { key: "rules", title, text, role, tools, slices: [orders] },
    ...(change.extraSection === undefined ? [] : [change.extraSection]),
    { key: "task", text: ask, role: "user" },
  ];
  return definePrompt({
    ns: "test",
    key,
    params: z.object({ name: z.string() }),
    output,
    policies: change.policy === undefined ? [] : [change.policy],
    sections: change.order === "reversed" ? sections.toReversed() : sections,
  });
}

const steps = [
  { toolCalls: [{ name: "order", arguments: { id: "pen" } }] },
  { text: "Plenty." },
  { toolCalls: [{ name: "order", arguments: { id: "pen" } }] },
  { text: "One." },
  { output: { done: true } },
];
let journal: Journal;
let entries: readonly JournalEntry[];
beforeAll(async () => {
  journal = memoryJournal();
  const adapter = modelAdapter(scriptedModel(steps));
  await adapter.evaluate(promptOf().bind({ name: "Ada" }), { run: journal.run("r") });
  entries = await listed(journal.entries("r"));
});

const planted: readonly [string, Change, { readonly step: number; readonly path: RegExp | string }][] = [
  ["another prompt", { key: "store" }, { step: 0, path: "prompt" }],
  ["a word of a text", { text: "Order what was asked for." }, { step: 0, path: "prompt.rendered: text" }],
  ["a space in a text", { text: "Order what is asked  for." }, { step: 0, path: "prompt.rendered: text" }],
  ["a title", { title: "The rules" }, { step: 0, path: "prompt.rendered: text" }],
  ["a role", { role: "user" }, { step: 0, path: /prompt.rendered|messages/ }],
  ["a text after a placeholder", { ask: "For {{name}}: two pencils." }, { step: 0, path: "prompt.rendered: text" }],
  ["a section more", { extraSection: { key: "more", text: "Be quick." } }, { step: 0, path: "prompt.rendered: text" }],
  ["sections in another order", { order: "reversed" }, { step: 0, path: "prompt.rendered: text" }],
  ["params", { params: { name: "Grace" } }, { step: 0, path: "prompt.rendered: text" }],
  [
    "the description of a tool",
    { description: "Orders." },
    { step: 0, path: "prompt.rendered: descriptor.tools.order" },
  ],
  ["the name of a tool", { toolName: "buy" }, { step: 0, path: /tools/ }],
  ["a tool less", { withoutTool: true }, { step: 0, path: /tools/ }],
  ["a tool more", { extraTool: true }, { step: 0, path: /tools/ }],
  [
    "an argument more",
    { input: z.object({ id: z.string(), n: z.number().optional() }) },
    { step: 0, path: "prompt.rendered: descriptor.tools.order" },
  ],
  [
    "an argument's description",
    { input: z.object({ id: z.string().describe("Its id") }) },
    { step: 0, path: "prompt.rendered: descriptor.tools.order" },
  ],
  [
    "an argument's bound",
    { input: z.object({ id: z.string().max(9) }) },
    { step: 0, path: "prompt.rendered: descriptor.tools.order" },
  ],
  ["a field of the output", { output: z.object({ done: z.boolean(), note: z.string() }) }, { step: 0, path: "output" }],
  ["a field's type", { output: z.object({ done: z.literal(true) }) }, { step: 0, path: "output" }],
];
const plantedInTools: typeof planted = [
  ["a result", { result: "Ordered" }, { step: 2, path: "order: result.value" }],
  ["a result of another form", { result: { ok: true } }, { step: 2, path: "order: result.value" }],
  [
    "a result with a message",
    { result: toolOk("ordered", { message: "!" }) },
    { step: 2, path: "order: result.message" },
  ],
  ["no result", { result: null }, { step: 2, path: "order: result.message" }],
  ["a failure", { result: toolError("No.") }, { step: 2, path: "order: result.success" }],
  ["an exception", { throws: "Sold out." }, { step: 2, path: "order: result.success" }],
  ["a field of an event", { count: 3 }, { step: 2, path: "order: dispatched[0].count" }],
  ["an event twice", { dispatches: 2 }, { step: 2, path: "order: dispatched[1]" }],
  ["no event", { dispatches: 0 }, { step: 2, path: "order: dispatched[0]" }],
  ["what is asked inside a call", { inside: "How much stock?" }, { step: 2, path: "order: a request inside" }],
  ["a policy that denies", { policy: { name: "no", check: () => deny("No.") } }, { step: 2, path: /^order: / }],
  [
    "a policy that changes the arguments",
    { policy: { name: "change", check: () => ({ allowed: true, input: { id: "ink" } }) } },
    { step: 2, path: "order: params.id" },
  ],
];

describe.each(["recorded", "run"] as const)("RPL-4 with tools %s", (tools) => {
  it("what was not changed replays", async () => {
    expect((await replay(promptOf(), journal.replay("r", { tools }))).response?.output).toEqual({ done: true });
  });

  it.each(planted)("%s is the first difference", async (_, change, { step, path }) => {
    const prompt = change.params === undefined ? promptOf(change) : promptOf().bind(change.params);
    const error = await replay(prompt, journal.replay("r", { tools })).catch((cause: unknown) => cause as RunError);
    expect(error).toMatchObject({ reason: "diverged", divergence: { step } });
    const { divergence, message } = error as RunError;
    expect(divergence?.path).toMatch(
      typeof path === "string" ? new RegExp(`^${path.replace(/[[\]]/g, "\\$&")}`) : path,
    );
    expect(message).toContain(`The run "r" diverges at step ${step}: ${divergence?.path}`);
  });
});

it.each(plantedInTools)(
  "RPL-3 RPL-4 %s is the first difference where the tools run",
  async (_, change, { step, path }) => {
    const error = await replay(promptOf(change), journal.replay("r", { tools: "run" })).catch(
      (cause: unknown) => cause as RunError,
    );
    expect(error).toMatchObject({ reason: "diverged", divergence: { step } });
    const found = (error as RunError).divergence?.path ?? "";
    if (typeof path === "string") expect(found.startsWith(path)).toBe(true);
    else expect(found).toMatch(path);
    // Answered from the record, the run is what it was.
    const { response } = await replay(promptOf(change), journal.replay("r")).catch(() => ({ response: undefined }));
    expect(response?.output).toEqual({ done: true });
  },
);

type Edit = (entries: readonly JournalEntry[]) => readonly JournalEntry[];
const isEvent = (entry: JournalEntry, type: string): boolean => entry.kind === "event" && entry.event.type === type;
const changed = (is: (entry: JournalEntry) => boolean, by: (entry: never) => unknown): Edit => {
  return (all) => {
    const at = all.findIndex(is);
    return all.map((entry, place) => (place === at ? (by(entry as never) as JournalEntry) : entry));
  };
};
const without =
  (is: (entry: JournalEntry) => boolean): Edit =>
  (all) =>
    all.toSpliced(all.findIndex(is), 1);
const edits: readonly [string, Edit, string][] = [
  [
    "the text of an answer",
    changed(
      (entry) => entry.kind === "answered" && entry.evaluationId === entries[0]?.evaluationId,
      (entry: { readonly answer: { readonly message: object } }) => ({
        ...entry,
        answer: { ...entry.answer, message: { ...entry.answer.message, text: "Well." } },
      }),
    ),
    "event",
  ],
  ["a request that is gone", without((entry) => entry.kind === "asked"), "extra"],
  [
    "an answer that is gone",
    (all) =>
      all.slice(
        0,
        all.findIndex(({ kind }) => kind === "answered"),
      ),
    "missing",
  ],
  ["a first event that is gone", without((entry) => isEvent(entry, "prompt.rendered")), "event"],
  [
    "the last event that is gone",
    without((entry) => isEvent(entry, "prompt.executed") && entry.evaluationId === entries[0]?.evaluationId),
    "missing",
  ],
  ["an event that comes twice", (all) => all.toSpliced(2, 0, all[1] as JournalEntry), "event"],
  [
    "a request after the end",
    (all) => [...all.slice(0, -1), all.find(({ kind }) => kind === "asked") as JournalEntry],
    "extra",
  ],
];

it.each(edits)("RPL-6 RPL-4 %s in the record is a difference", async (_, edit, what) => {
  const edited = edit(entries).map((entry, index) => ({ ...entry, index }));
  const store = memoryStore();
  const of = { run: "r", first: 0, body: bodyOf(1, edited) };
  await store.append([{ ...of, count: edited.length, writer: "gone", sum: frameSum(of), summary: "{}" }]);
  const outcome = await replay(promptOf(), createJournal(store).replay("r")).catch(
    (cause: unknown) => cause as RunError,
  );
  expect(outcome).toMatchObject({ reason: "diverged", divergence: { what } });
});

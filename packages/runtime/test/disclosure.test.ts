import {
  defineEvent,
  definePrompt,
  defineSlice,
  defineTool,
  Filesystem,
  provide,
  VisibilityExpansionRequired,
} from "@proviso/core";
import { openedSections } from "@proviso/core/internal";
import { createSession, memoryFilesystem, memoryOverrides, modelAdapter, restoreSession } from "@proviso/runtime";
import { fakeEnvironment, recordEvents, scriptedModel, type ScriptedStep } from "@proviso/runtime/testing";
import { expect, test } from "vitest";
import { z } from "zod";

const done = defineEvent("done", z.object({ what: z.string() }));
const log = defineSlice({
  name: "done",
  initial: [] as readonly string[],
  reducers: ({ on }) => on(done, (draft, { what }) => void draft.push(what)),
});
const restart = defineTool({
  name: "restart",
  description: "Restarts.",
  input: z.object({}),
  async execute(_, { session, resources }) {
    session.dispatch(done({ what: "restart" }));
    return resources.get(Filesystem).exists("manual.txt");
  },
});
const demand = defineTool({
  name: "demand",
  description: "Wants the manual open.",
  input: z.object({ path: z.string(), to: z.enum(["full", "summary"]).default("full") }),
  execute({ path, to }, { session }) {
    session.dispatch(done({ what: "demand" }));
    throw new VisibilityExpansionRequired({ [path]: to }, "the manual first");
  },
});
const runbook = definePrompt({
  ns: "tests",
  key: "runbook",
  sections: [
    { key: "intro", text: "Work.", tools: [demand], slices: [log] },
    {
      key: "manual",
      title: "Manual",
      text: "Restart it.",
      summary: "How to restart.",
      visibility: "summary",
      tools: [restart],
      resources: [provide(Filesystem, memoryFilesystem({ "manual.txt": "x" }))],
    },
    { key: "history", title: "History", text: "Old.", summary: "Cases.", visibility: "summary" },
    { key: "ask", text: "Fix it.", role: "user" },
  ],
}).bind();

const opening = (...keys: string[]) => ({
  toolCalls: [{ name: "open_sections", arguments: { keys, reason: "needed" } }],
});
const names = (tools: readonly { readonly name: string }[] | undefined) => tools?.map(({ name }) => name);

test("VIS-3 sections open in place: the next request has their text and tools, and the conversation is kept", async () => {
  const model = scriptedModel([opening("manual"), { toolCalls: [{ name: "restart" }] }, { text: "fixed" }]);
  const session = createSession();
  const events = recordEvents(session);
  const { toolResults, messages } = await modelAdapter(model, fakeEnvironment()).evaluate(runbook, { session });
  const [first, second, third] = model.requests;
  expect(names(first?.tools)).toEqual(["demand", "open_sections", "read_section"]);
  expect(names(second?.tools)).toEqual(["demand", "restart", "read_section"]);
  expect(first?.messages[0]?.text).not.toContain("Restart it.");
  expect(second?.messages[0]?.text).toContain("## 2. Manual\n\nRestart it.");
  expect(second?.messages.slice(1, 2)).toEqual(first?.messages.slice(1));
  expect(third?.messages.slice(0, second?.messages.length)).toEqual(second?.messages);
  expect(toolResults.map(({ result }) => result.success)).toEqual([true, true]);
  expect(toolResults[1]?.result).toMatchObject({ value: true });
  expect(events.filter(({ type }) => type === "sections.opened")).toMatchObject([
    { promptName: "tests/runbook", keys: ["manual"], reason: "needed" },
  ]);
  expect(messages.filter(({ role }) => role === "user")).toHaveLength(1);
});

test("VIS-4 what is open is seen by the next evaluation of that prompt in the session, and by no other session", async () => {
  const session = createSession();
  const adapter = (steps: readonly ScriptedStep[]) => {
    const model = scriptedModel(steps);
    return { model, adapter: modelAdapter(model, fakeEnvironment()) };
  };
  await adapter([opening("manual"), { text: "x" }]).adapter.evaluate(runbook, { session });
  for (const [given, open] of [
    [session, true],
    [session.fork(), true],
    [createSession(), false],
  ] as const) {
    const { model, adapter: next } = adapter([{ text: "x" }]);
    await next.evaluate(runbook, { session: given });
    expect(names(model.requests[0]?.tools)?.includes("restart")).toBe(open);
  }
});

test("VIS-4 what is open of one prompt is open of no other, also where its sections have the same keys", async () => {
  const other = definePrompt({
    ns: "tests",
    key: "other",
    sections: [
      { key: "manual", text: "Another manual.", summary: "Another.", visibility: "summary", tools: [restart] },
      { key: "ask", text: "Fix it.", role: "user" },
    ],
  }).bind();
  const session = createSession();
  const toolsOf = async (prompt: typeof runbook, steps: readonly ScriptedStep[]) => {
    const model = scriptedModel(steps);
    const resources = [provide(Filesystem, memoryFilesystem())];
    await modelAdapter(model, fakeEnvironment()).evaluate(prompt, { session, resources });
    return names(model.requests.at(-1)?.tools);
  };
  await toolsOf(runbook, [opening("manual"), { text: "x" }]);
  expect(await toolsOf(other, [{ text: "x" }])).toEqual(["open_sections"]);
  expect(await toolsOf(other, [opening("manual"), { text: "x" }])).toEqual(["restart"]);
  expect(await toolsOf(runbook, [{ text: "x" }])).toContain("restart");
  expect(session.get(openedSections).map(({ prompt }) => prompt)).toEqual(["tests/runbook", "tests/other"]);
});

test("PRM-9 an evaluation renders once, however many turns it has, and once more for each that opens sections", async () => {
  let rendered = 0;
  const prompt = definePrompt({
    key: "counted",
    sections: [
      { key: "a", text: "Work.", tools: [demand], slices: [log], enabled: () => (rendered += 1) > 0 },
      { key: "b", text: "More.", summary: "Less.", visibility: "summary", tools: [restart] },
      { key: "c", text: "And more.", summary: "And less.", visibility: "summary" },
    ],
  }).bind();
  const unheard = { toolCalls: [{ name: "nope" }] };
  const wanting = { toolCalls: [{ name: "demand", arguments: { path: "c" } }] };
  const resources = [provide(Filesystem, memoryFilesystem())];
  for (const [steps, times] of [
    [[{ text: "x" }], 1],
    [[unheard, unheard, unheard, { text: "x" }], 1],
    [[unheard, opening("b"), unheard, wanting, unheard, { text: "x" }], 3],
  ] as const) {
    rendered = 0;
    await modelAdapter(scriptedModel(steps), fakeEnvironment()).evaluate(prompt, { resources });
    expect(rendered).toBe(times);
  }
});

test("VIS-4 an opening is undone with a failed transaction", async () => {
  const nest = defineTool({
    name: "nest",
    description: "Nests.",
    input: z.object({}),
    async execute(_, context) {
      await context.evaluate(runbook);
      throw new Error("after all");
    },
  });
  const outer = definePrompt({ key: "outer", sections: [{ key: "s", text: "x", tools: [nest] }] }).bind();
  const session = createSession();
  const model = scriptedModel([{ toolCalls: [{ name: "nest" }] }, opening("manual"), { text: "in" }, { text: "out" }]);
  await modelAdapter(model, fakeEnvironment()).evaluate(outer, { session });
  expect(session.get(openedSections)).toEqual([]);

  session.on("tool.invoked", ({ name }) => {
    if (name === "open_sections") throw new Error("not recorded");
  });
  const vetoed = scriptedModel([opening("manual"), { text: "x" }]);
  await modelAdapter(vetoed, fakeEnvironment()).evaluate(runbook, { session });
  expect(session.get(openedSections)).toEqual([]);
  expect(names(vetoed.requests[1]?.tools)).toContain("open_sections");
});

test("VIS-3 a handler that wants sections open has them opened, and its own changes undone", async () => {
  const session = createSession();
  const wanting = { toolCalls: [{ name: "demand", arguments: { path: "manual" } }] };
  const model = scriptedModel([wanting, { text: "x" }]);
  const { toolResults } = await modelAdapter(model, fakeEnvironment()).evaluate(runbook, { session });
  expect(toolResults[0]?.result).toMatchObject({
    success: false,
    message: expect.stringContaining("Open now: manual."),
  });
  expect(session.get(log)).toEqual([]);
  expect(names(model.requests[1]?.tools)).toContain("restart");
});

test("VIS-3 a handler may summarise a section again", async () => {
  const closing = { toolCalls: [{ name: "demand", arguments: { path: "manual", to: "summary" } }] };
  const model = scriptedModel([opening("manual"), closing, { text: "x" }]);
  await modelAdapter(model, fakeEnvironment()).evaluate(runbook);
  expect(names(model.requests[2]?.tools)).not.toContain("restart");
});

test("VIS-5 a key that is unknown or open already is a failed result that lists what can be opened", async () => {
  for (const key of ["nope", "intro", "manual.deeper", "constructor"]) {
    const model = scriptedModel([opening("manual", key), { text: "x" }]);
    const { toolResults } = await modelAdapter(model, fakeEnvironment()).evaluate(runbook);
    expect(toolResults[0]?.result).toMatchObject({
      success: false,
      message: expect.stringMatching(new RegExp(`"${key}" cannot be opened.*Can be opened: manual, history.`)),
    });
    expect(names(model.requests[1]?.tools)).not.toContain("restart");
  }
  const model = scriptedModel([{ toolCalls: [{ name: "demand", arguments: { path: "nope" } }] }, { text: "x" }]);
  const { toolResults } = await modelAdapter(model, fakeEnvironment()).evaluate(runbook);
  expect(toolResults[0]?.result).toMatchObject({ success: false, message: expect.stringContaining("manual, history") });
});

test("VIS-5 read_section answers with the text and changes nothing", async () => {
  const session = createSession();
  const model = scriptedModel([
    { toolCalls: [{ name: "read_section", arguments: { key: "history" } }] },
    { text: "x" },
  ]);
  const { toolResults } = await modelAdapter(model, fakeEnvironment()).evaluate(runbook, { session });
  expect(toolResults[0]?.result).toMatchObject({ success: true, value: "## 3. History\n\nOld." });
  expect(session.get(openedSections)).toEqual([]);
  expect(model.requests[1]?.messages[0]).toEqual(model.requests[0]?.messages[0]);
});

test("VIS-2 VIS-5 a summary inside a section that was read can be read by the key that it names", async () => {
  const below = (key: string, enabled = true) => ({
    key,
    summary: `${key}, in short.`,
    text: `All of ${key}.`,
    visibility: "summary" as const,
    enabled: () => enabled,
  });
  const off = { ...below("off", false), children: [below("hidden")] };
  const manual = { ...below("manual"), children: [{ ...below("disk"), children: [below("logs")] }, off] };
  const prompt = definePrompt({ key: "nested", sections: [manual, { key: "ask", text: "x", role: "user" }] });
  const keys = ["manual", "manual.disk", "manual.disk.logs", "manual.nope", "manual.off", "manual.off.hidden"];
  const reading = keys.map((key) => ({ toolCalls: [{ name: "read_section", arguments: { key } }] }));
  const model = scriptedModel([...reading, { text: "x" }]);
  const { toolResults } = await modelAdapter(model, fakeEnvironment()).evaluate(prompt.bind());
  const read = toolResults.map(({ result }) => (result.success ? String(result.value) : "refused"));
  expect(read[0]).toContain('Call read_section with the key "manual.disk" to read it');
  expect(read[1]).toMatch(/^All of disk\.\n\nlogs, in short\.\n\n.*"manual\.disk\.logs"/);
  expect(read.slice(2)).toEqual(["All of logs.", "refused", "refused", "refused"]);
});

test("VIS-5 what another call of the same turn has opened is open already", async () => {
  const twice = { toolCalls: [opening("manual"), opening("manual")].flatMap(({ toolCalls }) => toolCalls) };
  const model = scriptedModel([twice, { text: "x" }]);
  const session = createSession();
  const events = recordEvents(session);
  const { toolResults } = await modelAdapter(model, fakeEnvironment()).evaluate(runbook, { session });
  expect(toolResults.map(({ result }) => result.success)).toEqual([true, false]);
  expect(toolResults[1]?.result.message).toMatch(/"manual" cannot be opened.*Can be opened: history\./);
  expect(events.filter(({ type }) => type === "sections.opened")).toHaveLength(1);
});

test("VIS-3 OVR-1 a section that an override summarises opens, and is open in the session as saved", async () => {
  const plain = { key: "plain", text: "Restart it.", tools: [restart] };
  for (const section of [plain, { ...plain, summary: "Of the code." }]) {
    const template = definePrompt({ key: "summarised", sections: [section] });
    const hash = template.descriptor.sections["plain"] ?? "";
    const store = memoryOverrides();
    const shown = { hash, summary: "In short.", visibility: "summary" as const };
    await store.upsert(template.descriptor, { tag: "latest", sections: { plain: shown }, tools: {} });
    const session = createSession();
    const model = scriptedModel([opening("plain"), { text: "x" }, { text: "x" }]);
    const adapter = modelAdapter(model, fakeEnvironment());
    await adapter.evaluate(template.bind(), { session, overrides: { store } });
    const saved: unknown = JSON.parse(JSON.stringify(session.toJSON()));
    const restored = restoreSession(saved, { slices: template.slices });
    await adapter.evaluate(template.bind(), { session: restored, overrides: { store } });
    expect(model.requests.map(({ tools }) => names(tools))).toEqual([["open_sections"], ["restart"], ["restart"]]);
    expect(model.requests.map(({ messages }) => messages[0]?.text.split("\n")[0])).toEqual([
      "In short.",
      "Restart it.",
      "Restart it.",
    ]);
  }
});

test("VIS-5 a section that has nothing to be read says so", async () => {
  const empty = { key: "empty", summary: "All there is.", visibility: "summary" as const };
  const prompt = definePrompt({ key: "p", sections: [empty, { key: "ask", text: "x", role: "user" }] });
  const reading = { toolCalls: [{ name: "read_section", arguments: { key: "empty" } }] };
  const { messages } = await modelAdapter(scriptedModel([reading, { text: "x" }]), fakeEnvironment()).evaluate(
    prompt.bind(),
  );
  expect(messages.find(({ role }) => role === "tool")?.text).toBe('"empty" says no more than its summary.');
});

test("VIS-3 RES-1 what a section binds that opens counts before the prompt's own, and after the evaluation's", async () => {
  const [near, far, given] = ["near", "far", "given"].map((name) => memoryFilesystem({ [`${name}.txt`]: name }));
  const list = (name: string) =>
    defineTool({
      name,
      description: "Lists.",
      input: z.object({}),
      execute: async (_, { resources }) => (await resources.get(Filesystem).list()).map((entry) => entry.name).join(),
    });
  const closed = { summary: "F.", visibility: "summary" as const };
  const far2 = provide(Filesystem, far as Filesystem);
  const prompt = definePrompt({
    key: "bound",
    resources: [provide(Filesystem, near as Filesystem)],
    sections: [
      { key: "near", text: "Near.", tools: [list("list_near")] },
      { key: "far", text: "Far.", ...closed, tools: [list("list_far")], resources: [far2] },
    ],
  }).bind();
  for (const [resources, before, after] of [
    [[], "near.txt", "far.txt"],
    [[provide(Filesystem, given as Filesystem)], "given.txt", "given.txt"],
  ] as const) {
    const session = createSession();
    const steps = ["list_near", "open", "list_far"].map((name) =>
      name === "open" ? opening("far") : { toolCalls: [{ name }] },
    );
    const model = scriptedModel([...steps, { text: "x" }, { toolCalls: [{ name: "list_far" }] }, { text: "x" }]);
    const adapter = modelAdapter(model, fakeEnvironment());
    const first = await adapter.evaluate(prompt, { session, resources });
    const next = await adapter.evaluate(prompt, { session, resources });
    const listed = [...first.toolResults, ...next.toolResults].map(({ result }) => result.success && result.value);
    expect(listed).toEqual([before, null, after, after]);
  }
});

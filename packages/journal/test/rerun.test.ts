import {
  allow,
  defineEvent,
  definePolicy,
  definePrompt,
  defineSlice,
  defineTool,
  deny,
  Filesystem,
  isEvaluationFailure,
  provide,
  RunError,
  suspend,
  toolOk,
  type Tool,
  type ToolPolicy,
} from "@proviso/core";
import { memoryJournal } from "@proviso/journal";
import { replay } from "@proviso/journal/testing";
import { createSession, memoryFilesystem, modelAdapter } from "@proviso/runtime";
import { scriptedModel, type ScriptedStep } from "@proviso/runtime/testing";
import { expect, it } from "vitest";
import { z } from "zod";

const noted = defineEvent("noted", z.object({ text: z.string() }));
const notes = defineSlice({
  name: "notes",
  initial: [] as readonly string[],
  reducers: ({ on }) => on(noted, (draft, { text }) => void draft.push(text)),
});

/** A tool that notes a text, and returns how many notes there are. */
function noteTool(done: string[], more: { readonly changed?: (text: string) => string; readonly after?: number } = {}) {
  return defineTool({
    name: "note",
    description: "Takes a note.",
    input: z.object({ text: z.string() }),
    execute({ text }, { session, idempotencyKey }) {
      done.push(`${text} ${idempotencyKey}`);
      session.dispatch(noted({ text: more.changed?.(text) ?? text }));
      if (text === "bad") throw new Error("A bad note.");
      return session.get(notes).length + (more.after ?? 0);
    },
  });
}

function promptOf(tools: readonly Tool[], policies: readonly ToolPolicy[] = []) {
  return definePrompt({
    ns: "test",
    key: "again",
    policies,
    sections: [{ key: "task", text: "Take notes.", tools, slices: [notes] }],
  }).bind();
}

const call = (name: string, args: object): ScriptedStep => ({ toolCalls: [{ name, arguments: args as never }] });

async function recorded(
  prompt: ReturnType<typeof promptOf>,
  steps: readonly ScriptedStep[],
  options: Parameters<ReturnType<typeof modelAdapter>["evaluate"]>[1] = {},
  secrets: readonly string[] = [],
) {
  const journal = memoryJournal({ secrets });
  const adapter = modelAdapter(scriptedModel([...steps]));
  const outcome = await adapter
    .evaluate(prompt, { ...options, run: journal.run("r") })
    .catch((error: unknown) => error as Error);
  if (outcome instanceof Error && !isEvaluationFailure(outcome)) throw outcome;
  return { journal, outcome };
}

const differenceOf = async (evaluating: Promise<unknown>): Promise<RunError> => {
  const error = await evaluating.then(
    () => undefined,
    (cause: unknown) => cause,
  );
  expect(error).toBeInstanceOf(RunError);
  return error as RunError;
};

it("RPL-3 handlers and policies run again, over a session of their own, and what they come to is the record's", async () => {
  const asked: string[] = [];
  const policy = definePolicy({
    name: "no fours",
    check({ input }) {
      asked.push(JSON.stringify(input));
      return JSON.stringify(input).includes("four") ? deny("No fours.") : allow();
    },
  });
  const done: string[] = [];
  const steps = ["one", "bad", "four", "two"].map((text) => call("note", { text }));
  const { journal } = await recorded(promptOf([noteTool(done)], [policy]), [...steps, { text: "Done." }]);
  const before = asked.splice(0);

  const again: string[] = [];
  const prompt = promptOf([noteTool(again)], [policy]);
  const { response, events, session } = await replay(prompt, journal.replay("r", { tools: "run" }));
  expect(again).toEqual(done);
  expect(asked).toEqual(before);
  expect(session.get(notes)).toEqual(["one", "two"]);
  const { events: same } = await replay(prompt, journal.replay("r"));
  expect(events).toEqual(same);
  expect(response?.toolResults.map(({ result }) => result.message)).toEqual(["", "A bad note.", "No fours.", ""]);
  expect(again).toHaveLength(3);
});

it("RPL-3 JRN-6 what the journal hides is compared as it is hidden, and shown in no difference", async () => {
  const secret = "acc-77120-secret";
  const connect = (text: string) =>
    defineTool({
      name: "connect",
      description: "Connects.",
      input: z.object({}),
      execute(_, { session }) {
        session.dispatch(noted({ text }));
        return { with: text, of: session.get(notes) };
      },
    });
  const { journal } = await recorded(
    promptOf([connect(secret)]),
    [call("connect", {}), { text: `Done with ${secret}.` }],
    {},
    [secret],
  );
  for (const tools of ["recorded", "run"] as const) {
    const { response, session } = await replay(promptOf([connect(secret)]), journal.replay("r", { tools }));
    expect(response?.text).toBe("Done with [secret].");
    expect(session.get(notes)).toEqual(["[secret]"]);
  }
  // The cut of a message goes through no secret either.
  const other = promptOf([connect(`${"x".repeat(195)}${secret}`)]);
  const error = await differenceOf(replay(other, journal.replay("r", { tools: "run" })));
  expect(error.message).toContain('was "[secret]" and is "xxx');
  expect(JSON.stringify([error.message, error.divergence])).not.toContain("acc-");
});

it("RPL-3 RPL-4 a handler that returns something else is named, and no handler begins after it", async () => {
  const { journal } = await recorded(promptOf([noteTool([])]), [
    call("note", { text: "one" }),
    call("note", { text: "two" }),
    { text: "Done." },
  ]);
  const again: string[] = [];
  const changed = promptOf([noteTool(again, { after: 10 })]);
  const events: string[] = [];
  const session = createSession();
  session.on("*", ({ type }) => void events.push(type));
  const error = await differenceOf(replay(changed, journal.replay("r", { tools: "run" })));
  expect(error.message).toBe('The run "r" diverges at step 2: note: result.value was 1 and is 11.');
  expect(error.divergence).toMatchObject({ step: 2, what: "call", path: "note: result.value", recorded: 1, now: 11 });
  expect(again).toHaveLength(1);
  // Without its handlers the run is as it was.
  expect((await replay(changed, journal.replay("r"))).response?.text).toBe("Done.");
});

it("RPL-3 after a difference no other call of the same turn begins", async () => {
  const toolCalls = ["one", "two", "three"].map((text) => ({ name: "note", arguments: { text } }));
  const { journal } = await recorded(promptOf([noteTool([])]), [{ toolCalls }, { text: "Done." }]);
  const again: string[] = [];
  const changed = promptOf([noteTool(again, { changed: (text) => text.toUpperCase(), after: 10 })]);
  const error = await differenceOf(replay(changed, journal.replay("r", { tools: "run" })));
  expect(error.divergence).toMatchObject({ what: "call", recorded: 1, now: 11 });
  expect(again).toHaveLength(1);
});

it("RPL-3 an event that a handler dispatches otherwise, or no more, is named", async () => {
  const { journal } = await recorded(promptOf([noteTool([])]), [call("note", { text: "one" }), { text: "Done." }]);
  const loud = promptOf([noteTool([], { changed: (text) => text.toUpperCase() })]);
  const error = await differenceOf(replay(loud, journal.replay("r", { tools: "run" })));
  expect(error.divergence).toMatchObject({
    what: "event",
    path: "note: dispatched[0].text",
    recorded: "one",
    now: "ONE",
  });
});

it("RPL-3 a policy that denies what was done, and one that allows what was denied, are named", async () => {
  const no = definePolicy({ name: "no", check: () => deny("No.") });
  const { journal } = await recorded(promptOf([noteTool([])]), [call("note", { text: "one" }), { text: "Done." }]);
  const denied = await differenceOf(replay(promptOf([noteTool([])], [no]), journal.replay("r", { tools: "run" })));
  expect(denied.divergence).toMatchObject({ what: "call", path: "note: result.success", recorded: true, now: false });

  const other = await recorded(promptOf([noteTool([])], [no]), [call("note", { text: "one" }), { text: "Done." }]);
  const again: string[] = [];
  const allowed = await differenceOf(replay(promptOf([noteTool(again)]), other.journal.replay("r", { tools: "run" })));
  expect(allowed.divergence).toMatchObject({ path: "note: result.success", recorded: false, now: true });
  expect(again).toHaveLength(1);
});

it("RPL-3 evaluations inside a call are answered from the record; another request is named", async () => {
  const look = (text: string, done: string[]) =>
    defineTool({
      name: "look",
      description: "Looks.",
      input: z.object({}),
      async execute(_input, { evaluate }) {
        const first = await evaluate(text);
        const second = await evaluate(`${text} Again.`);
        done.push(`${first.text} ${second.text}`);
        return `${first.text} ${second.text}`;
      },
    });
  const { journal } = await recorded(promptOf([look("Look.", [])]), [
    call("look", {}),
    { text: "A tree." },
    { text: "A bird." },
    { text: "Done." },
  ]);
  const done: string[] = [];
  const { response } = await replay(promptOf([look("Look.", done)]), journal.replay("r", { tools: "run" }));
  expect([response?.text, done]).toEqual(["Done.", ["A tree. A bird."]]);
  const error = await differenceOf(replay(promptOf([look("Peer.", [])]), journal.replay("r", { tools: "run" })));
  expect(error.divergence).toMatchObject({ what: "request", path: "look: a request inside", now: "Peer." });
});

it("RPL-3 resources are those that are given, and what failed calls did to them is undone", async () => {
  const write = defineTool({
    name: "write",
    description: "Writes.",
    input: z.object({ path: z.string() }),
    uses: [Filesystem],
    async execute({ path }, { resources }) {
      const files = resources.get(Filesystem);
      await files.write(path, "text");
      if (path === "bad.md") throw new Error("Not this one.");
      return (await files.glob("**")).length;
    },
  });
  const prompt = promptOf([write]);
  const steps = ["a.md", "bad.md", "b.md"].map((path) => call("write", { path }));
  const { journal } = await recorded(prompt, [...steps, { text: "Done." }], {
    resources: [provide(Filesystem, memoryFilesystem())],
  });
  const files = memoryFilesystem();
  const resources = [provide(Filesystem, files)];
  expect((await replay(prompt, journal.replay("r", { tools: "run" }), { resources })).response?.text).toBe("Done.");
  expect(await files.glob("**")).toEqual(["a.md", "b.md"]);
  const without = await differenceOf(replay(prompt, journal.replay("r", { tools: "run" })));
  expect([without.reason, without.message]).toEqual(["state", expect.stringContaining("its calls cannot run again: ")]);
});

it("RPL-3 a call whose arguments were hidden is answered from the record", async () => {
  const secret = "hunter2-hunter2";
  const done: string[] = [];
  const { journal, outcome } = await recorded(
    promptOf([noteTool(done)]),
    [call("note", { text: secret }), call("note", { text: "two" }), { text: "Done." }],
    {},
    [secret],
  );
  expect(outcome).not.toBeInstanceOf(Error);
  const again: string[] = [];
  const { session } = await replay(promptOf([noteTool(again)]), journal.replay("r", { tools: "run" }));
  expect(again).toEqual([done[1]]);
  expect(session.get(notes)).toHaveLength(2);
});

it("RPL-3 a call that a listener refused is refused again, and its changes are gone for those after it", async () => {
  const session = createSession({ slices: [notes] });
  session.on("tool.invoked", ({ params }) => {
    if (JSON.stringify(params).includes("odd")) throw new Error("Odd.");
  });
  const steps = ["one", "odd", "two"].map((text) => call("note", { text }));
  const { journal } = await recorded(promptOf([noteTool([])]), [...steps, { text: "Done." }], { session });
  const again: string[] = [];
  const { response } = await replay(promptOf([noteTool(again)]), journal.replay("r", { tools: "run" }));
  expect(again).toHaveLength(3);
  expect(response?.toolResults.map(({ result }) => result.success && result.value)).toEqual([1, false, 2]);
});

it("RPL-3 SUS-2 what was decided later is decided again, and a result that was given stands for the handler", async () => {
  const wait = definePolicy({
    name: "wait",
    check: ({ input }) => (String(input).includes("x") ? allow() : suspend("?")),
  });
  for (const decision of [allow(), deny("Not now."), { result: toolOk(7) }]) {
    const journal = memoryJournal();
    const done: string[] = [];
    const adapter = modelAdapter(scriptedModel([call("note", { text: "one" }), { text: "Done." }]));
    const prompt = promptOf([noteTool(done)], [wait]);
    const error = await adapter.evaluate(prompt, { run: journal.run("r") }).catch((cause: unknown) => cause);
    const waiting = await replay(promptOf([noteTool([])], [wait]), journal.replay("r", { tools: "run" }));
    expect(waiting.failure?.message).toBe('The run "r" waits for a decision: ?');
    await journal.resolve((error as RunError).pending?.token ?? "", decision);
    const { text } = await adapter.evaluate(prompt, { run: journal.run("r") });
    const again: string[] = [];
    const { response } = await replay(promptOf([noteTool(again)], [wait]), journal.replay("r", { tools: "run" }));
    expect(response?.text).toBe(text);
    expect(again).toEqual(done);
  }
});

it("RPL-3 calls beside each other run again, whichever ends first", async () => {
  const waits: (() => void)[] = [];
  const slow = (order: readonly number[]) => {
    let begun = 0;
    return defineTool({
      name: "slow",
      description: "Waits for the others.",
      input: z.object({ n: z.number() }),
      readOnly: true,
      async execute({ n }) {
        begun += 1;
        const mine = new Promise<void>((resolve) => (waits[n] = resolve));
        if (begun === order.length) for (const each of order) waits[each]?.();
        await mine;
        return n;
      },
    });
  };
  const toolCalls = [0, 1, 2].map((n) => ({ name: "slow", arguments: { n } }));
  const { journal } = await recorded(promptOf([slow([2, 0, 1])]), [{ toolCalls }, { text: "Done." }]);
  const { events } = await replay(promptOf([slow([1, 2, 0])]), journal.replay("r", { tools: "run" }));
  const { events: same } = await replay(promptOf([slow([0, 1, 2])]), journal.replay("r"));
  expect(events).toEqual(same);
});

it("RPL-3 an unknown mode is refused", () => {
  expect(() => memoryJournal().replay("r", { tools: "walk" as never })).toThrow(
    'replay: tools must be "recorded" or "run", not "walk".',
  );
});

/** A tool that evaluates, whose inner model makes ids up, and that returns its own key. */
function nesting(done: string[] = []) {
  const inner = promptOf([noteTool(done)]);
  return defineTool({
    name: "nest",
    description: "Evaluates.",
    input: z.object({ text: z.string() }),
    transactional: true,
    async execute({ text }, { evaluate, idempotencyKey }) {
      done.push(text);
      return `${(await evaluate(inner)).text} ${idempotencyKey}`;
    },
  });
}

it("RPL-3 FRK-5 the kept calls of a fork run again, with the keys and the decisions that they had", async () => {
  const wait = definePolicy({
    name: "wait",
    check: ({ tool: { name }, input }) =>
      name === "note" && JSON.stringify(input).includes("three") ? suspend("?") : allow(),
  });
  const twice: ScriptedStep = {
    toolCalls: [
      { id: "", name: "note", arguments: { text: "one" } },
      { id: "", name: "note", arguments: { text: "two" } },
    ],
  };
  const inside: readonly ScriptedStep[] = [call("nest", { text: "in" }), twice, { text: "Nested." }];
  const { journal, outcome } = await recorded(promptOf([nesting(), noteTool([])], [wait]), [
    ...inside,
    call("note", { text: "three" }),
  ]);
  if (!(outcome instanceof RunError)) throw new Error("It waits.");
  await journal.resolve(outcome.pending?.token ?? "", allow());
  const prompt = (done: string[]) => promptOf([nesting(done), noteTool(done)], [wait]);
  const last = modelAdapter(scriptedModel([{ text: "Done." }]));
  expect((await last.evaluate(prompt([]), { run: journal.run("r") })).text).toBe("Done.");
  const forked = modelAdapter(scriptedModel([{ text: "Forked." }]));
  expect((await forked.evaluate(prompt([]), { run: journal.fork("r", { at: 4, id: "f" }) })).text).toBe("Forked.");
  for (const [id, text] of [
    ["r", "Done."],
    ["f", "Forked."],
  ] as const) {
    const done: string[] = [];
    expect((await replay(prompt(done), journal.replay(id, { tools: "run" }))).response?.text).toBe(text);
    expect(done.map((each) => each.split(" ")[0])).toEqual(["in", "one", "two", "three"]);
  }
});

it("RPL-3 what a listener refused inside a call is refused again there", async () => {
  const session = createSession();
  session.on("tool.invoked", ({ name, result, parent }) => {
    if (parent !== undefined && name === "note" && result.success) throw new Error("Not inside.");
  });
  const steps = [call("nest", { text: "in" }), call("note", { text: "one" }), { text: "Refused." }, { text: "Done." }];
  const { journal } = await recorded(promptOf([nesting()]), steps, { session });
  const { session: again, response } = await replay(promptOf([nesting()]), journal.replay("r", { tools: "run" }));
  expect(response?.text).toBe("Done.");
  expect(again.get(notes)).toEqual(session.get(notes));
});

it("RPL-3 RPL-7 a call that a limit stopped is answered from the record, whatever policies there are", async () => {
  const stopping = new AbortController();
  const change = definePolicy({ name: "change", check: () => allow({ text: "changed" }) });
  const stop = defineTool({
    name: "stop",
    description: "Stops.",
    input: z.object({ text: z.string() }),
    execute: (_, { signal }) => {
      stopping.abort(new Error("Enough."));
      return new Promise((resolve) => signal.addEventListener("abort", () => resolve("late")));
    },
  });
  const prompt = promptOf([stop, noteTool([])], [change]);
  const steps = [call("note", { text: "one" }), call("stop", { text: "now" })];
  const { journal, outcome } = await recorded(prompt, steps, { signal: stopping.signal });
  const { failure } = await replay(prompt, journal.replay("r", { tools: "run" }));
  expect(failure?.message).toBe((outcome as Error).message);
});

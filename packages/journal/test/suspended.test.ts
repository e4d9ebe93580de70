import {
  allow,
  deadlineIn,
  defineEvent,
  definePolicy,
  definePrompt,
  defineSlice,
  defineTool,
  deny,
  JournalError,
  RunError,
  suspend,
  toolError,
  toolOk,
  type Deadline,
  type EvaluateOptions,
  type PolicyDecision,
  type SessionEvent,
  type ToolPolicy,
} from "@proviso/core";
import { createJournal, memoryJournal, type Journal } from "@proviso/journal";
import { bodyOf, frameSum, memoryStore } from "@proviso/journal/internal";
import { sqliteJournal } from "@proviso/journal/node";
import { replay } from "@proviso/journal/testing";
import { createSession, modelAdapter, serverSentEvents } from "@proviso/runtime";
import { fakeClock, scriptedModel, type ScriptedStep } from "@proviso/runtime/testing";
import { join } from "node:path";
import { inspect } from "node:util";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { folder, listed } from "./support.ts";

const asked = defineEvent("asked", z.object({}));
const counts = defineSlice({
  name: "counts",
  initial: 0,
  reducers: ({ on }) => on(asked, (count) => count + 1),
});

/** A desk that pays money back; what it does is in `done`. */
function desk(done: string[], policies: readonly ToolPolicy[] = []) {
  const refund = defineTool({
    name: "refund",
    description: "Pays money back.",
    input: z.object({ order: z.string(), cents: z.number().int() }),
    output: z.object({ receipt: z.string() }),
    execute({ order, cents }) {
      done.push(`${order} ${cents}`);
      return { receipt: `receipt of ${order}` };
    },
  });
  const note = defineTool({
    name: "note",
    description: "Takes a note.",
    input: z.object({ text: z.string() }),
    execute({ text }) {
      done.push(text);
      return text.length;
    },
  });
  const manager = definePolicy({
    name: "manager",
    tools: [refund],
    slices: [counts],
    check({ input }, { session }) {
      session.dispatch(asked({}));
      if (input.cents <= 5_000) return allow();
      return suspend(`Refund ${input.cents} cents for ${input.order}?`, { details: { order: input.order } });
    },
  });
  return definePrompt({
    ns: "test",
    key: "desk",
    policies: [manager, ...policies],
    sections: [{ key: "task", text: "Answer the mail.", tools: [refund, note] }],
  }).bind();
}

const turn: ScriptedStep = {
  toolCalls: [
    { id: "c1", name: "note", arguments: { text: "before" } },
    { id: "c2", name: "refund", arguments: { order: "A1", cents: 9_000 } },
    { id: "c3", name: "note", arguments: { text: "after" } },
  ],
};
const end: ScriptedStep = { text: "Done." };

type Desk = ReturnType<typeof desk>;

/** Evaluates until the run waits, and returns what it waits for. */
async function waiting(journal: Journal, prompt: Desk, options: EvaluateOptions = {}, id = "r") {
  const error = await modelAdapter(scriptedModel([turn]))
    .evaluate(prompt, { run: journal.run(id), ...options })
    .catch((thrown: unknown) => thrown);
  if (!(error instanceof RunError) || error.pending === undefined) throw error;
  return { error, pending: error.pending };
}

const goOn = (journal: Journal, prompt: Desk, options: EvaluateOptions = {}) =>
  modelAdapter(scriptedModel([end])).evaluate(prompt, { run: journal.run("r"), ...options });

describe("a run that waits for a decision", () => {
  it("SUS-1 STR-6 is shown to a page as one that waits, without its token", async () => {
    const stream = modelAdapter(scriptedModel([turn])).stream(desk([]), { run: memoryJournal().run("r") });
    const body = await new Response(serverSentEvents(stream)).text();
    expect(body).toContain(`event: failed\ndata: {"code":"run","reason":"suspended"}\n\n`);
  });

  it("SUS-1 undoes the call, keeps the question, and rejects with what is waited for", async () => {
    const journal = memoryJournal();
    const done: string[] = [];
    const session = createSession({ id: "s" });
    const events: SessionEvent[] = [];
    session.on("*", (event) => void events.push(event));
    const { error, pending } = await waiting(journal, desk(done), { session });
    expect(error).toMatchObject({ code: "run", reason: "suspended", runId: "r", phase: "tool" });
    expect(pending).toEqual({
      token: expect.stringMatching(/^[\w-]{22}\.[\w-]+$/u) as string,
      callId: "c2",
      tool: "refund",
      input: { order: "A1", cents: 9_000 },
      question: "Refund 9000 cents for A1?",
      details: { order: "A1" },
      about: "decision",
    });
    // The call before it stands, the one after it has not begun, and what the policy dispatched is undone.
    expect(done).toEqual(["before"]);
    expect(session.get(counts)).toBe(0);
    expect(events.at(-1)).toMatchObject({
      type: "run.suspended",
      runId: "r",
      callId: "c2",
      name: "refund",
      question: "Refund 9000 cents for A1?",
    });
    const ended = events.filter(({ type }) => type === "tool.invoked" || type === "prompt.failed");
    expect(ended.map((event) => "callId" in event && event.callId)).toEqual(["c1"]);
    expect(events.map((event) => "seq" in event && event.seq)).toEqual(events.map((_, seq) => seq));
  });

  it("SUS-1 is listed as suspended, with the question and without the token", async () => {
    const journal = memoryJournal();
    const { pending } = await waiting(journal, desk([]));
    const summary = await journal.describe("r");
    expect(summary).toMatchObject({ state: "suspended", pending: { ...pending, token: "" }, steps: 2 });
    expect(await listed(journal.list({ state: "suspended" }))).toHaveLength(1);
    expect(await journal.prune({ keep: 0 })).toBe(0);
  });

  it("SUS-2 only the hash of the token is kept, and printing the error does not show it", async () => {
    const journal = memoryJournal();
    const logged: unknown[] = [];
    const log = (...of: unknown[]): void => void logged.push(of);
    const logger = { debug: log, info: log, warn: log, error: log };
    const error: unknown = await modelAdapter(scriptedModel([turn]), { logger })
      .evaluate(desk([]), { run: journal.run("r") })
      .catch((thrown: unknown) => thrown);
    const { token = "" } = (error as RunError).pending ?? {};
    const [secret = ""] = token.split(".");
    expect(secret).toHaveLength(22);
    const shown = JSON.stringify([await listed(journal.entries("r")), logged]) + inspect(error, { depth: 9 });
    expect(shown).not.toContain(secret);
    expect(logged.filter((of) => JSON.stringify(of).includes("prompt.suspended"))).toEqual([
      [expect.objectContaining({ code: "run" }), "prompt.suspended"],
    ]);
  });

  it("SUS-2 goes on in another process when it is allowed, without asking that policy again", async () => {
    const file = join(await folder(), "runs.db");
    const done: string[] = [];
    const later: string[] = [];
    const second = definePolicy({
      name: "second",
      check({ tool }) {
        later.push(tool.name);
        return allow();
      },
    });
    let token = "";
    {
      await using journal = sqliteJournal(file);
      ({ token } = (await waiting(journal, desk(done, [second]))).pending);
    }
    {
      await using office = sqliteJournal(file);
      expect(await office.resolve(token, allow())).toMatchObject({ id: "r", state: "open", pending: undefined });
    }
    await using journal = sqliteJournal(file);
    const { output, toolResults } = await goOn(journal, desk(done, [second]));
    expect(output).toBe("Done.");
    expect(done).toEqual(["before", "A1 9000", "after"]);
    expect(later).toEqual(["note", "refund", "note"]);
    expect(toolResults.map(({ callId, result }) => [callId, result.success])).toEqual([
      ["c1", true],
      ["c2", true],
      ["c3", true],
    ]);
    expect(await journal.describe("r")).toMatchObject({ state: "executed", attempts: 2 });
    const kinds = (await listed(journal.entries("r"))).filter(({ isVoid }) => isVoid).map(({ kind }) => kind);
    expect(kinds).toContain("suspended");
  });

  const decisions: readonly [string, PolicyDecision | { result: ReturnType<typeof toolOk> }, object, string[]][] = [
    ["denied", deny("The manager says no."), { success: false, message: "The manager says no." }, []],
    [
      "allowed with another input",
      allow({ order: "A1", cents: 100 }),
      { success: true, value: { receipt: "receipt of A1" } },
      ["A1 100"],
    ],
    ["allowed with an input that does not fit", allow({ order: "A1" }), { success: false }, []],
    [
      "done elsewhere",
      { result: toolOk({ receipt: "by hand" }) },
      { success: true, value: { receipt: "by hand" } },
      [],
    ],
    ["done elsewhere, with a value that does not fit", { result: toolOk(7) }, { success: false }, []],
    ["failed elsewhere", { result: toolError("No money.") }, { success: false, message: "No money." }, []],
  ];
  it.each(decisions)("SUS-2 the call comes to what was decided: %s", async (_name, decision, result, made) => {
    const journal = memoryJournal();
    const done: string[] = [];
    const { pending } = await waiting(journal, desk(done));
    await journal.resolve(pending.token, decision);
    const { toolResults } = await goOn(journal, desk(done));
    expect(toolResults[1]?.result).toMatchObject(result);
    expect(done).toEqual(["before", ...made, "after"]);
  });

  it("SUS-2 a token is good once, and no other one is", async () => {
    const journal = memoryJournal();
    const { pending } = await waiting(journal, desk([]));
    const wrong = { reason: "token" };
    const [secret = "", run = ""] = pending.token.split(".");
    const others = ["", "x", `${secret.slice(1)}A.${run}`, secret, `${secret}.${btoa("q")}`, `${secret}.${run}.${run}`];
    for (const token of [...others, 7 as never]) {
      await expect(journal.resolve(token, allow())).rejects.toMatchObject(wrong);
    }
    const both = await Promise.allSettled([
      journal.resolve(pending.token, allow()),
      journal.resolve(pending.token, deny("No.")),
    ]);
    expect(both.map(({ status }) => status).toSorted()).toEqual(["fulfilled", "rejected"]);
    await expect(journal.resolve(pending.token, allow())).rejects.toBeInstanceOf(JournalError);
    await goOn(journal, desk([]));
    await expect(journal.resolve(pending.token, allow())).rejects.toMatchObject(wrong);
  });

  it.each(["arguments", "args", "updatedInput"])(
    "SUS-2 a decision with %s is refused: the call would run unedited",
    async (key) => {
      const journal = memoryJournal();
      const { pending } = await waiting(journal, desk([]));
      const decision = { allowed: true, [key]: { to: "staging" } } as const;
      await expect(journal.resolve(pending.token, decision as never)).rejects.toMatchObject({
        code: "definition",
        message: `The decision has no option ${key}. Did you mean input?`,
      });
      await journal.resolve(pending.token, allow());
    },
  );

  it.each([[undefined], [{}], [{ allowed: "yes" }], [suspend("Again?")], [true], [allow(Symbol("x"))]])(
    "SUS-2 %o is no decision",
    async (decision) => {
      const journal = memoryJournal();
      const { pending } = await waiting(journal, desk([]));
      await expect(journal.resolve(pending.token, decision as never)).rejects.toMatchObject({ code: "definition" });
      await journal.resolve(pending.token, allow());
    },
  );

  it("SUS-2 a run that is evaluated before it is decided waits again, and either token decides", async () => {
    for (const which of [0, 1]) {
      const journal = memoryJournal();
      const done: string[] = [];
      const tokens: string[] = [];
      for (let round = 0; round < 2; round++) tokens.push((await waiting(journal, desk(done))).pending.token);
      expect(new Set(tokens).size).toBe(2);
      await journal.resolve(tokens[which] ?? "", allow());
      await expect(journal.resolve(tokens[1 - which] ?? "", allow())).rejects.toMatchObject({ reason: "token" });
      await goOn(journal, desk(done));
      expect(done).toEqual(["before", "A1 9000", "after"]);
    }
  });

  it("SUS-2 a run that was cancelled cannot be decided", async () => {
    const journal = memoryJournal();
    const { pending } = await waiting(journal, desk([]));
    expect(await journal.cancel("r")).toBe(true);
    expect(await journal.describe("r")).toMatchObject({ state: "cancelled", pending: undefined });
    await expect(journal.resolve(pending.token, allow())).rejects.toMatchObject({ reason: "token" });
  });

  it("SUS-3 a decision that does not come in time is a denial", async () => {
    const journal = memoryJournal();
    const clock = fakeClock();
    const done: string[] = [];
    const prompt = desk(done, [
      definePolicy({
        name: "day",
        check: ({ tool }) => (tool.name === "note" ? suspend("Note?", { expiresInMs: 1_000 }) : allow()),
      }),
    ]);
    const evaluate = (steps: readonly ScriptedStep[]) =>
      modelAdapter(scriptedModel(steps), { clock }).evaluate(prompt, { run: journal.run("r") });
    const first = (await evaluate([turn]).catch((thrown: unknown) => thrown)) as RunError;
    await clock.advance(600);
    const second = (await evaluate([]).catch((thrown: unknown) => thrown)) as RunError;
    // Asking again does not make more time.
    expect(second.pending?.expiresAt).toEqual(first.pending?.expiresAt);
    await clock.advance(600);
    const third = (await evaluate([]).catch((thrown: unknown) => thrown)) as RunError;
    expect(third.pending?.callId).toBe("c2");
    expect(third.toolResults.map(({ result }) => result)).toEqual([
      { success: false, message: "Not decided in time." },
    ]);
    expect(done).toEqual([]);
  });

  it("SUS-3 a token that has expired decides nothing", async () => {
    const journal = memoryJournal();
    const prompt = desk([], [definePolicy({ name: "soon", check: () => suspend("Now?", { expiresInMs: 1 }) })]);
    const { pending } = await waiting(journal, prompt);
    await expect.poll(() => Date.now() > (pending.expiresAt?.getTime() ?? Infinity)).toBe(true);
    await expect(journal.resolve(pending.token, allow())).rejects.toMatchObject({ reason: "token" });
  });

  it("SUS-4 without a run, and inside a call that may not be run again, the call is denied", async () => {
    const done: string[] = [];
    const { toolResults } = await modelAdapter(scriptedModel([turn, end])).evaluate(desk(done));
    expect(toolResults[1]?.result).toEqual({
      success: false,
      message: "Not run: this has to be decided first, and there is no run to wait in: Refund 9000 cents for A1?",
    });
    expect(done).toEqual(["before", "after"]);
    const outer = defineTool({
      name: "outer",
      description: "Evaluates.",
      input: z.object({}),
      execute: async (_input, { evaluate }) => (await evaluate(desk(done))).toolResults.map(({ result }) => result),
    });
    const around = definePrompt({ ns: "test", key: "around", sections: [{ key: "s", text: "Go.", tools: [outer] }] });
    const response = await modelAdapter(
      scriptedModel([{ toolCalls: [{ id: "o", name: "outer", arguments: {} }] }, turn, end, end]),
    ).evaluate(around.bind(), { run: memoryJournal().run("r") });
    const denied = "Not run: this has to be decided first, and there is no run to wait in: Refund 9000 cents for A1?";
    expect(response.toolResults[0]?.result).toMatchObject({ value: [{}, { success: false, message: denied }, {}] });
  });

  it("SUS-5 a deadline does not wait: the one given when the run goes on counts", async () => {
    const journal = memoryJournal();
    const clock = fakeClock();
    const done: string[] = [];
    const evaluate = (steps: readonly ScriptedStep[], deadline: Deadline) =>
      modelAdapter(scriptedModel(steps), { clock }).evaluate(desk(done), { run: journal.run("r"), deadline });
    const first = deadlineIn(1_000, clock);
    const { pending } = (await evaluate([turn], first).catch((thrown: unknown) => thrown)) as RunError;
    await clock.advance(2_000);
    await journal.resolve(pending?.token ?? "", allow());
    await expect(evaluate([end], first)).rejects.toMatchObject({ code: "deadline" });
    await expect(evaluate([end], deadlineIn(1_000, clock))).resolves.toMatchObject({ output: "Done." });
    expect(done).toEqual(["before", "A1 9000", "after"]);
  });

  it("SUS-1 an approval can be given later", async () => {
    const journal = memoryJournal();
    const done: string[] = [];
    const approval = definePolicy({
      name: "approval",
      approve: ({ tool }) => (tool.name === "note" ? suspend("May it note?") : allow()),
    });
    const { pending } = await waiting(journal, desk(done, [approval]));
    expect(pending).toMatchObject({ callId: "c1", tool: "note", question: "May it note?" });
    await journal.resolve(pending.token, allow({ text: "other" }));
    const next = await waiting(journal, desk(done, [approval]));
    expect(next.pending.callId).toBe("c2");
    expect(done).toEqual(["other"]);
    await journal.resolve(next.pending.token, deny("No."));
    const last = await waiting(journal, desk(done, [approval]));
    expect(last.pending.callId).toBe("c3");
    await journal.resolve(last.pending.token, allow());
    await goOn(journal, desk(done, [approval]));
    expect(done).toEqual(["other", "after"]);
  });

  it("RPL-7 a suspended run replays up to its question, and a decided one as what stands", async () => {
    const journal = memoryJournal();
    const live: SessionEvent[] = [];
    const session = createSession({ id: "s" });
    session.on("*", (event) => void live.push(event));
    const { pending } = await waiting(journal, desk([]), { session });
    const again: SessionEvent[] = [];
    const replayed = createSession({ id: "s" });
    replayed.on("*", (event) => void again.push(event));
    const error: unknown = await modelAdapter(scriptedModel([]))
      .evaluate(desk([]), { run: journal.replay("r"), session: replayed })
      .catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ reason: "suspended", pending: { ...pending, token: "" } });
    expect(again.map((event) => JSON.stringify(event))).toEqual(live.map((event) => JSON.stringify(event)));
    await journal.resolve(pending.token, allow());
    const { output } = await goOn(journal, desk([]));
    const { output: same } = await modelAdapter(scriptedModel([])).evaluate(desk([]), { run: journal.replay("r") });
    expect(same).toBe(output);
  });

  it("RSM-2 a run cut after any entry of it goes on, and what was decided stands", async () => {
    const first = memoryJournal();
    const { pending } = await waiting(first, desk([]));
    await first.resolve(pending.token, allow());
    await goOn(first, desk([]));
    const entries = await listed(first.entries("r"));
    const decidedAt = entries.findIndex(({ kind }) => kind === "resolved");
    for (let count = 1; count <= entries.length; count++) {
      const store = memoryStore();
      const groups = Map.groupBy(entries.slice(0, count), ({ attempt }) => attempt);
      for (const [attempt, part] of groups) {
        const of = { run: "r", first: part[0]?.index ?? 0, body: bodyOf(attempt, part) };
        await store.append([{ ...of, count: part.length, writer: `w${attempt}`, sum: frameSum(of), summary: "{}" }]);
      }
      const done: string[] = [];
      const evaluation = modelAdapter(scriptedModel(count < 5 ? [turn, end] : [end])).evaluate(desk(done), {
        run: createJournal(store).run("r", { takeOver: true }),
      });
      if (count <= decidedAt) await expect(evaluation).rejects.toMatchObject({ reason: "suspended" });
      else await expect(evaluation).resolves.toMatchObject({ output: "Done." });
    }
  });

  it("EFF-3 policies decide on a call whose effect is not known", async () => {
    const unknownCall = async (unknown: NonNullable<ToolPolicy["unknown"]>) => {
      const first = memoryJournal();
      const call: ScriptedStep = { toolCalls: [{ id: "c1", name: "note", arguments: { text: "x" } }] };
      await modelAdapter(scriptedModel([call, end])).evaluate(desk([]), { run: first.run("r") });
      const entries = await listed(first.entries("r"));
      const count = entries.findIndex(({ kind }) => kind === "started") + 1;
      const store = memoryStore();
      const of = { run: "r", first: 0, body: bodyOf(1, entries.slice(0, count)) };
      await store.append([{ ...of, count, writer: "gone", sum: frameSum(of), summary: "{}" }]);
      const done: string[] = [];
      const journal = createJournal(store);
      const prompt = desk(done, [definePolicy({ name: "audit", unknown })]);
      const evaluate = () =>
        modelAdapter(scriptedModel([end])).evaluate(prompt, { run: journal.run("r", { takeOver: true }) });
      return { journal, done, evaluate };
    };
    const allowed = await unknownCall(() => allow());
    await allowed.evaluate();
    expect(allowed.done).toEqual(["x"]);
    const denied = await unknownCall(() => deny("Look it up first."));
    expect((await denied.evaluate()).toolResults[0]?.result).toEqual({ success: false, message: "Look it up first." });
    const none = await unknownCall(() => undefined);
    expect((await none.evaluate()).toolResults[0]?.result.message).toContain("It is not known whether note was done");
    const later = await unknownCall(() => suspend("Was it noted?"));
    const error = (await later.evaluate().catch((thrown: unknown) => thrown)) as RunError;
    expect(error.pending).toMatchObject({ about: "effect", callId: "c1" });
    await later.journal.resolve(error.pending?.token ?? "", { result: toolOk(1) });
    expect((await later.evaluate()).toolResults[0]?.result).toMatchObject({ success: true, value: 1 });
    let asked = 0;
    const once = await unknownCall(() => {
      asked += 1;
      return suspend("Was it noted?");
    });
    const waits = (await once.evaluate().catch((thrown: unknown) => thrown)) as RunError;
    await once.journal.resolve(waits.pending?.token ?? "", deny("It was."));
    expect((await once.evaluate()).toolResults[0]?.result).toEqual({ success: false, message: "It was." });
    expect([asked, once.done]).toEqual([1, []]);
    expect([...denied.done, ...none.done, ...later.done]).toEqual([]);
  });
});

it("SUS-1 RPL-7 an error that waits has the messages of the turns before, wherever in its turn the call is", async () => {
  const first = definePolicy({ name: "first", check: ({ input }) => waitsFor(input, "a") });
  for (const calls of [["a"], ["a", "b"], ["b", "a"], ["b", "a", "b"]]) {
    const journal = memoryJournal();
    const toolCalls = calls.map((order) => ({ name: "refund", arguments: { order, cents: 1 } }));
    const prompt = desk([], [first]);
    const adapter = modelAdapter(scriptedModel([{ toolCalls }]));
    const error = await adapter
      .evaluate(prompt, { run: journal.run("r") })
      .catch((cause: unknown) => cause as RunError);
    expect((error as RunError).messages.map(({ role }) => role)).toEqual(["user"]);
    const { failure } = await replay(prompt, journal.replay("r"));
    expect((failure as RunError).messages).toEqual((error as RunError).messages);
    expect((failure as RunError).toolResults).toEqual((error as RunError).toolResults);
  }
});

const waitsFor = (input: unknown, order: string): PolicyDecision =>
  JSON.stringify(input).includes(`"${order}"`) ? suspend("May it?") : allow();

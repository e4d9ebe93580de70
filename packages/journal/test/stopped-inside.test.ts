// Calls with evaluations inside, beside each other, when a limit or a suspension comes.
import {
  allow,
  definePolicy,
  definePrompt,
  defineTool,
  RunError,
  provide,
  resourceKey,
  suspend,
  toolOk,
  type Deadline,
  type EvaluateOptions,
  type Prompt,
  type Tool,
} from "@proviso/core";
import { memoryJournal, type Journal, type JournalEntry } from "@proviso/journal";
import { replay } from "@proviso/journal/testing";
import { modelAdapter } from "@proviso/runtime";
import { scriptedModel, type ScriptedStep } from "@proviso/runtime/testing";
import { describe, expect, it } from "vitest";
import { z } from "zod";

const input = z.object({});

/** A prompt whose model calls these tools once, and then says what it read of them. */
function promptOf(key: string, tools: readonly Tool[], policies: readonly ReturnType<typeof definePolicy>[] = []) {
  return definePrompt({ key, policies, sections: [{ key: "task", text: key, tools }] }).bind() as Prompt<string>;
}

/** Answers each prompt by itself: calls all of its tools, in their order, and then tells what it read. */
function adapterFor() {
  return modelAdapter({
    ...scriptedModel([]),
    async generate(request) {
      const read = request.messages.flatMap((message) => (message.role === "tool" ? [message.text] : []));
      const hasAsked = request.tools.length === 0 || request.messages.some(({ role }) => role === "assistant");
      const toolCalls = request.tools.map(({ name }) => ({ id: name, name, arguments: {} }));
      const step: ScriptedStep = hasAsked ? { text: read.join(" | ") || "said" } : { toolCalls };
      return scriptedModel([step]).generate(request);
    },
  });
}

async function effects(journal: Journal): Promise<Record<string, string>> {
  const { timeline = [] } = (await journal.describe("r")) ?? {};
  return Object.fromEntries(timeline.flatMap((step) => (step.kind === "call" ? [[step.name, step.effect]] : [])));
}

const turn = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 2));

async function pendingOf(evaluating: Promise<unknown>): Promise<string> {
  const error: unknown = await evaluating.catch((each: unknown) => each);
  if (!(error instanceof RunError) || error.pending === undefined) throw error;
  return error.pending.token;
}

describe("a limit that is met inside a call", () => {
  it.each([
    [{}, "It is not known whether work was done: it was stopped while it ran. Find out before you call it again."],
    [{ idempotent: true }, "said"],
    [{ readOnly: true }, "said"],
  ])("EFF-2 EFF-3 RPL-3 counts as that of the call's own evaluation, with %o", async (more, read) => {
    let isLate = false;
    const work = defineTool({
      name: "work",
      description: "Is busy past the deadline, and evaluates then.",
      input,
      ...more,
      async execute(_input, { evaluate, attempt }) {
        // The timer of the deadline has not fired yet.
        isLate = attempt === 1;
        return (await evaluate(promptOf("inner", []))).text;
      },
    });
    const journal = memoryJournal();
    const evaluate = (options: EvaluateOptions = {}) =>
      adapterFor().evaluate(promptOf("outer", [work]), { run: journal.run("r"), ...options });
    const late: Deadline = { expiresAt: new Date(0), remainingMs: () => (isLate ? 0 : 60_000) };
    await expect(evaluate({ deadline: late })).rejects.toMatchObject({ code: "deadline" });
    expect(await effects(journal)).toEqual({ work: "unknown" });
    expect((await evaluate()).text).toBe(read);
    const again = await replay(promptOf("outer", [work]), journal.replay("r", { tools: "run" }));
    expect(again.response?.text).toBe(read);
  });
});

describe("calls with evaluations inside, beside each other", () => {
  it.each([
    ["pay", "slow"],
    ["slow", "pay"],
  ])("RSM-2 %s and %s: what had ended is not done again", async (...order) => {
    const abort = new AbortController();
    const paid: string[] = [];
    const step = defineTool({
      name: "step",
      description: "Takes long.",
      input,
      uses: [],
      async execute(_input, { attempt }) {
        if (attempt > 1) return "stepped";
        await turn();
        abort.abort();
        await turn();
        return "late";
      },
    });
    const pay = defineTool({
      name: "pay",
      description: "Pays.",
      input,
      uses: [],
      async execute(_input, { evaluate }) {
        paid.push("paid");
        return (await evaluate(promptOf("inner", []))).text;
      },
    });
    const slow = defineTool({
      name: "slow",
      description: "Takes long inside.",
      input,
      uses: [],
      idempotent: true,
      execute: async (_input, { evaluate }) => (await evaluate(promptOf("steps", [step]))).text,
    });
    const tools = order.map((name) => (name === "pay" ? pay : slow)) as Tool[];
    const journal = memoryJournal();
    const evaluate = (options: EvaluateOptions = {}) =>
      adapterFor().evaluate(promptOf("outer", tools), { run: journal.run("r"), ...options });
    await expect(evaluate({ signal: abort.signal })).rejects.toMatchObject({ code: "aborted" });
    expect(await effects(journal)).toEqual({ pay: "committed", slow: "unknown" });
    expect((await evaluate()).text).toBe(order.map((name) => (name === "pay" ? "said" : "stepped")).join(" | "));
    expect(paid).toEqual(["paid"]);
  });

  /** A call that asks a person inside; beside it another one. */
  function asking(
    beside: Tool,
    decision: Parameters<Journal["resolve"]>[1],
    more: Partial<Tool> = { idempotent: true },
  ) {
    const allowed = defineTool({
      name: "allowed",
      description: "Needs leave.",
      input,
      uses: [],
      execute: () => "done",
    });
    const boss = definePolicy({ name: "boss", uses: [], tools: [allowed], check: () => suspend("May I?") });
    const ask = defineTool({
      name: "ask",
      description: "Asks inside.",
      input,
      uses: [],
      ...(more as object),
      execute: async (_input, { evaluate }) => (await evaluate(promptOf("asks", [allowed as Tool], [boss]))).text,
    });
    const prompt = promptOf("outer", [ask as Tool, beside]);
    const journal = memoryJournal();
    const evaluate = (options: EvaluateOptions = {}) =>
      adapterFor().evaluate(prompt, { run: journal.run("r"), ...options });
    return { prompt, journal, evaluate, decide: (token: string) => journal.resolve(token, decision) };
  }

  it.each([
    [{}, "It is not known whether slow was done: it was stopped while it ran. Find out before you call it again."],
    [{ idempotent: true }, "slow again"],
  ])("EFF-3 SUS-1 what a limit stops while the run suspends is not kept as undone, with %o", async (more, read) => {
    const abort = new AbortController();
    let calls = 0;
    const slow = defineTool({
      name: "slow",
      description: "Takes long.",
      input,
      uses: [],
      ...more,
      async execute(_input, { signal }) {
        calls += 1;
        if (calls > 1) return "slow again";
        await turn();
        await turn();
        abort.abort();
        return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
      },
    });
    const { prompt, journal, evaluate, decide } = asking(slow as Tool, allow());
    await decide(await pendingOf(evaluate({ signal: abort.signal })));
    expect(await effects(journal)).toEqual({ ask: "unknown", slow: "unknown" });
    expect((await evaluate()).text).toBe(`done | ${read}`);
    const again = await replay(prompt, journal.replay("r", { tools: "run" }));
    expect(again.response?.text).toBe(`done | ${read}`);
  });

  it("RSM-9 SUS-1 an evaluation inside another call, which the suspension ends, is no result of that call", async () => {
    let looks = 0;
    const look = defineTool({
      name: "look",
      description: "Looks inside.",
      input,
      uses: [],
      idempotent: true,
      async execute(_input, { evaluate }) {
        looks += 1;
        if (looks === 1) await turn();
        return (await evaluate(promptOf("inner", []))).text;
      },
    });
    const { prompt, journal, evaluate, decide } = asking(look as Tool, allow());
    await decide(await pendingOf(evaluate()));
    expect((await evaluate()).text).toBe("done | said");
    const again = await replay(prompt, journal.replay("r", { tools: "run" }));
    expect(again.response?.text).toBe("done | said");
  });

  it.each([
    ["denied where it cannot wait", {}, allow(), /no run to wait in/],
    ["answered by a result", { idempotent: true }, { result: toolOk("by hand") }, /^by hand/],
  ])("RPL-3 SUS-4 a call inside that was %s is so when tools run again", async (_how, more, decision, read) => {
    const free = defineTool({ name: "free", description: "Does nothing.", input, uses: [], execute: () => "free" });
    const { prompt, journal, evaluate, decide } = asking(free as Tool, decision, more as Partial<Tool>);
    if (read.source.includes("hand")) await decide(await pendingOf(evaluate()));
    const { text } = await evaluate();
    expect(text).toMatch(read);
    expect((await replay(prompt, journal.replay("r", { tools: "run" }))).response?.text).toBe(text);
  });

  it("RPL-3 FRK-5 a fork keeps what was decided inside a call of a later turn", async () => {
    const free = defineTool({ name: "free", description: "Does nothing.", input, execute: () => "free" });
    const { prompt, journal, evaluate, decide } = asking(free as Tool, allow());
    await decide(await pendingOf(evaluate()));
    const { text } = await evaluate();
    const { steps = 0 } = (await journal.describe("r")) ?? {};
    for (let at = 2; at <= steps; at++) {
      const id = `fork-${at}`;
      const forked = await adapterFor().evaluate(prompt, { run: journal.fork("r", { at, id }) });
      expect(forked.text).toBe(text);
      expect((await replay(prompt, journal.replay(id, { tools: "run" }))).response?.text).toBe(text);
    }
  });
});

it("EFF-2 a call whose handler was kept from beginning has not begun", async () => {
  const abort = new AbortController();
  const store = memoryJournal();
  const pay = defineTool({ name: "pay", description: "Pays.", input, execute: () => "paid" });
  const stop = definePolicy({
    name: "stop",
    check() {
      queueMicrotask(() => queueMicrotask(() => abort.abort()));
      return allow();
    },
  });
  const prompt = promptOf("outer", [pay as Tool], [stop]);
  await adapterFor()
    .evaluate(prompt, { run: store.run("r"), signal: abort.signal })
    .catch(() => {});
  expect((await effects(store))["pay"] ?? "not-started").not.toBe("undone");
});

it("EFF-5 a call that writes by an evaluation inside is committed in the record when the calls beside it have ended", async () => {
  const rows: string[] = [];
  const database = {
    durable: true,
    snapshot: () => rows.length,
    restore: (length: number) => void rows.splice(length),
    put: (row: string) => void rows.push(row),
  };
  const Rows = resourceKey<typeof database>("rows");
  const put = defineTool({
    name: "put",
    description: "Puts a row.",
    input,
    uses: [Rows],
    execute: (_input, { resources }) => resources.get(Rows).put("row"),
  });
  const write = defineTool({
    name: "write",
    description: "Writes inside.",
    input,
    uses: [],
    execute: async (_input, { evaluate }) => (await evaluate(promptOf("puts", [put as Tool]))).text,
  });
  const slow = defineTool({
    name: "slow",
    description: "Takes long.",
    input,
    uses: [],
    async execute() {
      for (let turns = 0; turns < 10; turns++) await turn();
      return "slow";
    },
  });
  const journal = memoryJournal();
  const run = journal.run("r");
  await adapterFor().evaluate(promptOf("outer", [write, slow] as Tool[]), {
    run,
    resources: [provide(Rows, database)],
  });
  const entries: JournalEntry[] = [];
  for await (const entry of journal.entries("r")) entries.push(entry);
  const placeOf = (kind: JournalEntry["kind"], callId: string): number =>
    entries.findLastIndex((entry) => {
      if (entry.kind !== kind) return false;
      if (entry.kind === "committed") return entry.callIds.includes(callId);
      return entry.kind === "event" && entry.event.type === "tool.invoked" && entry.event.callId === callId;
    });
  expect(placeOf("event", "write")).toBeLessThan(placeOf("event", "slow"));
  expect(placeOf("committed", "write")).toBeGreaterThan(placeOf("event", "slow"));
  expect(rows).toEqual(["row"]);
});

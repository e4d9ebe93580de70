// What becomes of calls that were under way when a limit ended the attempt, or when another call suspended the run.
import {
  allow,
  definePolicy,
  definePrompt,
  defineTool,
  RunError,
  suspend,
  toolOk,
  type EvaluateOptions,
  type Prompt,
  type Tool,
} from "@proviso/core";
import { memoryJournal, type Journal } from "@proviso/journal";
import { replay } from "@proviso/journal/testing";
import { agentAdapter, modelAdapter } from "@proviso/runtime";
import { scriptedModel, type ScriptedStep } from "@proviso/runtime/testing";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { listed } from "./support.ts";

const nothing = z.object({});
const calling = (...names: string[]): ScriptedStep => ({
  toolCalls: names.map((name) => ({ id: name, name, arguments: {} })),
});
/** Says what the model reads of its calls. */
const reading: ScriptedStep = ({ messages }) => ({
  text: messages.flatMap((message) => (message.role === "tool" ? [message.text] : [])).join(" | "),
});

const promptOf = (...tools: Tool[]): Prompt<string> =>
  definePrompt({ key: "desk", sections: [{ key: "task", text: "Work.", tools }] }).bind() as Prompt<string>;

/** A tool whose first call does not end before the evaluation is aborted, which it causes. */
function hanging(name: string, abort: AbortController, more: Partial<Tool> = {}) {
  let calls = 0;
  return defineTool({
    name,
    description: "Takes long.",
    input: nothing,
    async execute(_input, { signal }) {
      calls += 1;
      if (calls > 1) return `${name} ${calls}`;
      const stopped = new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
      setTimeout(() => abort.abort(), 1);
      return stopped;
    },
    ...(more as object),
  });
}

/** The effects that the record knows, by call. */
async function effects(journal: Journal): Promise<Record<string, string>> {
  const { timeline = [] } = (await journal.describe("r")) ?? {};
  return Object.fromEntries(timeline.flatMap((step) => (step.kind === "call" ? [[step.name, step.effect]] : [])));
}

describe("a call under way when a limit ends the attempt", () => {
  it.each([
    ["pay", "slow"],
    ["slow", "pay"],
  ])("RSM-2 TOOL-6 of %s and %s the one that had ended is not done again", async (...names) => {
    const [abort, done]: [AbortController, string[]] = [new AbortController(), []];
    const pay = defineTool({
      name: "pay",
      description: "Pays.",
      input: nothing,
      uses: [],
      execute: (_input, { idempotencyKey }) => void done.push(idempotencyKey),
    });
    const slow = hanging("slow", abort, { uses: [], idempotent: true });
    const journal = memoryJournal();
    const model = scriptedModel([calling(...names), { text: "Done." }]);
    const prompt = promptOf(pay, slow);
    const aborted = modelAdapter(model).evaluate(prompt, { run: journal.run("r"), signal: abort.signal });
    const error = await aborted.catch((failure: unknown) => failure);
    expect(error).toMatchObject({ code: "aborted", toolResults: names.map((name) => ({ name })) });
    expect(await effects(journal)).toEqual({ pay: "committed", slow: "unknown" });
    const kept = await listed(journal.entries("r"));
    expect((await replay(prompt, journal.replay("r"))).failure).toMatchObject({ code: "aborted" });
    expect(await listed(journal.entries("r"))).toEqual(kept);
    const { text } = await modelAdapter(model).evaluate(prompt, { run: journal.run("r") });
    expect(text).toBe("Done.");
    expect(done).toHaveLength(1);
    expect(await effects(journal)).toEqual({ pay: "committed", slow: "committed" });
    expect((await replay(prompt, journal.replay("r"))).response?.text).toBe("Done.");
  });

  it("EFF-3 EFF-6 is asked about as after a crash, and not done again blindly", async () => {
    const abort = new AbortController();
    const slow = hanging("slow", abort);
    const journal = memoryJournal();
    const adapter = modelAdapter(scriptedModel([calling("slow"), reading]));
    const run = (more: EvaluateOptions = {}) => adapter.evaluate(promptOf(slow), { run: journal.run("r"), ...more });
    await expect(run({ signal: abort.signal })).rejects.toMatchObject({ code: "aborted" });
    expect(await effects(journal)).toEqual({ slow: "unknown" });
    expect((await run()).text).toBe(
      "It is not known whether slow was done: it was stopped while it ran. Find out before you call it again.",
    );
  });

  it.each([{ readOnly: true }, { idempotent: true }, { transactional: true }])(
    "EFF-3 runs again with %o",
    async (more) => {
      const abort = new AbortController();
      const slow = hanging("slow", abort, more);
      const journal = memoryJournal();
      const adapter = modelAdapter(scriptedModel([calling("slow"), reading]));
      const run = (options: EvaluateOptions = {}) =>
        adapter.evaluate(promptOf(slow), { run: journal.run("r"), ...options });
      await expect(run({ signal: abort.signal })).rejects.toMatchObject({ code: "aborted" });
      expect((await run()).text).toBe("slow 2");
    },
  );

  it("EFF-2 has not begun where the limit came before its handler", async () => {
    const abort = new AbortController();
    const done: string[] = [];
    const pay = defineTool({
      name: "pay",
      description: "Pays.",
      input: nothing,
      execute: () => void done.push("paid"),
    });
    const late = definePolicy({
      name: "late",
      check() {
        abort.abort();
        return allow();
      },
    });
    const prompt = definePrompt({
      key: "desk",
      policies: [late],
      sections: [{ key: "task", text: "Work.", tools: [pay] }],
    }).bind();
    const journal = memoryJournal();
    const adapter = modelAdapter(scriptedModel([calling("pay"), { text: "Done." }]));
    await expect(adapter.evaluate(prompt, { run: journal.run("r"), signal: abort.signal })).rejects.toThrow();
    await adapter.evaluate(prompt, { run: journal.run("r") });
    expect(done).toEqual(["paid"]);
  });

  it.each(["reconcile", "unknown"])("EFF-3 is still not known where a limit comes while %s is asked", async (which) => {
    const [before, after] = [memoryJournal(), memoryJournal()];
    const done: string[] = [];
    const ended = Promise.withResolvers<void>();
    let abort = new AbortController();
    const hang = (): Promise<never> => {
      setTimeout(() => abort.abort(), 1);
      return new Promise(() => {});
    };
    const pay = defineTool({
      name: "pay",
      description: "Pays.",
      input: nothing,
      async execute() {
        done.push("paid");
        await before.copy("r", after);
        ended.resolve();
        return hang();
      },
      ...(which === "reconcile" ? { reconcile: hang } : {}),
    });
    const policy = definePolicy({
      name: "boss",
      check: () => allow(),
      ...(which === "unknown" ? { unknown: hang } : {}),
    });
    const prompt = definePrompt({
      key: "desk",
      policies: [policy],
      sections: [{ key: "task", text: "Work.", tools: [pay] }],
    }).bind();
    void modelAdapter(scriptedModel([calling("pay")]))
      .evaluate(prompt, { run: before.run("r") })
      .catch(() => {});
    await ended.promise;
    const adapter = modelAdapter(scriptedModel([reading]));
    for (let attempt = 0; attempt < 3; attempt++) {
      abort = new AbortController();
      const run = after.run("r", { takeOver: "alive" });
      await expect(adapter.evaluate(prompt, { run, signal: abort.signal })).rejects.toMatchObject({ code: "aborted" });
    }
    expect(done).toEqual(["paid"]);
  });

  it("RSM-10 a turn of an agent in which a limit stopped a call that stays is not begun again", async () => {
    const abort = new AbortController();
    const slow = hanging("slow", abort);
    const journal = memoryJournal();
    const adapter = agentAdapter({
      name: "agent",
      model: "m",
      capabilities: {},
      async drive(turn: { executeToolCall(call: object): Promise<{ text: string }> }) {
        const { text } = await turn.executeToolCall({ id: "c", name: "slow", arguments: "{}" });
        return {
          message: { role: "assistant", text, toolCalls: [] },
          usage: { inputTokens: 1, outputTokens: 1 },
          finishReason: "stop",
        };
      },
    } as never);
    const evaluate = (options: EvaluateOptions = {}) =>
      adapter.evaluate(promptOf(slow), { run: journal.run("r"), ...options });
    await expect(evaluate({ signal: abort.signal })).rejects.toMatchObject({ code: "aborted" });
    await expect(evaluate()).rejects.toMatchObject({ code: "run", reason: "agent" });
  });

  it("FRK-1 FRK-5 a fork at its step is live, and meets no limit of the attempt", async () => {
    const abort = new AbortController();
    const slow = hanging("slow", abort);
    const journal = memoryJournal();
    const evaluating = modelAdapter(scriptedModel([calling("slow")])).evaluate(promptOf(slow), {
      run: journal.run("r"),
      signal: abort.signal,
    });
    await expect(evaluating).rejects.toMatchObject({ code: "aborted" });
    const adapter = modelAdapter(scriptedModel([reading, reading]));
    const forked = await adapter.evaluate(promptOf(slow), { run: journal.fork("r", { at: 2, id: "fork" }) });
    expect(forked.text).toBe("Stopped: The evaluation was aborted.");
    const run = journal.fork("r", { at: 2, id: "other", result: toolOk("as a person found") });
    expect((await adapter.evaluate(promptOf(slow), { run })).text).toBe("as a person found");
  });
});

describe("a call beside one that suspends the run", () => {
  /** A desk that sends a mail beside an evaluation which asks its boss; `mailed` says when the mail is sent. */
  function desk(log: string[], mailed: (asked: Promise<void>) => Promise<void>) {
    const asking = Promise.withResolvers<void>();
    const mail = defineTool({
      name: "mail",
      description: "Mails.",
      input: nothing,
      uses: [],
      async execute() {
        await mailed(asking.promise);
        log.push("mailed");
        return "mailed";
      },
    });
    const pay = defineTool({
      name: "pay",
      description: "Pays.",
      input: nothing,
      uses: [],
      execute: () => void log.push("paid"),
    });
    const boss = definePolicy({
      name: "boss",
      uses: [],
      async check() {
        await new Promise((resolve) => setTimeout(resolve, 5));
        asking.resolve();
        return suspend("Pay?");
      },
    });
    const inner = definePrompt({
      key: "inner",
      policies: [boss],
      sections: [{ key: "task", text: "Pay.", tools: [pay] }],
    }).bind();
    const ask = defineTool({
      name: "ask",
      description: "Lets another prompt pay.",
      input: nothing,
      uses: [],
      idempotent: true,
      execute: async (_input, { evaluate }) => (await evaluate(inner)).text,
    });
    return promptOf(mail, ask);
  }

  it.each([
    ["before", async () => {}],
    ["after", async (asked: Promise<void>) => void (await asked.then(() => new Promise((go) => setTimeout(go, 5))))],
  ])("SUS-1 one that ends %s the question stands", async (_when, mailed) => {
    const log: string[] = [];
    const prompt = desk(log, mailed);
    const journal = memoryJournal();
    const adapter = modelAdapter(scriptedModel([calling("mail", "ask"), calling("pay"), { text: "asked" }, reading]));
    const error: unknown = await adapter.evaluate(prompt, { run: journal.run("r") }).catch((each: unknown) => each);
    if (!(error instanceof RunError) || error.pending === undefined) throw error;
    expect(error).toMatchObject({ reason: "suspended", toolResults: [{ name: "mail", result: { success: true } }] });
    expect(await effects(journal)).toEqual({ mail: "committed", ask: "unknown" });
    expect((await replay(prompt, journal.replay("r"))).failure).toMatchObject({ reason: "suspended" });
    await journal.resolve(error.pending.token, allow());
    expect((await adapter.evaluate(prompt, { run: journal.run("r") })).text).toBe("mailed | asked");
    expect(log).toEqual(["mailed", "paid"]);
    expect((await replay(prompt, journal.replay("r"))).response?.text).toBe("mailed | asked");
  });
});

describe("a decision on a call that may have been done", () => {
  /** A bank whose process ends while it pays, each time that `crashing` is called. */
  function bank() {
    const [paid, asked]: [string[], string[]] = [[], []];
    let journal: Journal = memoryJournal();
    let crash: ((to: Journal) => void) | undefined;
    const pay = defineTool({
      name: "pay",
      description: "Pays.",
      input: z.object({ cents: z.number() }),
      async execute({ cents }) {
        paid.push(`${cents}`);
        if (crash === undefined) return "paid";
        const next = memoryJournal();
        await journal.copy("r", next);
        crash(next);
        return new Promise<never>(() => {});
      },
      reconcile() {
        asked.push("reconcile");
        return "unknown";
      },
    });
    const policy = definePolicy({
      name: "boss",
      tools: [pay],
      check: () => allow(),
      unknown() {
        asked.push("boss");
        return suspend(`Payment ${paid.length} may be done. Pay again?`);
      },
    });
    const prompt = definePrompt({
      key: "bank",
      policies: [policy],
      sections: [{ key: "task", text: "Pay.", tools: [pay] }],
    }).bind();
    const step: ScriptedStep = { toolCalls: [{ id: "c", name: "pay", arguments: { cents: 100 } }] };
    const adapter = modelAdapter(scriptedModel([step, reading]));
    const attempt = () => adapter.evaluate(prompt, { run: journal.run("r", { takeOver: "alive" }) });
    return {
      paid,
      asked,
      attempt,
      journal: () => journal,
      async crashing() {
        const next = Promise.withResolvers<Journal>();
        crash = next.resolve;
        void attempt().catch(() => {});
        journal = await next.promise;
        crash = undefined;
      },
      async pending() {
        const error: unknown = await attempt().catch((each: unknown) => each);
        if (!(error instanceof RunError) || error.pending === undefined) throw error;
        return error.pending;
      },
    };
  }

  it("EFF-3 is good for one time that it runs: after another crash it is asked again", async () => {
    const { paid, asked, crashing, pending, journal, attempt } = bank();
    await crashing();
    await journal().resolve((await pending()).token, allow());
    await crashing();
    expect(paid).toHaveLength(2);
    const again = await pending();
    expect(again.question).toBe("Payment 2 may be done. Pay again?");
    expect(asked).toEqual(["reconcile", "boss", "reconcile", "boss"]);
    await journal().resolve(again.token, { result: toolOk("paid, as the bank says") });
    expect((await attempt()).text).toBe("paid, as the bank says");
    expect(paid).toHaveLength(2);
  });

  it("EFF-3 has no other input: the call runs again as it was, or not at all", async () => {
    const { crashing, pending, journal, attempt, paid } = bank();
    await crashing();
    const { token } = await pending();
    await expect(journal().resolve(token, allow({ cents: 60 }))).rejects.toMatchObject({ code: "definition" });
    await journal().resolve(token, allow());
    await attempt();
    expect(paid).toEqual(["100", "100"]);
  });

  it("EFF-3 a policy that gives another input at once denies", async () => {
    const { crashing, journal, paid } = bank();
    await crashing();
    const pay = defineTool({
      name: "pay",
      description: "Pays.",
      input: z.object({ cents: z.number() }),
      execute: ({ cents }) => void paid.push(`${cents}`),
    });
    const policy = definePolicy({ name: "boss", check: () => allow(), unknown: () => allow({ cents: 60 }) });
    const prompt = definePrompt({
      key: "bank",
      policies: [policy],
      sections: [{ key: "task", text: "Pay.", tools: [pay] }],
    }).bind();
    const run = journal().run("r", { takeOver: "alive" });
    const { text } = await modelAdapter(scriptedModel([reading])).evaluate(prompt, { run });
    expect(text).toBe("The policy boss gave another input for pay, which may have been done already.");
    expect(paid).toEqual(["100"]);
  });
});

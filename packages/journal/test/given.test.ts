// What a later attempt of a run, or a fork, is given: it counts for what comes, and a replay goes through the record with it.
import {
  deadlineAt,
  deadlineIn,
  definePrompt,
  defineTool,
  provideFactory,
  resourceKey,
  type EvaluateOptions,
  type JournalRun,
  type ModelProvider,
  type Prompt,
} from "@proviso/core";
import { memoryJournal, type Journal } from "@proviso/journal";
import { replay } from "@proviso/journal/testing";
import { modelAdapter } from "@proviso/runtime";
import { runOf } from "@proviso/runtime/recording";
import { scriptedModel, type ScriptedStep } from "@proviso/runtime/testing";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { listed } from "./support.ts";

const look = defineTool({ name: "look", description: "L", input: z.object({}), readOnly: true, execute: () => 1 });
const deep = defineTool({
  name: "deep",
  description: "D",
  input: z.object({}),
  readOnly: true,
  execute: async (_, { evaluate }) => (await evaluate("Inside?")).text,
});
const text = definePrompt({ key: "text", sections: [{ key: "task", text: "Go.", tools: [look, deep] }] }).bind();
const output = z.object({ a: z.number() });
const typed = definePrompt({ key: "typed", output, sections: [{ key: "task", text: "Go.", tools: [look] }] }).bind();
const looks: ScriptedStep = { toolCalls: [{ name: "look", arguments: {} }] };
const deeper: ScriptedStep = { toolCalls: [{ name: "deep", arguments: {} }] };
const cut: ScriptedStep = { failure: "throttle", kind: "network", message: "The line is cut." };
const done: ScriptedStep = { text: "done" };
const right: ScriptedStep = { text: '{"a":1}' };
const wrong: ScriptedStep = { text: "no" };

interface Given extends Omit<EvaluateOptions, "run"> {
  readonly model?: Partial<ModelProvider>;
}

/** The output, or the code of the error. */
async function came(
  prompt: Prompt<unknown>,
  run: JournalRun,
  steps: readonly ScriptedStep[],
  { model, ...options }: Given = {},
): Promise<unknown> {
  const adapter = modelAdapter({ ...scriptedModel(steps), ...model }, { throttle: { maxAttempts: 1 } });
  return adapter.evaluate(prompt, { ...options, run }).then(
    (response) => response.output,
    ({ code, reason = code }: { readonly code: string; readonly reason?: string }) => reason,
  );
}

/** The outputs, or the codes of the errors, of both replays. */
const replays = (journal: Journal, id: string, prompt: Prompt<unknown>): Promise<readonly unknown[]> =>
  Promise.all(
    (["recorded", "run"] as const).map(async (tools) => {
      const { response, failure } = await replay(prompt, journal.replay(id, { tools }));
      return response === undefined ? (failure as { readonly code?: string } | undefined)?.code : response.output;
    }),
  );

const both = (what: unknown): readonly unknown[] => [what, what];
const said = (words: string) => [
  { role: "user", text: words } as const,
  { role: "assistant", text: "Yes.", toolCalls: [] } as const,
];
const other = { name: "other", capabilities: { tools: true, nativeOutput: true } } as const;

/** Prompt, what the first attempt comes to, and with what it goes on. */
const lives: readonly (readonly [
  string,
  Prompt<unknown>,
  [ScriptedStep[], Given],
  [ScriptedStep[], Given],
  unknown,
])[] = [
  ["more turns", text, [[looks, looks], { maxTurns: 2 }], [[looks, done], {}], "done"],
  ["more repairs", typed, [[looks, cut], {}], [[wrong, wrong, right], { maxRepairs: 3 }], { a: 1 }],
];

/** The same where nothing is compared, or differences are let be. */
const others: typeof lives = [
  ["another choice", text, [[looks, cut], {}], [[done], { toolChoice: "none" }], "done"],
  ["another history", text, [[looks, cut], { messages: said("A") }], [[done], { messages: said("B") }], "done"],
  ["no history any more", text, [[looks, cut], { messages: said("A") }], [[done], {}], "done"],
  ["a history", text, [[looks, cut], {}], [[done], { messages: said("B") }], "done"],
  ["another adapter", typed, [[looks, cut], {}], [[right], { model: other }], { a: 1 }],
];

describe("a run that goes on with other options", () => {
  it.each(lives)("RSM-14 RPL-7 with %s: it replays", async (_, prompt, [steps, first], [more, then], end) => {
    const journal = memoryJournal();
    await came(prompt, journal.run("r"), steps, first);
    expect(await came(prompt, journal.run("r"), more, then)).toEqual(end);
    expect(await replays(journal, "r", prompt)).toEqual(both(end));
  });

  it.each([...lives, ...others])("RSM-14 RSM-3 FRK-1 as a fork, or adopted, with %s: it replays", async (...life) => {
    const [, prompt, [steps, first], [more, then], end] = life;
    for (const at of [0, 2]) {
      const journal = memoryJournal();
      await came(prompt, journal.run("r"), steps, first);
      expect(await came(prompt, journal.fork("r", { at, id: "f" }), more, then)).toEqual(end);
      expect(await replays(journal, "f", prompt)).toEqual(both(end));
      expect(await came(prompt, journal.run("r", { onChange: "adopt" }), more, then)).toEqual(end);
      expect(await replays(journal, "r", prompt)).toEqual(both(end));
    }
  });

  it.each(others)(
    "RSM-14 RPL-7 before its first step, with %s: it replays",
    async (_, prompt, [, first], then, end) => {
      const journal = memoryJournal();
      await came(prompt, journal.run("r"), [cut], first);
      expect(await came(prompt, journal.run("r"), ...then)).toEqual(end);
      expect(await replays(journal, "r", prompt)).toEqual(both(end));
    },
  );

  it("RSM-14 RPL-7 before its first step, with other params: a replay of the template has them", async () => {
    const params = z.object({ name: z.string() });
    const hello = definePrompt({ key: "hello", params, sections: [{ key: "task", text: "Greet {{name}}." }] });
    const journal = memoryJournal();
    await came(hello.bind({ name: "Ada" }), journal.run("r"), [cut]);
    await came(hello.bind({ name: "Bob" }), journal.run("r"), [done]);
    expect((await journal.describe("r"))?.params).toEqual({ name: "Bob" });
    expect((await replay(hello, journal.replay("r"))).response?.output).toBe("done");
  });

  it.each([1, 2, 3])("RSM-14 RSM-6 with %i of the 3 turns that it has: it is out of turns", async (maxTurns) => {
    const journal = memoryJournal();
    await came(text, journal.run("r"), [looks, looks, looks, cut]);
    expect(await came(text, journal.run("r"), [], { maxTurns })).toBe("turns");
    const { failure } = await replay(text, journal.replay("r"));
    expect(failure?.message).toBe(`No answer within ${maxTurns} turns.`);
    expect(await came(text, journal.run("r"), [done])).toBe("done");
    expect(await replays(journal, "r", text)).toEqual(both("done"));
  });

  it.each([0, 1])(
    "RSM-14 RSM-6 with %i of the 2 repairs that it has: its answer cannot be used",
    async (maxRepairs) => {
      const journal = memoryJournal();
      await came(typed, journal.run("r"), [wrong, wrong, cut], { maxRepairs: 2 });
      expect(await came(typed, journal.run("r"), [], { maxRepairs })).toBe("output");
      expect(await replays(journal, "r", typed)).toEqual(both("output"));
      // It has ended.
      expect(await came(typed, journal.run("r"), [], { maxRepairs: 9 })).toBe("output");
    },
  );

  it.each([
    ["is out of turns, where it went on", [done, looks, cut], "turns"],
    ["ends with the answer, where it did not", [done, cut], "done"],
  ])("RSM-14 with fewer turns than it had when a checker sent it back: it %s", async (_, steps, end) => {
    let asked = 0;
    const completion = { name: "c", check: () => (asked++ === 0 ? "More." : undefined) };
    const sections = [{ key: "task", text: "Go.", tools: [look] }];
    const prompt = definePrompt({ key: "checked", completion, sections }).bind();
    const journal = memoryJournal();
    await came(prompt, journal.run("r"), steps);
    expect(await came(prompt, journal.run("r"), [], { maxTurns: 1 })).toBe(end);
    expect(await replays(journal, "r", prompt)).toEqual(both(end));
  });

  it("RSM-3 another choice is refused where a step stands, and nothing is adopted", async () => {
    const journal = memoryJournal();
    await came(text, journal.run("r"), [looks, cut]);
    expect(await came(text, journal.run("r"), [done], { toolChoice: "none" })).toBe("diverged");
    expect(await came(text, journal.run("r"), [done])).toBe("done");
    const kinds = (await listed(journal.entries("r"))).map(({ kind }) => kind);
    expect(kinds).not.toContain("given");
  });

  it("RSM-14 RPL-3 calls that run again go as deep as they could then", async () => {
    const journal = memoryJournal();
    await came(text, journal.run("r"), [deeper, { text: "deep" }, cut]);
    expect(await came(text, journal.fork("r", { at: 2, id: "f" }), [deeper, done], { maxDepth: 0 })).toBe("done");
    expect(await replays(journal, "f", text)).toEqual(both("done"));
    await came(text, journal.fork("f", { at: 4, id: "g" }), [deeper, { text: "deep" }, done]);
    expect(await replays(journal, "g", text)).toEqual(both("done"));
  });

  it("RSM-3 what one service alone understands is not given to another adapter, in a fork of a fork either", async () => {
    const providerItems = [{ kept: true }];
    const sent: unknown[] = [];
    const answers = (name: string, ...steps: readonly ScriptedStep[]): Partial<ModelProvider> => {
      const model = scriptedModel(steps);
      return {
        name,
        async generate(request) {
          sent.push(request.messages.map((message) => message.role === "assistant" && message.providerItems));
          const answer = await model.generate(request);
          return answer.failure === undefined ? { ...answer, message: { ...answer.message, providerItems } } : answer;
        },
      };
    };
    const journal = memoryJournal();
    await came(text, journal.run("a"), [], { model: answers("a", looks, cut) });
    await came(text, journal.fork("a", { at: 2, id: "b" }), [], { model: answers("b", looks, cut) });
    await came(text, journal.fork("b", { at: 4, id: "c" }), [], { model: answers("a", done) });
    // The first turn is its own, the second one that of another service.
    expect(sent.at(-1)).toEqual([false, providerItems, false, undefined, false]);
    expect(await replays(journal, "c", text)).toEqual(both("done"));
  });
});

describe("a run that has ended", () => {
  it.each<readonly [string, Given]>([
    ["fewer turns", { maxTurns: 1 }],
    ["a budget that is spent", { budget: { maxTotalTokens: 1 } }],
    ["a deadline that has passed", { deadline: deadlineAt(new Date(0)) }],
  ])("RSM-1 gives its outcome again, with %s", async (_, options) => {
    const journal = memoryJournal();
    await came(text, journal.run("r"), [looks, looks, done]);
    expect(await came(text, journal.run("r"), [], options)).toBe("done");
  });

  it.each(["deadline", "aborted"])("RSM-1 LIM-2 opens its resources within its limits: %s", async (code) => {
    const key = resourceKey<object>("Database");
    const journal = memoryJournal();
    const evaluate = (create: () => object, options: EvaluateOptions) =>
      modelAdapter(scriptedModel([done])).evaluate(text, {
        run: journal.run("r"),
        resources: [provideFactory(key, create, { eager: true })],
        ...options,
      });
    await evaluate(() => ({}), {});
    const limits = code === "deadline" ? { deadline: deadlineIn(50) } : { signal: AbortSignal.timeout(50) };
    const stuck = evaluate(() => new Promise<never>(() => {}), limits);
    await expect(stuck).rejects.toMatchObject({ code });
    expect((await evaluate(() => ({}), {})).output).toBe("done");
  });
});

it("RSM-14 JRN-8 a record of before, which does not say what later attempts were given, replays", async () => {
  const journal = memoryJournal();
  await came(text, journal.run("r"), [looks], { maxTurns: 1 });
  await came(text, journal.run("r"), [looks, done]);
  const all = await listed(journal.entries("r"));
  const entries = all.filter(({ kind, isVoid }) => kind !== "given" && !isVoid);
  expect(entries.length).toBeLessThan(all.length);
  const opened = { entries, attempt: 2, lastSeq: 99, lastAt: 0, next: 99, isEnded: true, unknown: [] };
  const run = runOf({
    id: "r",
    mode: "replay",
    open: () => Promise.resolve(opened),
    append() {},
    flush: () => undefined,
    signal: new AbortController().signal,
    close: () => Promise.resolve(),
  });
  expect((await replay(text, run)).response?.output).toBe("done");
});

it("RSM-14 a run that goes on with what it began with has no entry more", async () => {
  const journal = memoryJournal();
  await came(text, journal.run("r"), [looks, cut], { maxTurns: 5, messages: said("A") });
  await came(text, journal.run("r"), [done], { maxTurns: 5, messages: said("A") });
  const kinds = (await listed(journal.entries("r"))).map(({ kind }) => kind);
  expect(kinds).not.toContain("given");
});

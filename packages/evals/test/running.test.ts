import {
  defineEvent,
  definePrompt,
  defineSlice,
  defineTool,
  errorReason,
  Filesystem,
  provide,
  provideFactory,
  resourceKey,
  trackBudget,
  type ModelProvider,
  type ProviderError,
  type Pace,
} from "@proviso/core";
import {
  calls,
  callsOf,
  defineEval,
  exact,
  memoryEvalStore,
  runEval,
  type AttemptRecord,
  type Progress,
  type RunOptions,
  type TaskContext,
  type EvalReport,
  type EvalStore,
} from "@proviso/evals";
import { createSession, memoryFilesystem, modelAdapter } from "@proviso/runtime";
import { sharedPace, sharedPacing } from "@proviso/runtime/routing";
import { fakeClock, scriptedModel } from "@proviso/runtime/testing";
import { beforeEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { noUsage } from "@proviso/core/internal";
import { Expected, type Room } from "../src/run/expected.ts";
import { answering, mails, triage, wordList, type Mail } from "./support.ts";

const correct = ({ row, output }: { readonly row: Mail; readonly output: { readonly label: string } }): boolean =>
  output.label === row.label;
const spam = (count: number, asked: string[] = []) => ({
  name: "spam",
  data: mails(count),
  prompt: ({ text }: Mail) => triage.bind({ text }),
  adapter: wordList(["Win"], asked),
  scorers: { correct },
});

/** A prompt that cannot be rendered. */
const broken = definePrompt({
  key: "broken",
  params: z.object({}),
  output: z.object({ label: z.enum(["spam", "ham"]) }),
  sections: [
    {
      key: "task",
      text: "Spam or ham?",
      enabled: () => {
        throw new Error("It cannot be said.");
      },
    },
  ],
});
/** A model that refuses every request but one, for one reason; to that one it answers, or refuses it for another. */
function refusing(reason: ProviderError["reason"], but = Infinity, other?: ProviderError["reason"]) {
  let requests = 0;
  const provider: ModelProvider = {
    name: "refusing",
    model: "refusing-1",
    capabilities: { tools: true, nativeOutput: true },
    async generate() {
      const isOther = ++requests === but;
      if (isOther && other === undefined) {
        return { message: { role: "assistant", text: '{"label":"ham"}', toolCalls: [] }, finishReason: "stop" };
      }
      return { failure: "provider", reason: isOther ? (other ?? reason) : reason, message: "No.", status: 400 };
    },
  };
  return { adapter: modelAdapter(provider, { throttle: { maxAttempts: 1 } }) };
}

describe("running an eval", () => {
  it("EVL-3 EVL-10 runs every row on every variant, and says what became of each attempt", async () => {
    const asked: string[] = [];
    const of = defineEval({
      ...spam(10, asked),
      repetitions: 2,
      variants: { words: {}, all: { adapter: answering(() => '{"label":"spam"}') } },
    });
    const { variants, attempts, passes, ended, rows, family } = await runEval(of);
    expect(asked).toHaveLength(20);
    expect(attempts).toHaveLength(40);
    expect({ passes, ended, rows, family }).toEqual({ passes: true, ended: undefined, rows: 10, family: 0 });
    expect(variants["words"]?.counts).toEqual({ planned: 20, answered: 20, failed: {}, unscored: 0, notRun: 0 });
    expect(variants["words"]?.scores["correct"]?.value).toBe(1);
    expect(variants["all"]?.scores["correct"]?.value).toBe(0.5);
    expect(variants["words"]?.models).toEqual(["words-1"]);
    expect(variants["words"]?.spent.subject).toMatchObject({ inputTokens: 200, outputTokens: 60 });
    expect(variants["words"]?.measures.inputTokens?.value).toBe(10);
    expect(attempts.slice(0, 4).map(({ variant, repetition }) => `${variant} ${repetition}`)).toEqual([
      "words 1",
      "words 2",
      "all 1",
      "all 2",
    ]);
  });

  it.each(["session", "messages"] as const)(
    "EVL-6 resources are closed after the scorers where %s throws, and the scorers are shown them",
    async (fixture) => {
      const key = resourceKey<{ readonly row: string; isOpen: boolean }>("opened");
      const opened: { readonly row: string; isOpen: boolean }[] = [];
      const make = (row: string) => {
        const made = { row, isOpen: true, [Symbol.asyncDispose]: async () => void (made.isOpen = false) };
        opened.push(made);
        return made;
      };
      const report = await runEval(
        defineEval({
          ...spam(2),
          resources: ({ id }) => [provideFactory(key, () => make(id), { scope: "singleton", eager: true })],
          [fixture]: () => {
            throw new Error("no fixture");
          },
          scorers: {
            shown: {
              score: () => false,
              scoreFailure: ({ rowId, resources }) => {
                const { row, isOpen } = resources.get(key);
                return row === rowId && isOpen;
              },
            },
          },
        }),
      );
      expect(report.attempts.map(({ failure }) => failure?.reason)).toEqual(["unknown_error", "unknown_error"]);
      expect(report.attempts.map(({ scores }) => scores["shown"])).toEqual([{ value: 1 }, { value: 1 }]);
      expect(opened.map(({ row, isOpen }) => `${row} ${isOpen}`).toSorted()).toEqual(["m0 false", "m1 false"]);
    },
  );

  it("EVL-6 EVL-15 each attempt has a session and resources of its own, open while it is scored", async () => {
    const noted = defineEvent("noted", z.object({ path: z.string() }));
    const notes = defineSlice({
      name: "notes",
      initial: [] as readonly string[],
      reducers: ({ on }) => on(noted, (draft, { path }) => void draft.push(path)),
    });
    const write = defineTool({
      name: "write",
      description: "Writes a file.",
      input: z.object({ path: z.string(), text: z.string() }),
      async execute({ path, text }, { resources, session }) {
        await resources.get(Filesystem).write(path, text);
        session.dispatch(noted({ path }));
      },
    });
    const tidy = definePrompt({
      key: "tidy",
      params: z.object({ goal: z.string() }),
      slices: [notes],
      sections: [{ key: "task", text: "{{goal}}", tools: [write] }],
    });
    const call = { toolCalls: [{ name: "write", arguments: { path: "README.md", text: "Hi" } }] };
    const done = { text: "Done." };
    const report = await runEval(
      defineEval({
        name: "tidy",
        data: [
          { id: "a", goal: "Write a README.", path: "README.md", files: { "a.ts": "1" } },
          { id: "b", goal: "Write a README.", path: "README.md", files: {} },
        ] as readonly { id: string; goal: string; path: string; files: Readonly<Record<string, string>> }[],
        prompt: ({ goal }) => tidy.bind({ goal }),
        adapter: modelAdapter(scriptedModel([call, done, call, done])),
        session: () => createSession({ slices: [notes] }),
        resources: ({ files }) => [provide(Filesystem, memoryFilesystem(files))],
        scorers: {
          wrote: (attempt) => calls(attempt, [{ tool: write, input: { path: attempt.row.path } }], "exact"),
          noted: ({ row, session }) => exact(session.get(notes), [row.path]),
          left: ({ row, resources }) => resources.get(Filesystem).exists(row.path),
          nothingUndone: (attempt) => callsOf(attempt).every(({ result }) => result.success),
          cheap: ({ usage, turns }) => usage.totalTokens < 1_000 && turns === 2,
        },
      }),
      { concurrency: 1 },
    );
    for (const { scores } of report.attempts) {
      expect(Object.values(scores)).toEqual(Array.from({ length: 5 }, () => ({ value: 1 })));
    }
  });

  it("EVL-6 EVL-10 a fixture that throws is a failed attempt, and so is an output that is no JSON", async () => {
    const broken = await runEval(
      defineEval({
        ...spam(2),
        session() {
          throw new Error("no session today");
        },
      }),
    );
    expect(broken.variants["default"]?.counts.failed).toEqual({ unknown_error: 2 });
    expect(broken.attempts[0]?.failure?.message).toContain("no session today");
    const { prompt: _prompt, ...rest } = spam(2);
    const odd = await runEval(
      defineEval({ ...rest, scorers: { any: () => true }, task: async () => new Map([["a", 1]]) as unknown }),
    );
    expect(odd.variants["default"]?.counts.failed).toEqual({ invalid_response_error: 2 });
  });

  it("EVL-7 a task evaluates with the variant's adapter, in the session of its attempt, and all of it is counted", async () => {
    const asked: string[] = [];
    const { prompt: _prompt, ...rest } = spam(2, asked);
    const report = await runEval(
      defineEval({
        ...rest,
        scorers: { correct, twice: ({ events, turns }) => events.length > 4 && turns === 2 },
        async task({ text }, { evaluate, session }) {
          await evaluate(triage.bind({ text: "first" }));
          const { output } = await evaluate(triage.bind({ text }));
          return { ...output, session: session.id };
        },
      }),
    );
    expect(asked).toHaveLength(4);
    expect(report.attempts.map(({ usage, turns }) => [usage.inputTokens, turns])).toEqual([
      [20, 2],
      [20, 2],
    ]);
    expect(report.variants["default"]?.scores["twice"]?.value).toBe(1);
  });

  it("EVL-11 EVL-13 a failure counts as the worst value, unless a scorer says otherwise", async () => {
    const adapter = answering((text) => (text.includes("Win") ? new Error("no key") : '{"label":"ham"}'));
    const { attempts, variants } = await runEval(
      defineEval({
        ...spam(4),
        adapter,
        scorers: {
          correct,
          refuses: {
            appliesTo: ({ label }) => label === "spam",
            score: () => false,
            scoreFailure: ({ failure }) => errorReason(failure) === "api_key_error",
          },
          short: { score: ({ usage }) => usage.outputTokens, range: [100, 0] },
        },
      }),
    );
    expect(variants["default"]?.counts.failed).toEqual({ api_key_error: 2 });
    const failed = attempts.find(({ status }) => status === "failed");
    expect(failed?.scores).toEqual({ correct: { value: 0 }, refuses: { value: 1 }, short: { value: 100 } });
    const answered = attempts.find(({ status }) => status === "answered");
    expect(answered?.scores).toEqual({ correct: { value: 1 }, short: { value: 3 } });
  });

  it("EVL-12 what a scorer throws, and what is no score, leaves the attempt unscored and never a zero", async () => {
    const given: readonly unknown[] = [Number.NaN, 1.2, "yes", undefined, { value: 7 }];
    const { attempts, variants } = await runEval(
      defineEval({
        ...spam(8),
        scorers: {
          odd: ({ row }) => {
            const at = Number(row.id.slice(1));
            if (at === 7) throw new Error("The judge is down.");
            return at === 5 ? { value: 0.5, reason: "half" } : at === 6 ? true : (given[at] as number);
          },
        },
      }),
    );
    const scores = Object.fromEntries(attempts.map(({ rowId, scores: { odd } }) => [rowId, odd]));
    expect(scores["m5"]).toEqual({ value: 0.5, reason: "half" });
    expect(scores["m6"]).toEqual({ value: 1 });
    expect(scores["m7"]).toEqual({ unscored: "The judge is down." });
    expect(scores["m1"]).toEqual({ unscored: "It returned 1.2, which is not between 0 and 1." });
    expect(variants["default"]?.counts).toMatchObject({ answered: 8, unscored: 6 });
    expect(variants["default"]?.scores["odd"]).toMatchObject({ value: 0.75, rows: 2 });
  });

  it("EVL-20 no more attempts are made at once than allowed", async () => {
    let [inFlight, most] = [0, 0];
    const adapter = answering(async () => {
      most = Math.max(most, (inFlight += 1));
      await new Promise((resolve) => setImmediate(resolve));
      inFlight -= 1;
      return '{"label":"ham"}';
    });
    await runEval(defineEval({ ...spam(30), adapter }), { concurrency: 3, pacing: "off" });
    expect(most).toBe(3);
  });

  it("EVL-21 a budget in dollars needs a price for every model, before anything is asked", async () => {
    const asked: string[] = [];
    const budget = { maxCostUsd: 1 };
    await expect(runEval(defineEval(spam(4, asked)), { budget })).rejects.toThrow("no price is known for words-1");
    expect(asked).toEqual([]);
    const adapter = modelAdapter(scriptedModel([{ text: '{"label":"ham"}' }]), {
      pricing: { input: 1_000, output: 1_000 },
    });
    const report = await runEval(defineEval({ ...spam(1), adapter }), { budget });
    expect(report.spent.costUsd).toBeGreaterThan(0);
    expect(report.spent.costUsd).toBe(report.attempts[0]?.usage.costUsd);
  });

  it("EVL-22 a run ends before its budget is passed, and what did not run is not counted against a variant", async () => {
    const asked: string[] = [];
    const report = await runEval(defineEval(spam(40, asked)), { budget: { maxTotalTokens: 200 }, concurrency: 2 });
    expect(report.ended).toMatchObject({ why: "budget" });
    expect(report.spent.totalTokens).toBeLessThanOrEqual(200);
    const { counts, scores } = report.variants["default"] as NonNullable<(typeof report.variants)[string]>;
    expect(counts.notRun).toBeGreaterThan(0);
    expect(counts.answered + counts.notRun).toBe(40);
    expect(scores["correct"]?.value).toBe(1);
  });

  it("EVL-22 an attempt is expected to spend the p90 of its variant's last 100, beside what is in flight", () => {
    const expected = new Expected();
    const usage = (totalTokens: number) => ({ ...noUsage, inputTokens: totalTokens, totalTokens });
    const ended = (variant: string, totalTokens: number) =>
      expected.add({ variant, usage: usage(totalTokens), judgeUsage: noUsage } as AttemptRecord);
    const budget = trackBudget({ maxTotalTokens: 300 }, { consumed: usage(100) });
    expect(expected.of("a").totalTokens).toBe(0);
    for (let n = 0; n < 50; n++) ended("a", 10_000);
    ended("b", 7);
    for (let n = 1; n <= 100; n++) ended("a", n);
    expect([expected.of("a").totalTokens, expected.of("b").totalTokens]).toEqual([90, 7]);
    // The hundred and first replaces the oldest.
    for (let n = 0; n < 10; n++) ended("a", 1_000);
    expect(expected.of("a").totalTokens).toBe(100);
    expect(expected.fits(budget, usage(200))).toBe(true);
    expect(expected.fits(budget, usage(201))).toBe(false);
    const room = expected.take("a", budget) as Room;
    expect(room.expected.totalTokens).toBe(100);
    expect(expected.fits(budget, usage(100))).toBe(true);
    expect(expected.fits(budget, usage(101))).toBe(false);
    expected.leave(room);
    expected.leave(room);
    expect(expected.fits(budget, usage(200))).toBe(true);
  });

  it("EVL-23 EVL-25 what is kept is not asked again, unless its row, prompt, variant or scorer is another", async () => {
    const store = memoryEvalStore();
    const count = async (more: object, options: object = {}): Promise<number> => {
      const asked: string[] = [];
      await runEval(defineEval({ ...spam(6, asked), ...more }), { store, ...options });
      return asked.length;
    };
    expect(await count({})).toBe(6);
    expect(await count({})).toBe(0);
    expect(await count({ data: mails(8) })).toBe(2);
    expect(await count({ data: mails(6).map((mail) => ({ ...mail, more: mail.id === "m1" })) })).toBe(6);
    const other: string[] = [];
    await runEval(defineEval({ ...spam(6), variants: { default: { version: "2", adapter: wordList([], other) } } }), {
      store,
    });
    expect(other).toHaveLength(6);
    // The first run's answers are still there, and are scored.
    expect(await count({ scorers: { correct: { score: () => true, version: "2" } } })).toBe(0);
    expect(await count({ scorers: { correct: { score: () => true, version: "2" } } }, { resume: "fresh" })).toBe(6);
  });

  it("EVL-25 other earlier turns, and other functions that make the session or the resources, are asked again", async () => {
    const store = memoryEvalStore();
    const asked = async (more: object): Promise<number> => {
      const texts: string[] = [];
      await runEval(defineEval({ ...spam(3, texts), ...more }), { store });
      return texts.length;
    };
    const turns = (text: string) => ({
      messages: () => [
        { role: "user", text },
        { role: "assistant", text: "Yes.", toolCalls: [] },
      ],
    });
    const task = async ({ text }: Mail, { evaluate }: TaskContext) => (await evaluate(triage.bind({ text }))).output;
    for (const subject of [{}, { prompt: undefined, task }]) {
      expect(await asked({ ...subject })).toBe(3);
      for (const more of [
        turns("Answer in French."),
        turns("Answer in English."),
        { session: () => createSession() },
        { session: () => createSession({ id: crypto.randomUUID() }) },
        { resources: () => [provide(Filesystem, memoryFilesystem())] },
        { resources: () => [provide(Filesystem, memoryFilesystem({ "a.txt": "a" }))] },
      ]) {
        expect([await asked({ ...subject, ...more }), await asked({ ...subject, ...more })]).toEqual([3, 0]);
      }
    }
  });

  it("EVL-26 failures of the surroundings are tried again where that is asked for", async () => {
    const store = memoryEvalStore();
    let isDown = true;
    const adapter = answering((text) =>
      isDown && text.includes("number 1.") ? new Error("no key") : '{"label":"ham"}',
    );
    const of = defineEval({ ...spam(4), adapter });
    expect((await runEval(of, { store })).variants["default"]?.counts.failed).toEqual({ api_key_error: 1 });
    isDown = false;
    expect((await runEval(of, { store })).variants["default"]?.counts.failed).toEqual({ api_key_error: 1 });
    const { variants } = await runEval(of, { store, resume: "retry-failed" });
    expect(variants["default"]?.counts.failed).toEqual({});
  });

  it("EVL-27 a run in which nothing can work ends after five attempts, and does not pass", async () => {
    const asked: string[] = [];
    const adapter = answering(() => new Error("The key is wrong."), asked);
    const report = await runEval(defineEval({ ...spam(40), adapter }), { concurrency: 1 });
    expect(report.ended).toEqual({
      why: "systemic",
      message: 'The first 5 attempts of "default" failed with api_key_error: The key is wrong.',
    });
    expect(asked).toHaveLength(5);
    expect(report.passes).toBe(false);
  });

  it.each([
    ["api_key_error", () => refusing("api_key"), 5],
    ["not_found_error", () => refusing("not_found"), 5],
    ["bad_request_error", () => refusing("bad_request"), 5],
    ["render_error", () => ({ prompt: () => broken.bind({}) }), 5],
    ["a reason that is the row's own", () => refusing("refusal"), 12],
    ["one answer among them", () => refusing("api_key", 4), 12],
    ["another reason among them", () => refusing("api_key", 1, "not_found"), 12],
  ] as const)("EVL-27 a run goes on or ends after the first 5 attempts: %s", async (reason, more, attempted) => {
    const report = await runEval(defineEval({ ...spam(12), ...more() }), { concurrency: 1 });
    expect(report.attempts).toHaveLength(attempted);
    const ended = { why: "systemic", message: expect.stringContaining(`failed with ${reason}`) };
    expect(report.ended).toEqual(attempted === 5 ? ended : undefined);
  });

  it("EVL-28 a run that is aborted reports what there is", async () => {
    const controller = new AbortController();
    const progress: Progress[] = [];
    const report = await runEval(defineEval(spam(40)), {
      concurrency: 1,
      signal: controller.signal,
      onProgress(each) {
        progress.push(each);
        if (each.done === 3) controller.abort();
      },
    });
    expect(report.ended?.why).toBe("aborted");
    expect(report.variants["default"]?.counts).toMatchObject({ answered: 3, notRun: 37 });
    expect(progress.map(({ done, total, failed }) => [done, total, failed])).toEqual([
      [1, 40, 0],
      [2, 40, 0],
      [3, 40, 0],
    ]);
  });

  describe("functions of the program that never settle", () => {
    let begun = 0;
    const never = (): Promise<never> => {
      begun++;
      return new Promise(() => {});
    };
    beforeEach(() => void (begun = 0));
    const aborted = async (definition: Parameters<typeof runEval>[0]): Promise<EvalReport> => {
      const controller = new AbortController();
      const running = runEval(definition, { signal: controller.signal });
      await expect.poll(() => begun, { interval: 1 }).toBe(4);
      controller.abort();
      return running;
    };
    /** Its time, 30 ms, passes once all four wait: however long a busy machine takes until then. */
    const outOfTime = async (definition: Parameters<typeof runEval>[0], store?: EvalStore): Promise<EvalReport> => {
      const clock = fakeClock();
      const running = runEval(definition, { clock, ...(store === undefined ? {} : { store }) });
      await expect.poll(() => begun, { interval: 1 }).toBe(4);
      await clock.advance(30);
      return running;
    };
    const Held = resourceKey<object>("held");
    const task = async ({ text }: Mail, { evaluate }: TaskContext): Promise<never> => {
      await evaluate(triage.bind({ text }));
      return never();
    };
    const cases: readonly (readonly [string, object])[] = [
      ["a scorer", { scorers: { correct: never } }],
      [
        "a scorer of failures",
        { adapter: answering(() => new Error("no")), scorers: { correct: { score: () => 1, scoreFailure: never } } },
      ],
      ["a task", { prompt: undefined, task }],
      ["a resource that opens", { resources: () => [provideFactory(Held, never, { eager: true })] }],
    ];

    it.each(cases)("EVL-28 %s: an abort ends the run, and what was spent is counted", async (_, more) => {
      const report = await aborted(defineEval({ ...spam(4), ...more }));
      expect(report.ended?.why).toBe("aborted");
      expect(report.variants["default"]?.counts).toMatchObject({ answered: 0, notRun: 4 });
      expect(report.passes).toBe(true);
      const asked = "task" in more || ("scorers" in more && !("adapter" in more));
      expect(report.spent.totalTokens).toBe(asked ? 4 * 13 : 0);
    });

    it.each(cases)("EVL-65 %s: its time ends, and the run goes on", async (_, more) => {
      const store = memoryEvalStore();
      const report = await outOfTime(defineEval({ ...spam(4), ...more, timeoutMs: 30 }), store);
      expect(report.ended).toBeUndefined();
      expect(report.attempts).toHaveLength(4);
      for (const { failure, scores } of report.attempts) {
        const late = /It did not settle within 30 milliseconds\./u;
        if ("scorers" in more) expect(scores["correct"]).toEqual({ unscored: expect.stringMatching(late) });
        else expect(failure).toEqual({ reason: "deadline_error", message: expect.stringMatching(late) });
      }
      if ("task" in more) expect(report.spent.totalTokens).toBe(4 * 13);
    });

    it("EVL-28 EVL-65 one that compares two answers ends with the run, or leaves the pair unscored", async () => {
      const of = (timeoutMs: number) =>
        defineEval({
          ...spam(4),
          timeoutMs,
          adapter: undefined,
          variants: { a: { adapter: wordList(["Win"]) }, b: { adapter: wordList([]) } },
          pairScorers: { better: { prefer: never } },
        });
      const cut = await aborted(of(60_000));
      expect(cut.ended?.why).toBe("aborted");
      begun = 0;
      const { variants } = await outOfTime(of(30));
      expect(variants["b"]?.pairs["better"]).toMatchObject({ asked: 4, unscored: 4 });
    });

    it("EVL-65 a task that ends because its evaluation was out of time has its own outcome", async () => {
      const adapter = answering(never);
      const waits = async ({ text }: Mail, { evaluate }: TaskContext) =>
        evaluate(triage.bind({ text })).then(
          ({ output }) => output,
          () => ({ label: "spam" as const }),
        );
      const report = await runEval(defineEval({ ...spam(2), adapter, prompt: undefined, task: waits, timeoutMs: 30 }));
      expect(report.attempts.map(({ output }) => output)).toEqual([{ label: "spam" }, { label: "spam" }]);
    });

    it("EVL-65 it has its own outcome also where the evaluation ends behind it, many promises away", async () => {
      const away = async (steps: number): Promise<void> => {
        for (let step = 0; step < steps; step++) await Promise.resolve();
      };
      const task = async ({ text }: Mail, { evaluate }: TaskContext) => {
        const { label } = await evaluate(triage.bind({ text })).then(
          ({ output }) => output,
          () => ({ label: "spam" as const }),
        );
        await away(1_000);
        return { label };
      };
      const punctual = answering(never);
      const evaluate = (async (...of: Parameters<typeof punctual.evaluate>) => {
        try {
          return await punctual.evaluate(...of);
        } finally {
          await new Promise((done) => setTimeout(done, 30));
        }
      }) as typeof punctual.evaluate;
      const adapter = { ...punctual, evaluate };
      const report = await runEval(defineEval({ ...spam(2), adapter, prompt: undefined, task, timeoutMs: 30 }));
      expect(report.attempts.map(({ output }) => output)).toEqual([{ label: "spam" }, { label: "spam" }]);
    });

    it("EVL-6 EVL-65 resources that are opened too late are closed", async () => {
      const closed: string[] = [];
      let open: (() => void) | undefined;
      const Late = resourceKey<object>("late");
      const create = (): Promise<object> => new Promise((done) => (open = () => done({})));
      const late = provideFactory(Late, create, { eager: true, close: () => void closed.push("late") });
      const report = await runEval(defineEval({ ...spam(1), resources: () => [late], timeoutMs: 20 }));
      expect(report.attempts[0]?.failure?.reason).toBe("deadline_error");
      open?.();
      await expect.poll(() => closed).toEqual(["late"]);
    });
  });

  it("EVL-20 no attempt begins while more requests wait in its lane than it sends in a second", async () => {
    // 10 requests a second, told to everybody; one each 5 ms in truth, so that the test is short.
    const waiting: (() => void)[] = [];
    const seen: number[] = [];
    let most = 0;
    const pace: Pace = {
      enter: () =>
        new Promise((resolve) => {
          waiting.push(() => resolve({ ok: true, turn: { queuedMs: 0, end: () => {}, giveBack: () => {} } }));
          most = Math.max(most, waiting.length);
          seen.push(waiting.length);
        }),
      state: () => {
        const limits = { requestsPerMinute: 600, tokensPerMinute: undefined, share: 1 };
        return { ...limits, queued: waiting.length, inFlight: 0 };
      },
    };
    const sending = setInterval(() => waiting.shift()?.(), 5);
    const { attempts } = await runEval(defineEval(spam(60)), { pacing: { lane: () => pace }, concurrency: 60 });
    clearInterval(sending);
    expect(attempts.filter(({ status }) => status === "answered")).toHaveLength(60);
    // 16 begin before anything is known of the lane.
    expect(most).toBeGreaterThan(5);
    expect(most).toBeLessThanOrEqual(16);
    // The next ones wait until no more than 10 do; two may be on their way to the queue.
    expect(Math.max(...seen.slice(16))).toBeLessThanOrEqual(13);
  });

  it("EVL-20 sixteen attempts of a lane begin before the first has ended, and no more", async () => {
    const clock = fakeClock();
    const waiting: (() => void)[] = [];
    let isOpen = false;
    const turn = { ok: true, turn: { queuedMs: 0, end: () => {}, giveBack: () => {} } } as const;
    const pace: Pace = {
      enter: () => (isOpen ? Promise.resolve(turn) : new Promise((resolve) => waiting.push(() => resolve(turn)))),
      state: () => ({ requestsPerMinute: 60_000, tokensPerMinute: undefined, share: 1, queued: 0, inFlight: 0 }),
    };
    const running = runEval(defineEval(spam(40)), { pacing: { lane: () => pace }, concurrency: 40, clock });
    // The next one in line looks every 100 ms whether one has ended.
    while (clock.pending === 0) await new Promise((resolve) => setImmediate(resolve));
    await clock.advance(1_000);
    expect(waiting).toHaveLength(16);
    isOpen = true;
    for (const begin of waiting) begin();
    let hasEnded = false;
    void running.finally(() => (hasEnded = true));
    while (!hasEnded) await clock.advance(100);
    expect((await running).attempts.filter(({ status }) => status === "answered")).toHaveLength(40);
  });

  it("EVL-20 EVL-55 a lane whose pace cannot say what it does has no limit that is known, and all attempts are made", async () => {
    const pace: Pace = {
      enter: async () => ({ ok: true, turn: { queuedMs: 0, end: () => {}, giveBack: () => {} } }),
      state() {
        throw new Error("Redis is away.");
      },
    };
    const rates: unknown[] = [];
    const onProgress = ({ pace: each }: Progress): void => void rates.push(each);
    const { attempts } = await runEval(defineEval(spam(40)), { pacing: { lane: () => pace }, onProgress });
    expect(attempts.filter(({ status }) => status === "answered")).toHaveLength(40);
    expect(rates.at(-1)).toEqual({});
  });

  it("EVL-55 progress has the requests a second of each limited lane, and of none that is not limited", async () => {
    const last = async (pacing: RunOptions["pacing"]): Promise<Progress["pace"] | undefined> => {
      let pace: Progress["pace"] | undefined;
      await runEval(defineEval(spam(4)), { pacing, onProgress: (each) => void ({ pace } = each) });
      return pace;
    };
    expect(await last(sharedPacing({ requestsPerMinute: 6_000 }))).toEqual({ "words words-1": expect.closeTo(99, -1) });
    expect(await last(sharedPace({ requestsPerMinute: 6_000 }))).toEqual({ all: expect.closeTo(99, -1) });
    expect(await last(undefined)).toEqual({});
    expect(await last("off")).toEqual({});
  });

  it("EVL-30 two runs with the same model, clock and ids give the same report, byte for byte", async () => {
    const once = async (): Promise<string> => {
      let next = 0;
      const newId = (): string => `id${(next += 1)}`;
      const report = await runEval(defineEval(spam(12)), { clock: fakeClock(), newId, concurrency: 1, pacing: "off" });
      return JSON.stringify({ ...report, attempts: report.attempts.map((each) => ({ ...each, durationMs: 0 })) });
    };
    expect(await once()).toBe(await once());
  });
});

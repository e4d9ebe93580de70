import { stripVTControlCharacters } from "node:util";
import { defineEval, formatReport, memoryEvalStore, runEval, saveRun } from "@proviso/evals";
import { describe, expect, it } from "vitest";
import { answering, mails, triage, wordList, type Mail } from "./support.ts";

const base = {
  name: "spam",
  prompt: ({ text }: Mail) => triage.bind({ text }),
  scorers: {
    correct: ({ row, output }: { readonly row: Mail; readonly output: { readonly label: string } }) =>
      output.label === row.label,
  },
};
const variants = { money: { adapter: wordList(["money"]) }, win: { adapter: wordList(["Win"]) } };
const onlySome = (share: number) =>
  answering((text) =>
    JSON.stringify({ label: Number(/number (\d+)/u.exec(text)?.[1]) % 100 < share ? "spam" : "ham" }),
  );

describe("the report of an eval", () => {
  it("STA-2 STA-4 differences and gates are decided by intervals of the same numbers", async () => {
    const of = defineEval({
      ...base,
      data: mails(120),
      variants,
      gates: { correct: { atLeast: 0.9, noWorseBy: 0.02 } },
    });
    const { gates, differences, variants: reported, family, passes } = await runEval(of);
    expect(family).toBe(3);
    expect(gates.map(({ variant, gate, verdict }) => [variant, gate, verdict])).toEqual([
      ["money", "atLeast", "unsettled"],
      ["win", "atLeast", "passed"],
      ["win", "noWorseBy", "passed"],
    ]);
    expect(passes).toBe(true);
    const difference = differences["win"]?.["correct"];
    expect(difference).toMatchObject({ wins: 20, losses: 0, ties: 100, rowsToSettle: undefined });
    expect(difference?.value).toBeCloseTo(
      (reported["win"]?.scores["correct"]?.value ?? 0) - (reported["money"]?.scores["correct"]?.value ?? 0),
    );
    expect(difference?.low).toBeGreaterThan(0);
    // Gated intervals are wider, for three of them share the error rate.
    const gated = gates[1]?.on;
    expect(gated?.confidence).toBeCloseTo(1 - 0.05 / 3);
    expect(gated?.low).toBeLessThan(reported["win"]?.scores["correct"]?.low ?? 0);
  });

  it("STA-4 an unsettled gate fails where it is to fail", async () => {
    const gates = { correct: { atLeast: 0.9, unsettled: "fail" } } as const;
    const { passes, gates: made } = await runEval(
      defineEval({ ...base, data: mails(60), adapter: wordList(["money"]), gates }),
    );
    expect(made).toMatchObject([{ verdict: "unsettled", passes: false }]);
    expect(passes).toBe(false);
  });

  it("STA-1 STA-8 intervals count groups, and a single group has none and settles nothing", async () => {
    const of = (group: (row: Mail) => string) =>
      defineEval({
        ...base,
        data: mails(40),
        adapter: wordList(["money"]),
        group,
        gates: { correct: { atLeast: 0.1 } },
      });
    const grouped = await runEval(of(({ id }) => String(Number(id.slice(1)) % 8)));
    expect(grouped.groups).toBe(8);
    expect(grouped.variants["default"]?.scores["correct"]).toMatchObject({ rows: 40, clusters: 8 });
    const single = await runEval(of(() => "one"));
    expect(single.variants["default"]?.scores).toEqual({});
    expect(single.gates).toMatchObject([{ verdict: "unsettled", on: undefined }]);
    expect(formatReport(single)).toContain("too few rows for an interval");
  });

  it("EVL-12 more than one unscored row in twenty settles no gate on that scorer", async () => {
    const scorer = (every: number) => ({
      correct: ({ row }: { readonly row: Mail }) => {
        if (Number(row.id.slice(1)) % every === 0) throw new Error("down");
        return true;
      },
    });
    const verdict = async (every: number) => {
      const of = defineEval({
        ...base,
        data: mails(200),
        adapter: wordList([]),
        scorers: scorer(every),
        gates: { correct: { atLeast: 0.5 } },
      });
      return (await runEval(of)).gates[0]?.verdict;
    };
    expect(await verdict(19)).toBe("unsettled");
    // Exactly 1 in 20.
    expect(await verdict(20)).toBe("passed");
  });

  it.each(["money", "win"])("EVL-12 rows that %s has no score of settle no comparison with it", async (broken) => {
    const of = (fails: (name: string) => boolean) =>
      defineEval({
        ...base,
        data: mails(200),
        variants: { money: { adapter: wordList(["Win"]) }, win: { adapter: wordList(["Win"]) } },
        scorers: {
          correct: ({ row, variant }: { readonly row: Mail; readonly variant: string }) => {
            if (fails(variant) && Number(row.id.slice(1)) % 2 === 0) throw new Error("down");
            return row.label === "spam";
          },
        },
        gates: { correct: { noWorseBy: 0.1 } },
      });
    expect((await runEval(of(() => false))).gates).toMatchObject([{ variant: "win", verdict: "passed" }]);
    const one = await runEval(of((name) => name === broken));
    expect(one.gates).toMatchObject([{ variant: "win", verdict: "unsettled" }]);
    const saved = saveRun(one);
    const later = await runEval(
      of(() => false),
      { compareWith: saved },
    );
    expect(later.gates.find(({ variant }) => variant === broken)).toMatchObject({ verdict: "unsettled" });
  });

  it("STA-1 STA-2 the same scores in another order of repetitions are no difference", async () => {
    const orders = [
      [0.1, 0.2, 0.3],
      [0.3, 0.2, 0.1],
    ] as const;
    const run = (money: 0 | 1, win: 0 | 1, gates?: { readonly odd: { readonly noWorseBy: number } }) =>
      runEval(
        defineEval({
          ...base,
          data: mails(30),
          variants,
          repetitions: 3,
          scorers: {
            odd: ({ variant, repetition }: { readonly variant: string; readonly repetition: number }) =>
              orders[variant === "win" ? win : money][repetition - 1] ?? 0,
          },
          ...(gates && { gates }),
        }),
      );
    const same = (await run(0, 0)).differences["win"]?.["odd"];
    expect(same).toMatchObject({ value: 0, wins: 0, losses: 0, ties: 30 });
    expect((await run(0, 1)).differences["win"]?.["odd"]).toEqual(same);
    const { differences, gates } = await run(1, 0, { odd: { noWorseBy: 0 } });
    expect(differences["win"]?.["odd"]).toEqual(same);
    expect(gates).toMatchObject([{ verdict: "unsettled" }]);
  });

  it("EVL-51 a saved mean that floating point rounds past its range is compared with", async () => {
    const of = defineEval({
      ...base,
      data: mails(4),
      adapter: wordList([]),
      repetitions: 3,
      scorers: { best: { score: () => true, range: [0, 0.1] } },
    });
    const saved = saveRun(await runEval(of));
    expect((0.1 + 0.1 + 0.1) / 3).toBeGreaterThan(0.1);
    const { differences } = await runEval(of, { compareWith: saved });
    expect(differences["default"]?.["best"]).toMatchObject({ value: 0, ties: 4 });
  });

  it.each([-0.1, 1.1, Number.NaN, Number.POSITIVE_INFINITY, "1", null, undefined])(
    "EVL-12 %s is no number within the range: the attempt is unscored",
    async (returned) => {
      const scorers = { odd: () => returned as number };
      const report = await runEval(defineEval({ ...base, data: mails(2), adapter: wordList([]), scorers }));
      expect(report.variants["default"]?.counts).toMatchObject({ answered: 2, unscored: 2 });
      expect(report.attempts[0]?.scores["odd"]).toEqual({ unscored: expect.stringContaining("It returned") });
    },
  );

  it("EVL-14 a verdict that failures of the surroundings could change is unsettled", async () => {
    const failing = (count: number) =>
      answering((text) => {
        const at = Number(/number (\d+)/u.exec(text)?.[1]);
        return at < count ? new Error("no key") : JSON.stringify({ label: text.includes("Win") ? "spam" : "ham" });
      });
    const verdict = async (count: number) => {
      const of = defineEval({
        ...base,
        data: mails(100),
        adapter: failing(count),
        gates: { correct: { atLeast: 0.8 } },
      });
      return (await runEval(of, { concurrency: 1, seed: 3 })).gates[0]?.verdict;
    };
    expect(await verdict(0)).toBe("passed");
    expect(await verdict(30)).toBe("unsettled");
  });

  it.each(["the baseline", "the variant"])(
    "EVL-14 a difference that failures of %s could change is unsettled",
    async (side) => {
      const number = (text: string): number => Number(/number (\d+)/u.exec(text)?.[1]);
      const isSpam = (text: string): boolean => text.includes("Win");
      const failing = answering((text) =>
        number(text) < 30 ? new Error("no key") : JSON.stringify({ label: isSpam(text) ? "spam" : "ham" }),
      );
      // Wrong where the other one failed.
      const wrong = answering((text) => JSON.stringify({ label: number(text) < 30 === isSpam(text) ? "ham" : "spam" }));
      const [baseline, variant] = side === "the baseline" ? [failing, wrong] : [wordList(["Win"]), failing];
      const of = defineEval({
        ...base,
        data: mails(100),
        variants: { baseline: { adapter: baseline }, variant: { adapter: variant } },
        gates: { correct: { noWorseBy: 0.1 } },
      });
      expect((await runEval(of, { concurrency: 1, seed: 3 })).gates).toMatchObject([{ verdict: "unsettled" }]);
    },
  );

  it("STA-5 a run ends when all gates are settled, over a beginning of the order", async () => {
    const asked: string[] = [];
    const adapter = wordList(["Win"], asked);
    const of = defineEval({ ...base, data: mails(400), adapter, gates: { correct: { atLeast: 0.5 } } });
    const early = await runEval(of, { stopEarly: true, concurrency: 1 });
    expect(early.ended?.why).toBe("settled");
    expect(asked.length).toBeLessThan(200);
    expect(early.variants["default"]?.counts.notRun).toBeGreaterThan(200);
    expect(early.gates[0]).toMatchObject({ verdict: "passed" });
    // The interval is that of the look: wider than one of as many rows without looks.
    const rows = early.gates[0]?.on?.rows ?? 0;
    expect(rows).toBeLessThanOrEqual(asked.length);
    const whole = await runEval(
      defineEval({ ...base, data: mails(400).slice(0, rows), adapter, gates: { correct: { atLeast: 0.5 } } }),
    );
    expect(early.gates[0]?.on?.low).toBeLessThan(whole.gates[0]?.on?.low ?? 0);
    const undecided = await runEval(
      defineEval({ ...base, data: mails(100), adapter: onlySome(50), gates: { correct: { atLeast: 0.5 } } }),
      { stopEarly: true },
    );
    expect(undecided.ended).toBeUndefined();
  });

  it("STA-5 EVL-23 what is in flight when the gates are settled is kept, and the table says whose the scores are", async () => {
    const asked: string[] = [];
    const adapter = wordList(["Win"], asked);
    const of = defineEval({ ...base, data: mails(400), adapter, gates: { correct: { atLeast: 0.5 } } });
    const store = memoryEvalStore();
    const early = await runEval(of, { stopEarly: true, store, concurrency: 16 });
    const { counts, scores } = early.variants["default"] as (typeof early.variants)[string];
    const { rows } = scores["correct"] ?? {};
    expect(counts.answered).toBeGreaterThan(rows ?? 0);
    expect(asked).toHaveLength(counts.answered);
    expect(formatReport(early)).toContain(
      `settled: All gates are settled by the first ${rows} rows: the scores are theirs.`,
    );
    await runEval(of, { store });
    expect(asked).toHaveLength(400);
  });

  it("STA-7 EVL-51 a saved run has no texts, and rows are paired with it by id and content", async () => {
    const data = mails(60);
    const first = await runEval(defineEval({ ...base, data, adapter: wordList(["money"]) }));
    const saved = JSON.parse(JSON.stringify(saveRun(first))) as ReturnType<typeof saveRun>;
    expect(JSON.stringify(saved)).not.toMatch(/Win money|label/u);
    const changed = data.slice(5).map((mail) => (mail.id === "m7" ? { ...mail, text: "Win, number 7." } : mail));
    const rows = [...changed, { id: "new", text: "Hello, number 1000.", label: "ham" } as Mail];
    const of = defineEval({ ...base, data: rows, adapter: wordList(["Win"]), gates: { correct: { noWorseBy: 0 } } });
    const report = await runEval(of, { compareWith: saved });
    expect(report.baseline).toEqual({ saved: first.runId });
    expect(report.differences["default"]?.["correct"]).toMatchObject({
      unpaired: { changed: 1, onlyBaseline: 5, onlyVariant: 1, unscored: 0 },
      losses: 0,
    });
    expect(report.gates).toMatchObject([{ verdict: "passed" }]);
    const others = { ...base, scorers: { correct: { score: () => true, version: "2" } } };
    const other = await runEval(defineEval({ ...others, data, adapter: wordList([]) }), { compareWith: saved });
    expect(other.differences["default"]).toEqual({});
  });

  it("STA-7 a gate that has nothing to compare with does not pass, and the report says why", async () => {
    const data = mails(60);
    const of = (rows: readonly Mail[], version = "1") =>
      defineEval({
        ...base,
        data: rows,
        adapter: wordList(["Win"]),
        scorers: { correct: { score: base.scorers.correct, version } },
        gates: { correct: { noWorseBy: 0.02 } },
      });
    const compareWith = saveRun(await runEval(defineEval({ ...base, data, adapter: wordList(["Win"]) })));
    const all = { changed: 0, onlyBaseline: 0, onlyVariant: 0, unscored: 0 };
    const cases = [
      [of(data.map((row) => ({ ...row, lang: "en" }))), { ...all, changed: 60 }, "60 rows changed since the saved run"],
      [of(data, "2"), { ...all, onlyVariant: 60 }, "scored by another version in the saved run"],
      [
        of(data.map((row) => ({ ...row, id: `new ${row.id}` }))),
        { ...all, onlyBaseline: 60, onlyVariant: 60 },
        "60 rows without a score in the saved run",
      ],
    ] as const;
    for (const [changed, unpaired, why] of cases) {
      const report = await runEval(changed, { compareWith });
      const { passes, gates, uncompared } = report;
      expect(passes).toBe(false);
      expect(gates).toMatchObject([
        { verdict: "unsettled", passes: false, on: undefined, uncompared: { unpaired, why } },
      ]);
      expect(uncompared).toEqual({ default: { correct: { unpaired, why } } });
      const text = formatReport(report, { width: 140 });
      expect(text).toContain(`less the saved run nothing to compare: ${why}`);
      expect(text).toContain(`unsettled: nothing to compare: ${why}`);
      // What a budget ended settles nothing, and a run without the gate has nothing that could fail.
      expect((await runEval(changed, { compareWith, budget: { maxTotalTokens: 60 } })).gates[0]).toMatchObject({
        passes: true,
      });
    }
    const some = data.map((row, at) => (at < 50 ? { ...row, lang: "en" } : row));
    expect(formatReport(await runEval(of(some), { compareWith }))).toContain(
      "left out: 50 rows changed since the saved run",
    );
    // Too few rows are no fault of the saved run.
    const one = await runEval(of(data), { compareWith, onlyRows: ["m1"] });
    expect(one.gates).toMatchObject([{ passes: true, on: undefined }]);
    expect(one).not.toHaveProperty("uncompared");
    const changed = of(data.map((row) => ({ ...row, lang: "en" })));
    const oneChanged = await runEval(changed, { compareWith, onlyRows: ["m1"] });
    expect(oneChanged.gates).toMatchObject([{ passes: true, on: undefined }]);
    expect(oneChanged).not.toHaveProperty("uncompared");
  });

  it("EVL-14 failures of a saved run's surroundings that were scored count from their score, within the range", async () => {
    let made = 0;
    const failing = answering(() =>
      made++ % 3 === 0
        ? { failure: "throttle", kind: "server_error", retry: false, message: "down" }
        : '{"label":"spam"}',
    );
    const of = (adapter: ReturnType<typeof answering>, score: number) =>
      defineEval({
        ...base,
        data: mails(30),
        adapter,
        scorers: { odd: { score: () => score, scoreFailure: () => 0.7 } },
      });
    const saved = JSON.parse(JSON.stringify(saveRun(await runEval(of(failing, 1)))));
    const later = await runEval(of(wordList([]), 1), { compareWith: saved });
    const { worst, best } = later.differences["default"]?.["odd"]?.bounds ?? {};
    expect(worst?.value).toBe(0);
    expect(best?.value).toBeCloseTo(1 / 3, 12);
    // Files of an earlier version do not have those scores: no end is beyond the range.
    for (const row of saved.rows) delete row.outsideScores;
    const old = await runEval(of(wordList([]), 0), { compareWith: saved });
    expect(old.differences["default"]?.["odd"]?.bounds.worst.value).toBe(-1);
  });

  it.each<[string, unknown, string]>([
    ["another eval's", { format: "proviso-eval/1", name: "other" }, 'a run of the eval "other"'],
    ["a newer one", { format: "proviso-eval/2", name: "spam" }, "of the form proviso-eval/1"],
    ["a damaged one", { format: "proviso-eval/1", name: "spam", rows: 7 }, "is damaged"],
  ])("EVL-51 a saved run that is %s is refused", async (_name, saved, message) => {
    const of = defineEval({ ...base, data: mails(4), adapter: wordList([]) });
    await expect(runEval(of, { compareWith: saved as never })).rejects.toThrow(message);
  });

  it.each([
    ["outside of its scorer's range", 7, 'compareWith is damaged: the row "m0" of "default" has the score 7'],
    ["no finite number", Infinity, 'compareWith is damaged: save the run of "spam" again'],
  ])("EVL-51 a saved run with a score that is %s is refused before anything is asked", async (_, score, message) => {
    const asked: string[] = [];
    const of = defineEval({ ...base, data: mails(4), adapter: wordList([], asked) });
    const saved = JSON.parse(JSON.stringify(saveRun(await runEval(of)))) as { rows: { scores: object }[] };
    saved.rows[0] = { ...saved.rows[0], scores: { correct: score } };
    asked.length = 0;
    await expect(runEval(of, { compareWith: saved as never })).rejects.toThrow(message);
    expect(asked).toEqual([]);
  });

  it("EVL-29 the table shows intervals, gates and what failed, and no control characters of data", async () => {
    const adapter = answering((text) =>
      text.includes("number 3.") ? new Error("no\u001B[31m key") : '{"label":"ham"}',
    );
    const of = defineEval({ ...base, data: mails(30), adapter, gates: { correct: { atLeast: 0.9 } } });
    const text = formatReport(await runEval(of), { width: 120 });
    expect(text).toContain("spam   30 rows · 1 variant · 1 repetition · 30 attempts, 1 failed, 0 unscored");
    expect(text).toContain("correct at least 0.9   default  failed: ");
    expect(text).toContain("m3 default: api_key_error: no\\u001b[31m key");
    expect(text.split("\n").every((line) => line.length <= 120)).toBe(true);
  });

  it.each([40, 80, 100])(
    "EVL-29 long names of scorers and variants hide no number and no verdict in %d columns",
    async (width) => {
      const [terse, verbose] = ["gpt-5.4-terse-without-examples", "gpt-5.4-verbose-with-three-examples"];
      const scorer = "answers-in-the-language-of-the-customer";
      const of = defineEval({
        ...base,
        name: "support-mails-of-the-customers-in-all-of-our-languages",
        data: mails(40),
        variants: { [terse]: { adapter: wordList(["Win"]) }, [verbose]: { adapter: wordList([]) } },
        scorers: { [scorer]: base.scorers.correct },
        gates: { [scorer]: { atLeast: 0.9, noWorseBy: 0.02 } },
      });
      const report = await runEval(of);
      const text = formatReport(report, { width });
      const lines = text.split("\n");
      expect(lines.every((line) => line.length <= width)).toBe(true);
      expect(report.gates.map(({ verdict }) => verdict)).toEqual(["passed", "failed", "failed"]);
      expect(text.match(/(?:passed|failed): −?[\d.]+ … −?[\d.]+\n/gu)).toHaveLength(3);
      // Each score, and the difference, has its numbers.
      expect(text.match(/^ *(?:\S.* )?[\d.]+ {2}[\d.]+ … [\d.]+$/gmu)).toHaveLength(2);
      expect(text).toMatch(/−0\.5 {2}−0\.\d+ … −0\.\d+/u);
      expect(text).toContain("40 rows · 2 variants");
      const coloured = formatReport(report, { width, color: true });
      expect(stripVTControlCharacters(coloured)).toBe(text);
      expect(coloured.split("\u001B[31mfailed\u001B[0m: ")).toHaveLength(3);
    },
  );

  it("EVL-29 EVL-5 scorers and variants may be called as members of Object.prototype are", async () => {
    const data = mails(30);
    const scorers = {
      constructor: () => {
        throw new Error("never");
      },
      toString: base.scorers.correct,
      prototype: base.scorers.correct,
    };
    const named = { constructor: variants.money, valueOf: variants.win };
    // Every object has a toString, so the compiler takes that for a gate.
    const gates = { constructor: { noWorseBy: 0.1 } } as never;
    const of = defineEval({ ...base, data, variants: named, scorers, gates });
    for (const rows of [[data[0]?.id ?? ""], data.map(({ id }) => id)]) {
      const report = await runEval(of, { onlyRows: rows });
      const compared = await runEval(of, { onlyRows: rows, compareWith: saveRun(report) });
      for (const each of [report, compared]) {
        const text = formatReport(each);
        expect(text).not.toMatch(/NaN|undefined/u);
        expect(text).toMatch(/constructor +valueOf +too few rows for an interval/u);
      }
    }
    expect(() => defineEval({ ...base, data, variants: { ["__proto__"]: variants.money } })).toThrow(
      'has a variant "__proto__": that can be no name of one',
    );
    expect(() => defineEval({ ...base, data, adapter: wordList([]), scorers: { "\uD83D": () => 1 } })).toThrow(
      'has a scorer "\\ud83d"',
    );
  });

  it("STA-6 EVL-29 rows that are all alike, and more rows than would do, say no number of rows", async () => {
    const two = defineEval({ ...base, data: mails(60).filter(({ id }) => id === "m0" || id === "m6"), variants });
    const report = await runEval(two);
    expect(report.differences["win"]?.["correct"]).toMatchObject({ value: 1, rowsToSettle: undefined });
    expect(formatReport(report)).toContain("2 won, 0 lost; not settled: more rows may");
    const many = await runEval(defineEval({ ...base, data: mails(60), variants }));
    const rows = Object.values(many.differences["win"] ?? {}).flatMap(({ rowsToSettle }) => rowsToSettle ?? []);
    for (const each of rows) expect(each).toBeGreaterThan(60);
  });

  it("EVL-29 verdicts are in colour where that is asked for, in the same text", async () => {
    const of = defineEval({
      ...base,
      data: mails(120),
      // A name that reads like a verdict is not coloured in its place.
      variants: { "passed: money": variants.money, win: variants.win, none: { adapter: wordList([]) } },
      gates: { correct: { atLeast: 0.9, noWorseBy: 0.02 } },
    });
    const report = await runEval(of);
    const plain = formatReport(report, { width: 120 });
    const coloured = formatReport(report, { width: 120, color: true });
    expect(plain).not.toContain("\u001B");
    expect(stripVTControlCharacters(coloured)).toBe(plain);
    expect(coloured).toContain("passed: money  \u001B[33munsettled\u001B[0m: ");
    expect(coloured).toContain("win  \u001B[32mpassed\u001B[0m: ");
    expect(coloured).toContain("none  \u001B[31mfailed\u001B[0m: ");
    expect(coloured).toContain("; \u001B[1mproven\u001B[0m\n");
  });
});

import { definePrompt, overrideOf, trackBudget, type PromptOverride } from "@proviso/core";
import {
  defineEval,
  improve,
  judge,
  memoryEvalStore,
  notWorse,
  pairwise,
  runEval,
  saveRun,
  split,
} from "@proviso/evals";
import { memoryOverrides } from "@proviso/runtime";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { answering } from "./support.ts";

const triage = definePrompt({
  key: "worded",
  params: z.object({ text: z.string() }),
  output: z.object({ label: z.enum(["spam", "ham"]) }),
  sections: [{ key: "task", text: "Words of spam: prize.\n\nMail: {{text}}" }],
});
interface Mail {
  readonly id: string;
  readonly sender: string;
  readonly text: string;
  readonly label: "spam" | "ham";
}
const words = ["prize", "winner", "refund", "meeting"] as const;
/** A quarter of the mails each has one of the words; three of the words are spam. */
const mails = (from: number, to: number): readonly Mail[] =>
  Array.from({ length: to - from }, (_, each): Mail => {
    const at = from + each;
    const word = words[at % 4] ?? "";
    const label = word === "meeting" ? "ham" : "spam";
    return { id: `m${at}`, sender: `s${at}`, text: `The ${word} of number ${at}.`, label };
  });
/** The model calls a mail spam that has one of the words which the prompt lists. */
const adapterOf = (asked: string[] = []) =>
  answering((text) => {
    const [, listed = "", mail = ""] = /Words of spam: ([^.]*)\.[^]*Mail: (.*)/u.exec(text) ?? [];
    const isSpam = listed.split(", ").some((word) => mail.includes(word));
    return JSON.stringify({ label: isSpam ? "spam" : "ham" });
  }, asked);
const evalOf = (data: readonly Mail[], asked: string[] = []) =>
  defineEval({
    name: "spam",
    data,
    group: ({ sender }) => sender,
    prompt: ({ text }: Mail) => triage.bind({ text }),
    adapter: adapterOf(asked),
    scorers: {
      correct: ({ row, output }) => output.label === row.label,
      wrong: { range: [1, 0], score: ({ row, output }) => (output.label === row.label ? 0 : 1) },
    },
  });
const seeded = overrideOf(triage, "latest");
const listing = (listed: string, tag = "latest"): PromptOverride => ({
  tag,
  tools: {},
  sections: {
    task: { hash: seeded.sections["task"]?.hash ?? "", text: `Words of spam: ${listed}.\n\nMail: {{text}}` },
  },
});

describe("whether an override may be stored", () => {
  it("EVL-40 EVL-41 workers are refused: they have no candidates", async () => {
    const workers = { run: () => Promise.reject(new Error("is not asked")), close: async () => {} };
    const refused = "Candidates are variants that no worker has: compare them without workers.";
    const asked: string[] = [];
    expect(() => notWorse(evalOf(mails(0, 8), asked), { scorer: "correct", workers })).toThrow(refused);
    const { train, test } = split(mails(0, 40), { test: 0.5 });
    const overrides = { store: memoryOverrides(), tag: "latest" };
    const options = { train, test, scorer: "correct", overrides, workers, propose: async () => [listing("prize")] };
    await expect(improve(evalOf([], asked), options)).rejects.toThrow(refused);
    expect(asked).toEqual([]);
  });

  it.each(["correct", "wrong"] as const)(
    "EVL-40 notWorse accepts what loses no more than the margin, by the interval (%s)",
    async (scorer) => {
      const accept = notWorse(evalOf(mails(0, 80)), { scorer });
      const better = await accept(listing("prize, winner"), undefined);
      expect(better).toMatchObject({ accepted: true, difference: { wins: 20, losses: 0 } });
      expect(better.why).toMatch(new RegExp(`${scorer} no worse by 0 +candidate +passed`, "u"));
      expect(better.spent.totalTokens).toBeGreaterThan(0);
      // Against what is stored, not against the texts of the code.
      const worse = await accept(listing("prize"), listing("prize, winner"));
      expect(worse).toMatchObject({ accepted: false, why: expect.stringContaining("failed") });
      // What changes nothing is not proven to lose nothing, unless a margin says how much would not matter.
      const same = listing("prize, none of these");
      expect(await accept(same, undefined)).toMatchObject({ accepted: false });
      const wide = notWorse(evalOf(mails(0, 80)), { scorer, margin: 0.1 });
      expect(await wide(same, undefined)).toMatchObject({ accepted: true });
    },
  );

  it("EVL-40 a comparison that ends early accepts nothing; wrong options are refused when it is made", async () => {
    const cut = notWorse(evalOf(mails(0, 80)), { scorer: "correct", budget: { maxTotalTokens: 300 } });
    const answer = await cut(listing("prize, winner, refund"), undefined);
    expect(answer).toMatchObject({ accepted: false, why: expect.stringContaining("ended early: ") });
    expect(() => notWorse(evalOf(mails(0, 2)), { scorer: "other" })).toThrow('no scorer "other", but correct, wrong');
    expect(() => notWorse(evalOf(mails(0, 2)), { scorer: "correct", margin: -1 })).toThrow("from 0, not -1");
    expect(() => notWorse(evalOf(mails(0, 2)), { scorer: "correct", margins: 1 } as never)).toThrow("margins");
  });
});

describe("a search for a better override", () => {
  const { train, test } = split(mails(0, 200), { test: 0.4, by: ({ sender }) => sender });
  const options = (store = memoryOverrides()) => ({
    train,
    test,
    scorer: "correct",
    overrides: { store, tag: "latest" },
  });

  it("EVL-41 compares on train rows, learns from losses, and stores the best once test rows say so", async () => {
    const store = memoryOverrides();
    const asked: string[] = [];
    const histories: number[] = [];
    const { rounds, best, acceptance, refused } = await improve(evalOf([], asked), {
      ...options(store),
      propose: async (history, refusedBefore) => {
        histories.push(history.length);
        expect(refusedBefore).toHaveLength(history.length === 0 ? 0 : 1);
        if (history.length > 0) return [];
        const stale = { ...listing("all"), sections: { task: { hash: "0".repeat(64), text: "{{text}}" } } };
        return [listing("nothing"), listing("prize, winner, refund", "mine"), stale, listing("prize, winner")];
      },
    });
    expect(histories).toEqual([0, 3]);
    expect(rounds.map(({ difference }) => Math.sign(difference.value))).toEqual([-1, 1, 1]);
    expect(rounds[0]?.losses.length).toBe(rounds[0]?.difference.losses);
    expect(rounds[0]?.losses.every(({ variant }) => variant === "candidate 1")).toBe(true);
    expect(rounds[1]?.losses).toEqual([]);
    expect(refused).toMatchObject([{ why: expect.stringContaining('section "task"') }]);
    expect(best).toEqual(listing("prize, winner, refund", "mine"));
    expect(acceptance).toMatchObject({ accepted: true, difference: { losses: 0 } });
    expect(await store.resolve(triage.descriptor, "latest")).toEqual(listing("prize, winner, refund"));
    // Train rows four times, test rows twice: with what is stored, and with the best.
    const rows = { train: 0, test: 0 };
    for await (const _ of train) rows.train += 1;
    for await (const _ of test) rows.test += 1;
    expect(asked).toHaveLength(rows.train * 4 + rows.test * 2);
    expect(acceptance.spent.inputTokens).toBe(asked.length * 10);
  });

  it("EVL-41 stores nothing where no candidate is better, the budget ends, or another has stored meanwhile", async () => {
    const store = memoryOverrides();
    const propose =
      (...texts: readonly string[]) =>
      async (history: readonly unknown[]) =>
        history.length > 0 ? [] : texts.map((text) => listing(text));
    const none = await improve(evalOf([]), { ...options(store), propose: propose("nothing") });
    expect(none).toMatchObject({
      best: undefined,
      acceptance: { accepted: false, why: expect.stringContaining("No candidate was better") },
    });
    const budget = trackBudget({ maxTotalTokens: 500 });
    const cut = await improve(evalOf([]), { ...options(store), budget, propose: propose("prize, winner, refund") });
    expect(cut.acceptance).toMatchObject({ accepted: false, why: expect.stringContaining("ended early: ") });
    expect(await store.resolve(triage.descriptor, "latest")).toBeUndefined();
    let isTold = false;
    const late = await improve(evalOf([]), {
      ...options(store),
      propose: propose("prize, winner, refund"),
      onProgress: () => {
        if (isTold) return;
        isTold = true;
        void store.upsert(triage.descriptor, listing("refund"));
      },
    });
    expect(late.acceptance).toMatchObject({ accepted: false, why: expect.stringContaining("has changed since") });
    expect(await store.resolve(triage.descriptor, "latest")).toEqual(listing("refund"));
  });

  it("EVL-41 refuses fewer than two groups to train on, before anything is spent", async () => {
    const asked: string[] = [];
    const few = mails(0, 3).map((mail) => ({ ...mail, sender: "s1" }));
    const improving = improve(evalOf([], asked), { ...options(), train: few, propose: async () => [listing("prize")] });
    await expect(improving).rejects.toThrow("at least 2 groups to train on");
    expect(asked).toEqual([]);
  });

  it("EVL-41 refuses rows or groups that both parts have, tasks and several templates, before anything is spent", async () => {
    const asked: string[] = [];
    const propose = async () => [listing("prize, winner")];
    const refusing = (rows: readonly Mail[], of = evalOf([], asked)) =>
      improve(of, { ...options(), train: mails(0, 10), test: rows, propose });
    await expect(refusing(mails(9, 20))).rejects.toThrow('have to be apart, and share the row "m9"');
    const grouped = mails(20, 23).map((mail) => ({ ...mail, sender: "s3" }));
    await expect(refusing(grouped)).rejects.toThrow('share the group "s3"');
    const tasked = defineEval({
      name: "tasked",
      data: [] as readonly Mail[],
      task: async () => ({ label: "ham" }),
      adapter: adapterOf(asked),
      scorers: { correct: () => true },
    });
    await expect(refusing(mails(20, 30), tasked)).rejects.toThrow("has a task: improve needs a prompt");
    const other = definePrompt({ key: "other", params: z.object({ text: z.string() }), text: "{{text}}" });
    const several = defineEval({
      name: "several",
      data: [] as readonly Mail[],
      prompt: ({ text, label }: Mail) => (label === "ham" ? other : triage).bind({ text }) as never,
      adapter: adapterOf(asked),
      scorers: { correct: () => true },
    });
    await expect(refusing(mails(20, 30), several)).rejects.toThrow("of several templates: ");
    await expect(improve(evalOf([], asked), { ...options(), rounds: 0, propose })).rejects.toThrow("rounds has to be");
    expect(asked).toEqual([]);
  });
});

describe("what would decide by something else", () => {
  const [train, test] = [mails(0, 140), mails(140, 200)];
  const propose = async (history: readonly unknown[]) => (history.length > 0 ? [] : [listing("prize, winner")]);
  const options = () => ({
    train,
    test,
    scorer: "correct",
    propose,
    overrides: { store: memoryOverrides(), tag: "latest" },
  });

  it("EVL-40 EVL-41 a saved run and a choice of variants are refused, before anything is spent", async () => {
    const compareWith = saveRun(await runEval(evalOf(mails(0, 20))));
    const asked: string[] = [];
    for (const odd of [{ compareWith }, { onlyVariants: ["default"] }]) {
      const [name = ""] = Object.keys(odd);
      const why = `compares a candidate with what is stored: leave out ${name}.`;
      expect(() => notWorse(evalOf(mails(0, 20), asked), { scorer: "correct", ...odd })).toThrow(`notWorse ${why}`);
      await expect(improve(evalOf([], asked), { ...options(), ...odd })).rejects.toThrow(`improve ${why}`);
    }
    expect(asked).toEqual([]);
  });

  it("EVL-8 EVL-41 a sample that the test part cannot give is refused before anything is spent", async () => {
    const asked: string[] = [];
    const improving = (more: object) => improve(evalOf([], asked), { ...options(), ...more });
    const sampleSize = test.length + 1;
    await expect(improving({ sampleSize })).rejects.toThrow(`A sample of ${sampleSize} cannot be drawn from`);
    await expect(improving({ sampleSize: 1 })).rejects.toThrow("at least 2 groups to train on");
    await expect(improving({ onlyRows: ["m1"] })).rejects.toThrow("leave out onlyRows");
    expect(asked).toEqual([]);
  });

  it.each([undefined, memoryEvalStore()])(
    "EVL-41 a fresh search asks what is stored once on each row",
    async (store) => {
      const asked: string[] = [];
      let round = 0;
      const worse = async () => (round++ < 3 ? [listing(`nothing ${round}`)] : []);
      const search = { ...options(), store, resume: "fresh", propose: worse } as const;
      await improve(evalOf([], asked), search);
      const once = asked.length;
      expect(once).toBe(4 * train.length);
      round = 0;
      await improve(evalOf([], asked), search);
      expect(asked).toHaveLength(2 * once);
    },
  );

  it("EVL-41 judges and pair scorers that do not decide are not asked", async () => {
    const [subject, judges]: [string[], string[]] = [[], []];
    const model = answering(() => JSON.stringify({ reason: "r", passes: true, better: "first" }), judges, "judge");
    const of = defineEval({
      name: "judged",
      data: [] as readonly Mail[],
      prompt: ({ text }: Mail) => triage.bind({ text }),
      adapter: adapterOf(subject),
      scorers: {
        correct: ({ row, output }) => output.label === row.label,
        short: ({ output }) => output.label.length < 4,
        polite: judge({ adapter: model, rubric: "Is it polite?" }),
      },
      pairScorers: { preferred: pairwise({ adapter: model, question: "Which is better?" }) },
    });
    const decided = await improve(of, { ...options(), propose });
    expect(decided.acceptance.accepted).toBe(true);
    expect(judges).toEqual([]);
    expect(Object.keys(decided.rounds[0]?.losses[0]?.scores ?? { correct: 0, short: 0 })).toEqual(["correct", "short"]);
    const byJudge = await improve(of, { ...options(), scorer: "polite", propose });
    expect(byJudge.best).toBeUndefined();
    expect(judges).toHaveLength(2 * train.length);
  });
});

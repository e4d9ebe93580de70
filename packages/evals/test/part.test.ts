import { DefinitionError, definePrompt, overrideOf, type OverridesStore } from "@proviso/core";
import { defineEval, memoryEvalStore, runEval, saveRun, type RunOptions } from "@proviso/evals";
import { memoryOverrides } from "@proviso/runtime";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { answering, mails, triage, wordList, type Mail } from "./support.ts";

const worded = definePrompt({
  key: "worded",
  params: z.object({ text: z.string() }),
  output: z.object({ label: z.enum(["spam", "ham"]) }),
  sections: [{ key: "task", text: "Is this mail spam or ham?\n{{text}}" }],
});
const spam = (asked: string[] = []) =>
  defineEval({
    name: "spam",
    data: mails(30),
    prompt: ({ text }: Mail) => triage.bind({ text }),
    variants: {
      all: { adapter: answering(() => '{"label":"spam"}', asked, "all") },
      win: { adapter: wordList(["Win"], asked) },
      money: { adapter: wordList(["money"], asked) },
    },
    scorers: { correct: ({ row, output }) => output.label === row.label },
    gates: { correct: { noWorseBy: 0.05 } },
  });
const rowsOf = ({ attempts }: { readonly attempts: readonly { readonly rowId: string }[] }) =>
  new Set(attempts.map(({ rowId }) => rowId));

describe("a run of a part of an eval", () => {
  it("EVL-8 runs the variants that are named, and the first by definition is the baseline", async () => {
    const { variants, baseline, differences } = await runEval(spam(), { onlyVariants: ["money", "win"] });
    expect(Object.keys(variants)).toEqual(["win", "money"]);
    expect(baseline).toEqual({ variant: "win" });
    expect(Object.keys(differences)).toEqual(["money"]);
    // With one variant, a difference needs a saved run.
    await expect(runEval(spam(), { onlyVariants: ["win"] })).rejects.toThrow("needs a second variant, or a saved run");
    const compareWith = saveRun(await runEval(spam()));
    const compared = await runEval(spam(), { onlyVariants: ["win"], compareWith, onlyRows: ["m1", "m2", "m3"] });
    expect(compared.differences["win"]?.["correct"]).toMatchObject({ rows: 3, unpaired: { onlyBaseline: 27 } });
  });

  it("EVL-8 draws samples by the seed that hold each other, of the rows that are named, and reuses what is kept", async () => {
    const asked: string[] = [];
    const store = memoryEvalStore();
    const small = await runEval(spam(asked), { store, sampleSize: 5 });
    const large = await runEval(spam(asked), { store, sampleSize: 12 });
    expect([small.rows, large.rows, small.reused, large.reused]).toEqual([5, 12, 0, 15]);
    expect([...rowsOf(large)]).toEqual(expect.arrayContaining([...rowsOf(small)]));
    expect(asked).toHaveLength(12 * 3);
    expect(rowsOf(await runEval(spam(), { sampleSize: 12, seed: 2 }))).not.toEqual(rowsOf(large));
    const named = new Set(["m4", "m9", "m20"]);
    const of = await runEval(spam(), { onlyRows: [...named], sampleSize: 2, repetitions: 4 });
    expect(of).toMatchObject({ rows: 2, repetitions: 4 });
    expect(of.attempts).toHaveLength(2 * 3 * 4);
    expect([...named]).toEqual(expect.arrayContaining([...rowsOf(of)]));
  });

  it.each<readonly [RunOptions, string]>([
    [{ onlyRows: ["m1", "x", "y"] }, 'There is no row "x"; "y". There are 30 rows.'],
    [{ onlyVariants: ["wins"] }, 'There is no variant "wins". The variants are "all", "win", "money".'],
    [{ onlyRows: [] }, "onlyRows has to be a list of at least one name, not"],
    [{ onlyVariants: "win" as never }, "onlyVariants has to be a list of at least one name, not"],
    [{ sampleSize: 31 }, "A sample of 31 cannot be drawn from 30 rows."],
    [{ sampleSize: 3, onlyRows: ["m1"] }, "A sample of 3 cannot be drawn from 1 rows."],
    [{ sampleSize: 0.5 }, "sampleSize has to be a whole number from 1, not 0.5."],
    [{ repetitions: 0 }, "repetitions has to be a whole number from 1, not 0."],
  ])("EVL-8 refuses %o before anything is spent", async (options, says) => {
    const asked: string[] = [];
    const refused = runEval(spam(asked), options);
    await expect(refused).rejects.toThrow(DefinitionError);
    await expect(refused).rejects.toThrow(says);
    expect(asked).toEqual([]);
  });
});

describe("what is kept of a variant with overrides", () => {
  it("EVL-25 is asked anew where what is stored under the tag is another text, and a store is read once in a run", async () => {
    const asked: string[] = [];
    const overrides = memoryOverrides();
    let reads = 0;
    const counted: OverridesStore = {
      ...overrides,
      resolve: (descriptor, tag) => {
        reads += 1;
        return overrides.resolve(descriptor, tag);
      },
    };
    const kept = memoryEvalStore();
    const of = () =>
      defineEval({
        name: "overridden",
        data: mails(6),
        prompt: ({ text }: Mail) => worded.bind({ text }),
        adapter: answering(() => '{"label":"spam"}', asked),
        variants: { now: {}, stored: { overrides: { store: counted, tag: "brief" } } },
        scorers: { correct: ({ row, output }) => output.label === row.label },
      });
    const write = async (text: string) => {
      const current = overrideOf(worded, "brief");
      const { hash = "" } = current.sections["task"] ?? {};
      await overrides.upsert(worded.descriptor, { ...current, sections: { task: { hash, text } } });
    };
    await write("Spam?\n{{text}}");
    await runEval(of(), { store: kept });
    expect(asked).toHaveLength(12);
    // Once for the plan, once for each evaluation.
    expect(reads).toBe(1 + 6);
    expect(await runEval(of(), { store: kept })).toMatchObject({ reused: 12 });
    await write("Is it spam, yes or no?\n{{text}}");
    const changed = await runEval(of(), { store: kept });
    expect(changed.reused).toBe(6);
    expect(asked.slice(12).every((text) => text.includes("yes or no"))).toBe(true);
    expect(asked).toHaveLength(18);
  });
});

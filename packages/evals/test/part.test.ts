import { DefinitionError } from "@proviso/core";
import { defineEval, memoryEvalStore, runEval, saveRun, type RunOptions } from "@proviso/evals";
import { describe, expect, it } from "vitest";
import { answering, mails, triage, wordList, type Mail } from "./support.ts";

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

import { cross, defineEval, runEval, sample, split } from "@proviso/evals";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { mails, triage, wordList } from "./support.ts";

const base = {
  name: "spam",
  data: mails(4),
  prompt: ({ text }: { readonly text: string }) => triage.bind({ text }),
  adapter: wordList(["Win"]),
  scorers: { correct: () => true },
};

async function collected<T>(from: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const one of from) all.push(one);
  return all;
}

const cyclic: Record<string, unknown> = { id: "b" };
cyclic["self"] = cyclic;

describe("the definition of an eval", () => {
  it.each<[string, object, string]>([
    ["a bad name", { name: "Spam!" }, "The name of an eval"],
    ["neither prompt nor task", { prompt: undefined }, "exactly one of prompt and task"],
    ["both of them", { task: async () => 1 }, "exactly one of prompt and task"],
    ["no scorer", { scorers: {} }, "needs a scorer"],
    ["a scorer that is none", { scorers: { a: 1 } }, 'scorer "a"'],
    ["a range of one number", { scorers: { a: { score: () => 1, range: [1, 1] } } }, "two different numbers"],
    ["a range that is a number", { scorers: { a: { score: () => 1, range: 5 } } }, "two different numbers"],
    ["a range with an end too many", { scorers: { a: { score: () => 1, range: [0, 1, 2] } } }, "two different numbers"],
    [
      "a range beyond all sums",
      { scorers: { a: { score: () => 1, range: [-1e308, 1e308] } } },
      "from -1e+100 to 1e+100",
    ],
    [
      "a range whose squares are none",
      { scorers: { a: { score: () => 1, range: [1e155, 0] } } },
      "from -1e+100 to 1e+100",
    ],
    ["no adapter", { adapter: undefined }, 'The variant "default" of the eval "spam" has no adapter'],
    ["a variant with both", { variants: { a: { prompt: () => 1, task: () => 1 } } }, "both of prompt and task"],
    ["a gate without scorer", { gates: { other: { atLeast: 1 } } }, 'a gate on "other"'],
    ["a gate in percent", { gates: { correct: { atLeast: 95 } } }, "whose atLeast is 95: its scores go from 0 to 1"],
    ["a gate wider than its scores", { gates: { correct: { noWorseBy: 2 } } }, "whose noWorseBy is 2: its scores go"],
    ["an empty gate", { gates: { correct: {} } }, "neither atLeast nor noWorseBy"],
    ["repetitions of 0", { repetitions: 0 }, "repetitions from 1"],
    ["no time", { timeoutMs: 0 }, "a finite timeoutMs above 0, not 0"],
    ["endless time", { timeoutMs: Infinity }, "a finite timeoutMs above 0, not Infinity"],
    ["a variant called by a whole number", { variants: { old: {}, 2: {} } }, 'has a variant "2": objects put whole'],
    ["an unknown option", { colour: 1 }, 'has no option "colour"'],
  ])("EVL-5 is refused with %s", (_name, more, message) => {
    expect(() => defineEval({ ...base, ...more } as never)).toThrow(
      message.replaceAll('"', message.includes("option") ? "" : '"'),
    );
  });

  it("EVL-5 a gate on what is no scorer does not compile", () => {
    const scorers = {
      correct: ({ output }: { readonly output: { readonly label: string } }) => output.label === "ham",
    };
    // @ts-expect-error "correkt" is no scorer.
    const wrong = () => defineEval({ ...base, scorers, gates: { correkt: { atLeast: 0.5 } } });
    expect(wrong).toThrow('has a gate on "correkt", which is no scorer of it');
    defineEval({ ...base, scorers, gates: { correct: { atLeast: 0.5 } } });
  });

  it("EVL-5 combinations of variants that come to the same name are refused", () => {
    const settings = { version: "2" };
    expect(Object.keys(cross({ small: {}, large: {} }, { brief: settings }))).toEqual(["small brief", "large brief"]);
    expect(() => cross({ small: {}, "small fast": {} }, { x: settings, "fast x": {} })).toThrow(
      'Two combinations are called "small fast x"',
    );
  });

  it("EVL-5 a confidence that is a text is refused", async () => {
    await expect(runEval(defineEval(base), { confidence: "0.9" as never })).rejects.toThrow("between 0 and 1");
  });

  it("EVL-5 needs something to compare with where a gate says noWorseBy", async () => {
    const of = defineEval({ ...base, gates: { correct: { noWorseBy: 0 } } });
    await expect(runEval(of)).rejects.toThrow("needs a second variant, or a saved run");
  });

  it.each<[string, unknown, string]>([
    ["no rows", [], "have no rows"],
    ["two of one id", [{ id: "a" }, { id: "b" }, { id: "a" }], 'rows 1 and 3 have the id "a"'],
    ["two of one content", [{ text: "x" }, { text: "x" }], "rows 1 and 2 have the id"],
    ["half of a surrogate pair in an id", [{ id: "a" }, { id: "\uD83D" }], 'row 2 has the id "\\ud83d"'],
    ["a row that holds itself", [{ id: "a" }, cyclic], "row 2 cannot be written as JSON: "],
    ["what is no object", [{ id: "a" }, 7, null], "row 2 is no object; row 3 is no object"],
  ])("EVL-1 EVL-2 data with %s are refused before anything is asked", async (_name, data, message) => {
    const asked: string[] = [];
    const of = defineEval({ ...base, data: data as never, adapter: wordList([], asked) });
    await expect(runEval(of)).rejects.toThrow(message);
    expect(asked).toEqual([]);
  });

  it("EVL-2 a row's id is what `id` says, else its id, a number too, else 16 digits of the hash of its content", async () => {
    const idsOf = async (id?: (row: object) => string): Promise<readonly string[]> => {
      const data = [{ id: 7, text: "a" }, { id: "x", text: "b" }, { text: "c" }];
      const { attempts } = await runEval(
        defineEval({ ...base, data: data as never, ...(id === undefined ? {} : { id }) }),
      );
      return attempts.map(({ rowId }) => rowId).toSorted();
    };
    const own = (await idsOf()).map((each) => each.replace(/^[0-9a-f]{16}$/u, "hash"));
    expect(own.toSorted()).toEqual(["7", "hash", "x"]);
    expect(await idsOf((row) => `row ${(row as { text: string }).text}`)).toEqual(["row a", "row b", "row c"]);
  });

  it("EVL-1 what names a row and throws is a fault of that row", async () => {
    const id = ({ text }: { readonly text: string }): string => text.trim();
    const data = [{ text: "a" }, { text: 7 }] as never;
    const of = defineEval({ ...base, data, id: id as never });
    await expect(runEval(of)).rejects.toThrow(/^The data cannot be used: row 2 cannot be named: .*trim/u);
  });

  it("EVL-1 all faults of the data come at once, twenty of them with a count", async () => {
    const data = Array.from({ length: 50 }, () => 1);
    await expect(runEval(defineEval({ ...base, data: data as never }))).rejects.toThrow(
      "row 20 is no object; and 30 more",
    );
  });

  it("EVL-3 the order is drawn by the seed, rows of a group stand together, and adding a row moves no others", async () => {
    const orderOf = async (data: readonly object[], seed: number): Promise<readonly string[]> => {
      const of = defineEval({
        ...base,
        data: data as never,
        group: (row) => (row as { text: string }).text.slice(0, 5),
      });
      const { attempts } = await runEval(of, { seed });
      return attempts.map(({ rowId }) => rowId);
    };
    const some = await orderOf(mails(20), 1);
    expect(await orderOf(mails(20).toReversed(), 1)).toEqual(some);
    expect(await orderOf(mails(20), 2)).not.toEqual(some);
    const more = await orderOf(mails(24), 1);
    expect(more.filter((id) => some.includes(id))).toEqual(some);
    const groups = some.map((id) =>
      mails(20)
        .find((mail) => mail.id === id)
        ?.text.slice(0, 5),
    );
    expect(groups.filter((group, at) => group !== groups[at - 1])).toHaveLength(new Set(groups).size);
  });

  it("EVL-4 a sample is a prefix of a larger one, and the parts of a split share no key and keep their rows", async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 2, max: 60 }), fc.integer({ min: 1, max: 9 }), async (count, seed) => {
        const all = mails(count);
        const smaller = await collected(sample(all, { size: Math.ceil(count / 2), seed }));
        const larger = await collected(sample(all, { size: count, seed }));
        expect(larger.slice(0, smaller.length)).toEqual(smaller);
        const { train, test } = split(all, { test: 0.3, seed });
        const [trained, tested] = [await collected(train), await collected(test)];
        expect([...trained, ...tested].map(({ id }) => id).toSorted()).toEqual(all.map(({ id }) => id).toSorted());
        const before = split(all.slice(1), { test: 0.3, seed });
        for (const row of await collected(before.test)) expect(tested).toContainEqual(row);
        for (const row of await collected(before.train)) expect(trained).toContainEqual(row);
      }),
      { numRuns: 30 },
    );
    await expect(collected(sample(mails(3), { size: 4 }))).rejects.toThrow(
      "A sample of 4 cannot be drawn from 3 rows.",
    );
    expect(() => split(mails(3), { test: 1 })).toThrow("between 0 and 1");
  });

  it("EVL-4 the test part of a split has its share of the keys", async () => {
    for (const share of [0.1, 0.5, 0.9]) {
      const tested = await collected(split(mails(2_000), { test: share }).test);
      expect(Math.abs(tested.length / 2_000 - share)).toBeLessThan(0.03);
    }
  });

  it("EVL-4 a generator is read once for both parts", async () => {
    let reads = 0;
    const { train, test } = split(
      (async function* () {
        reads += 1;
        yield* mails(10);
      })(),
      { test: 0.5 },
    );
    expect((await collected(train)).length + (await collected(test)).length).toBe(10);
    expect(reads).toBe(1);
  });

  it("EVL-5 cross makes every combination", () => {
    const all = cross(
      { small: { version: "1" }, large: { version: "2" } },
      { now: {}, brief: { options: { maxTurns: 2 } } },
    );
    expect(Object.keys(all)).toEqual(["small now", "small brief", "large now", "large brief"]);
    expect(all["large brief"]).toEqual({ version: "2", options: { maxTurns: 2 } });
  });
});

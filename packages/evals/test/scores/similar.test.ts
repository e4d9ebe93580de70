import fc from "fast-check";
import { expect, test } from "vitest";
import { similar } from "@proviso/evals";

const metrics = ["edit", "rouge-1", "rouge-2", "rouge-l"] as const;

test("EVL-61 the edit distance is a share of the longer text", () => {
  // The distance of kitten and sitting is 3 (Levenshtein's own measure, in every textbook).
  expect(similar("kitten", "sitting")).toBeCloseTo(1 - 3 / 7, 12);
  expect(similar("flaw", "lawn", "edit")).toBe(0.5);
  expect(similar("abc", "xyz")).toBe(0);
});

test("EVL-61 ROUGE is the F1 of words, of pairs of words, and of the longest common sequence", () => {
  // 3 of 4 words are in the reference of 6; 2 of 3 pairs in its 5.
  const [candidate, reference] = ["the cat was found", "the cat was under the bed"];
  expect(similar(candidate, reference, "rouge-1")).toBeCloseTo((2 * 0.75 * 0.5) / 1.25, 12);
  expect(similar(candidate, reference, "rouge-2")).toBeCloseTo((2 * (2 / 3) * 0.4) / (2 / 3 + 0.4), 12);
  expect(similar(candidate, reference, "rouge-l")).toBeCloseTo(0.6, 12);
});

test("EVL-61 equal texts are 1 by every metric, empty ones and a single word included", () => {
  for (const metric of metrics) {
    for (const text of ["", " ", "spam", "...", "one two"]) expect(similar(text, text, metric), metric).toBe(1);
  }
});

test("EVL-61 an empty text is 0 to any other by every metric", () => {
  for (const metric of metrics) {
    expect(similar("", "spam", metric), metric).toBe(0);
    expect(similar("spam", "", metric), metric).toBe(0);
  }
});

test("EVL-61 every metric is between 0 and 1", () => {
  fc.assert(
    fc.property(fc.string(), fc.string(), fc.constantFrom(...metrics), (one, other, metric) => {
      const share = similar(one, other, metric);
      expect(share).toBeGreaterThanOrEqual(0);
      expect(share).toBeLessThanOrEqual(1);
    }),
  );
});

test("EVL-61 a text that is too long is an error that says its length, even where both are equal", () => {
  const most = "a".repeat(20_000);
  expect(similar(most, `${most.slice(1)}b`)).toBeCloseTo(1 - 1 / 20_000, 12);
  expect(() => similar(`${most}a`, "a")).toThrow('"edit" takes texts of at most 20,000 UTF-16 units; one has 20,001');
  expect(() => similar("a", `${most}a`)).toThrow("one has 20,001");
  expect(() => similar(`${most}a`, `${most}a`)).toThrow("one has 20,001");
  for (const metric of ["rouge-1", "rouge-2", "rouge-l"] as const) {
    expect(() => similar("a".repeat(2_001), "a", metric)).toThrow("at most 2,000 UTF-16 units; one has 2,001");
  }
});

test("EVL-61 the longest texts that ROUGE takes cost no more than a few of the longest that edit takes, hostile ones too", () => {
  const fastest = (work: () => unknown): number => {
    const times = Array.from({ length: 3 }, () => {
      const begun = performance.now();
      work();
      return performance.now() - begun;
    });
    return Math.min(...times);
  };
  const edit = fastest(() => similar("a b ".repeat(5_000), "b a ".repeat(5_000)));
  for (const unit of ["''\n", "``\n", "([", '"', "A b. ", "a "]) {
    const text = unit.repeat(2_000).slice(0, 2_000);
    for (const metric of ["rouge-1", "rouge-2", "rouge-l"] as const) {
      const spent = fastest(() => {
        // Texts of very many sentences are refused (RangeError), which takes its time too.
        try {
          similar(text, `${text.slice(1)}b`, metric);
        } catch (error) {
          expect(error).toBeInstanceOf(RangeError);
        }
      });
      expect(spent / edit, `${JSON.stringify(unit)} by ${metric}`).toBeLessThan(4);
    }
  }
});

test("EVL-61 what is no text and an unknown metric are errors", () => {
  expect(() => similar(undefined as unknown as string, "a")).toThrow("similar compares texts, not");
  expect(() => similar("a", "a", "bleu" as "edit")).toThrow('similar has no metric "bleu"');
  expect(() => similar("a", "b", "toString" as "edit")).toThrow("similar has no metric");
});

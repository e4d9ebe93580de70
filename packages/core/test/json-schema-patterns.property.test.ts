import { defineTool } from "@proviso/core";
import { parseWithSchemaSync } from "@proviso/core/internal";
import fc from "fast-check";
import { describe, expect, inject, test } from "vitest";
import { compilePattern } from "../src/validation/pattern.ts";

const atom = fc.constantFrom(
  ..."a b - . é 😀 \\d \\w \\s \\. \\u0061 \\x62 [ab] [^a] [a-c\\]] \\p{L} \\u{1F600} ( \\b \\B ^ $"
    .split(" ")
    .filter((each) => each !== "("),
);
const repeat = fc.constantFrom("", "", "*", "+", "?", "{2}", "{1,}", "{0,2}", "*?", "+?", "{1,2}?");
/** Patterns of everything that is read as states. */
const patterns = fc.letrec<{ whole: string; part: string }>((tie) => ({
  whole: fc.array(fc.array(tie("part"), { maxLength: 3 }), { minLength: 1, maxLength: 2 }).map((ways) => {
    return ways.map((parts) => parts.join("")).join("|");
  }),
  part: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    fc.tuple(atom, repeat).map(([one, times]) => (/^(?:\\[bB]|[$^])$/.test(one) ? one : one + times)),
    fc
      .tuple(fc.constantFrom("(", "(?:", "(?<n>"), tie("whole"), repeat)
      .map(([opening, inside, times]) => `${opening}${inside})${times}`),
  ),
})).whole;
const texts = fc
  .array(fc.constantFrom(...("ab-.é😀1 c]\n".match(/./gsu) ?? [])), { maxLength: 8 })
  .map((parts) => parts.join(""));

test("TOOL-18 LIM-9 all ways at once find what the platform's engine finds", () => {
  fc.assert(
    fc.property(patterns, texts, (source, text) => {
      let native: RegExp;
      try {
        native = new RegExp(source, "u");
      } catch {
        return;
      }
      // What is nested is never given to the platform's engine.
      const pattern = compilePattern(`(?:(?:${source})|(?:(?:\u0002*)*\u0002))`);
      expect(pattern?.test(text)).toBe(native.test(text));
    }),
    { seed: 7, numRuns: inject("exhaustive") ? 3_000 : 1_000 },
  );
});

describe("TOOL-18 LIM-9 a pattern takes no time that doubles with each character", () => {
  const issuesOf = (pattern: string, text: string): string => {
    const input = { type: "object", properties: { a: { type: "string", pattern } } };
    const tool = defineTool({ name: "t", description: "T.", input, execute: () => "done" });
    const result = parseWithSchemaSync(tool.input, { a: text });
    return result.ok ? "" : result.issues.map(({ message }) => message).join();
  };

  test.each([
    ["^(a+)+$", "a".repeat(50_000), true],
    ["^(a|a)*$", "a".repeat(50_000), true],
    ["^(a|aa)+$", "a".repeat(50_000), true],
    ["(a?){30}a{30}", "a".repeat(29), false],
    ["(.*a){12}", "a".repeat(20_000), true],
    [".*.*.*=", "x".repeat(100_000), false],
    ["^([a-z0-9]+-)*[a-z0-9]+$", "some-name-with-hyphens", true],
  ] as const)("TOOL-18 LIM-9 %s", (pattern, text, isMatched) => {
    const before = process.cpuUsage();
    expect(issuesOf(pattern, text)).toBe(isMatched ? "" : `must match the pattern ${JSON.stringify(pattern)}`);
    if (text.length > 1) expect(issuesOf(pattern, `${text}!\n`) === "").toBe(/^[(.]/.test(pattern) && isMatched);
    const { user, system } = process.cpuUsage(before);
    expect((user + system) / 1_000).toBeLessThan(15_000);
  });

  test("TOOL-18 a pattern that looks around is tested with short texts, and a long one fails the call", () => {
    const password = "^(?=.*[A-Z])(?=.*\\d).{8,}$";
    expect(issuesOf(password, "Password1")).toBe("");
    expect(issuesOf(password, "password1")).toContain("must match the pattern");
    const behind = "^.*(?<=[A-Z]).*\\d.*$";
    expect(issuesOf(behind, "Password1")).toBe("");
    expect(() => issuesOf(behind, "P1".repeat(500))).toThrow("a text of 1000 characters is too long for its pattern");
  });

  test("TOOL-18 conditions at the beginning of a pattern are tested with texts of any length", () => {
    const email = "^(?!\\.)(?!.*\\.\\.)[\\w.+-]*[\\w+-]@(?:[a-z\\d][a-z\\d-]*\\.)+[a-z]{2,}$";
    expect(issuesOf(email, "ada.lovelace@analytical-engines.example.org")).toBe("");
    expect(issuesOf(email, `${"a".repeat(2_000)}@example.org`)).toBe("");
    for (const wrong of [".ada@example.org", "a..b@example.org", "ada@example", "a".repeat(5_000)]) {
      expect(issuesOf(email, wrong)).toContain("must match the pattern");
    }
    expect(issuesOf("^(?=.*[A-Z])(?=.*\\d).{8,}$", "P1".repeat(500))).toBe("");
  });

  test("TOOL-18 a pattern that begins with conditions and refers back is tested as a whole", () => {
    const pattern = compilePattern("^(?=(a))\\w(b)\\1$");
    expect([pattern?.test("aba"), pattern?.test("abb")]).toEqual([true, false]);
  });

  test("TOOL-18 conditions at the beginning come to what the platform's engine finds", () => {
    const conditions = fc.array(fc.tuple(fc.constantFrom("(?=", "(?!"), patterns), { minLength: 1, maxLength: 2 });
    fc.assert(
      fc.property(conditions, patterns, texts, (before, source, text) => {
        const whole = `^${before.map(([sign, inside]) => `${sign}${inside})`).join("")}${source}`;
        let native: RegExp;
        try {
          native = new RegExp(whole, "u");
        } catch {
          return;
        }
        // An alternative outside of all groups is no part of what the conditions stand before.
        fc.pre(!source.includes("|"));
        expect(compilePattern(whole)?.test(text)).toBe(native.test(text));
      }),
      { seed: 7, numRuns: inject("exhaustive") ? 3_000 : 1_000 },
    );
  });

  test.each([
    ["that take a character", "^", "(?:a|[ab])", "c"],
    ["in an alternative", "^(?:", "(?:a|[ab])", "c|x)"],
    ["that may be empty", "^", "(?:|)", "c"],
    ["that may be left out", "^", "(?:a?|b?)", "c"],
    ["in what is repeated", "^(?:", "(?:|)", "a)*c"],
  ])("TOOL-18 LIM-9 many alternatives one after another, %s", (_, before, alternatives, after) => {
    const pattern = `${before}${alternatives.repeat(40)}${after}`;
    const since = process.cpuUsage();
    for (const text of ["", "a", "a".repeat(100)]) {
      expect(issuesOf(pattern, text)).toContain("must match the pattern");
      expect(() => issuesOf(`(?!z)${pattern}`, text)).toThrow("is too long for its pattern");
    }
    const { user, system } = process.cpuUsage(since);
    expect((user + system) / 1_000).toBeLessThan(6_000);
  });

  test("TOOL-18 LIM-9 a pattern that looks around is refused where its alternatives have too many ways", () => {
    expect(() => issuesOf(`^b?(?=a)${"(?:a|[ab])".repeat(27)}c`, "a".repeat(100))).toThrow("too long for its pattern");
    expect(() => issuesOf("^b?(?!z)(?:|){40}c", "")).toThrow("is too long for its pattern");
    expect(issuesOf("^(?!z)(?:|){40}c", "")).toContain("must match the pattern");
    expect(issuesOf("^(?:|){40}c", "")).toContain("must match the pattern");
    expect(() => issuesOf("(?:|)".repeat(900), "a")).toThrow("is too long for its pattern");
    expect(issuesOf("^(?!0000)\\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\\d|3[01])$", "2026-11-28")).toBe("");
  });

  test.each([
    "(?:){1000000000}",
    "(?:(?:(?:){4999}){4999}){4999}",
    "a{60000}",
    `${"(".repeat(100)}a${")+".repeat(100)}`,
  ])("TOOL-18 LIM-9 a pattern of very many states is no work when the tool is defined: %s", (pattern) => {
    const before = process.cpuUsage();
    expect(compilePattern(pattern)?.test("")).toBe(new RegExp(pattern, "u").test(""));
    const { user, system } = process.cpuUsage(before);
    expect((user + system) / 1_000).toBeLessThan(6_000);
  });
});

test("TOOL-18 LIM-9 what each part of a schema costs is counted: large enums, lengths, equal items", () => {
  const issuesOf = (items: object, list: readonly unknown[]): readonly string[] => {
    const input = { type: "object", properties: { l: { type: "array", items } } };
    const tool = defineTool({ name: "t", description: "T.", input, execute: () => "done" });
    const result = parseWithSchemaSync(tool.input, { l: list });
    return result.ok ? [] : result.issues.map(({ message }) => message);
  };
  const values = Array.from({ length: 1_000 }, (_, index) => `value${index}`);
  const before = process.cpuUsage();
  expect(
    issuesOf(
      { enum: values },
      Array.from({ length: 50_000 }, () => "value999"),
    ),
  ).toEqual([]);
  expect(
    issuesOf(
      { enum: values },
      Array.from({ length: 50_000 }, () => "x"),
    ),
  ).toHaveLength(100);
  const objects = values.map((value) => ({ value }));
  expect(issuesOf({ enum: [...objects, 1] }, [{ value: "value7" }, 1, { value: 7 }, 2])).toHaveLength(2);
  const many = Array.from({ length: 1_000 }, (_, index) => ({ maxLength: index, const: { index }, uniqueItems: true }));
  expect(() => issuesOf({ anyOf: many }, ["x".repeat(1_000_000)])).toThrow("too involved");
  expect(() =>
    issuesOf(
      { required: values },
      Array.from({ length: 50_000 }, () => ({})),
    ),
  ).toThrow("too involved");
  const { user, system } = process.cpuUsage(before);
  expect((user + system) / 1_000).toBeLessThan(15_000);
});

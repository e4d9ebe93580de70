import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { closeTo, contains, exact, fits } from "@proviso/evals";

describe("exact", () => {
  test("EVL-60 the order of properties does not count, the order of items does", () => {
    expect(exact({ a: 1, b: [1, { c: null }] }, { b: [1, { c: null }], a: 1 })).toBe(true);
    expect(exact([1, 2], [2, 1])).toBe(false);
    expect(exact([1], [1, 1])).toBe(false);
    expect(exact({ a: 1 }, { a: 1, b: 2 })).toBe(false);
    expect(exact({ a: 1, b: 2 }, { a: 1 })).toBe(false);
    expect(exact("1", 1)).toBe(false);
    expect(exact([], {})).toBe(false);
    expect(exact(null, {})).toBe(false);
  });

  test("EVL-60 a property that is undefined counts as left out, and a Date as its text", () => {
    expect(exact({ a: 1, b: undefined }, { a: 1 })).toBe(true);
    expect(exact({ b: undefined }, { c: 1 })).toBe(false);
    expect(exact(new Date(0), "1970-01-01T00:00:00.000Z")).toBe(true);
  });

  test("EVL-60 what JSON does not have is the same as itself alone, and NaN as nothing", () => {
    const map = new Map([["a", 1]]);
    expect(exact(map, map)).toBe(true);
    expect(exact(new Map(), new Map())).toBe(false);
    expect(exact(new Map(), {})).toBe(false);
    expect(exact(Number.NaN, Number.NaN)).toBe(false);
    expect(exact(Number.NaN, null)).toBe(false);
    expect(exact(0, -0)).toBe(true);
  });

  test("EVL-60 a property of the prototype is none of the value", () => {
    expect(exact({ a: undefined, toString: 1 }, { a: 1 })).toBe(false);
    expect(exact({ constructor: 1 }, { a: 1 })).toBe(false);
  });

  test("EVL-60 a value is the same as its copy, and the same both ways round", () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), (one, other) => {
        expect(exact(one, JSON.parse(JSON.stringify(one)))).toBe(true);
        expect(exact(one, other)).toBe(exact(other, one));
      }),
    );
  });
});

describe("closeTo", () => {
  test("EVL-60 the wider of both tolerances counts", () => {
    expect(closeTo(366.5, 366)).toBe(false);
    expect(closeTo(366.5, 366, { absolute: 0.5 })).toBe(true);
    expect(closeTo(369, 366, { relative: 0.01 })).toBe(true);
    expect(closeTo(370, 366, { relative: 0.01, absolute: 1 })).toBe(false);
    expect(closeTo(0.1 + 0.2, 0.3)).toBe(true);
    expect(closeTo(-369, -366, { relative: 0.01 })).toBe(true);
  });

  test("EVL-60 NaN is close to nothing, and an infinite number to itself alone", () => {
    expect(closeTo(Number.NaN, Number.NaN, { absolute: 1 })).toBe(false);
    expect(closeTo(1, Number.NaN, { absolute: 1 })).toBe(false);
    expect(closeTo(1, Number.POSITIVE_INFINITY, { relative: 0.1 })).toBe(false);
    expect(closeTo(Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY)).toBe(false);
    expect(closeTo(Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY)).toBe(true);
  });

  test("EVL-60 a tolerance that is no number from 0 is an error", () => {
    expect(() => closeTo(1, 1, { absolute: -1 })).toThrow("absolute of closeTo must be a number from 0, not -1");
    expect(() => closeTo(1, 1, { relative: Number.NaN })).toThrow("relative of closeTo");
  });
});

describe("contains", () => {
  test("EVL-60 the share of the texts counts", () => {
    expect(contains("red and blue", ["red", "green", "blue", "grey"])).toBe(0.5);
    expect(contains("red", "red")).toBe(1);
    expect(contains("Red", "red")).toBe(0);
    expect(contains("", "")).toBe(1);
  });

  test("EVL-60 folded texts have neither case nor another form of a character", () => {
    expect(contains("ΟΔΟΣΑΑ", "οδος", { fold: true })).toBe(1);
    expect(contains("Straße", "STRASSE", { fold: true })).toBe(1);
    expect(contains("cafe\u0301", "CAFÉ", { fold: true })).toBe(1);
    expect(contains("cafe\u0301", "café")).toBe(0);
  });

  test("EVL-60 a list of no texts has no share, and a list is no text to look in", () => {
    expect(() => contains("a", [])).toThrow("at least one text");
    expect(() => contains(["a"] as unknown as string, "a")).toThrow("contains compares texts, not");
    expect(() => contains("a", [1 as unknown as string])).toThrow("contains compares texts, not");
  });
});

describe("fits", () => {
  const Answer = z.object({ label: z.enum(["spam", "ham"]) });

  test("EVL-62 a value that the schema refuses has the issues as its reason", async () => {
    expect(await fits({ label: "spam" }, Answer)).toBe(true);
    expect(await fits({ label: "egg" }, Answer)).toEqual({ value: false, reason: expect.stringMatching(/^label: /) });
    expect(await fits({ label: "spam", more: 1 }, Answer)).toMatchObject({ value: false, reason: "more: unknown key" });
  });

  test("EVL-62 a text is taken as it is, and else as the JSON that it holds", async () => {
    expect(await fits("12", z.string())).toBe(true);
    expect(await fits('{"label":"ham"}', Answer)).toBe(true);
    expect(await fits('{"label":"egg"}', Answer)).toMatchObject({
      value: false,
      reason: expect.stringMatching(/^label: /),
    });
    expect(await fits("It is ham.", Answer)).toMatchObject({ value: false, reason: expect.stringContaining("object") });
  });

  test("EVL-62 what a schema throws is no score", async () => {
    const failing = z.string().transform(() => {
      throw new Error("no connection");
    });
    await expect(fits("a", failing)).rejects.toThrow("no connection");
  });
});

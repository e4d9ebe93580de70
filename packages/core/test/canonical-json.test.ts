import { createHash } from "node:crypto";
import { describe, expect, test } from "vitest";
import { canonicalJson, contentHash, hostSha256, ownSha256, shortHash, toJsonValue } from "@proviso/core/internal";
import fc from "fast-check";
import { anyCharacter } from "./support/any-character.ts";

describe("PRM-10 canonical JSON", () => {
  test.each([
    [{ b: 1, a: { d: [2, { z: 1, y: 2 }], c: null } }, '{"a":{"c":null,"d":[2,{"y":2,"z":1}]},"b":1}'],
    [{ a: undefined, b: 12n }, '{"b":"12"}'],
    [{ a: new Date(0) }, '{"a":"1970-01-01T00:00:00.000Z"}'],
    [undefined, "null"],
    ["\uD800", '"\\ud800"'],
    [{ B: 1, a: 2, "": 3 }, '{"":3,"B":1,"a":2}'],
  ])("PRM-10 %o is written %s", (value, text) => {
    expect(canonicalJson(value)).toBe(text);
  });

  test("PRM-10 plain data and data of classes are written alike, at any depth", () => {
    const bySortedReplacer = (value: unknown): string =>
      JSON.stringify(value, (_key, item: unknown) => {
        if (typeof item === "bigint") return item.toString();
        if (typeof item !== "object" || item === null || Array.isArray(item)) return item;
        return Object.fromEntries(Object.entries(item).toSorted(([a], [b]) => (a < b ? -1 : 1)));
      }) ?? "null";
    const plain = fc.object({ key: fc.oneof(fc.string(), fc.integer().map(String)), withBigInt: true });
    const exotic = fc.object({ withDate: true, withMap: true, withNullPrototype: true, withSparseArray: true });
    fc.assert(
      fc.property(fc.oneof(plain, exotic), (value) => {
        expect(canonicalJson(value)).toBe(bySortedReplacer(value));
      }),
    );
    const deep = JSON.parse(`${'{"b":1,"a":['.repeat(300)}${"]}".repeat(300)}`) as unknown;
    expect(canonicalJson(deep)).toBe(bySortedReplacer(deep));
    const list = Object.assign([1, 2], { toJSON: () => ({ z: 1, a: 2 }) });
    expect(canonicalJson({ list })).toBe('{"list":{"a":2,"z":1}}');
    const circle: { self?: unknown } = {};
    circle.self = [circle];
    expect(() => canonicalJson(circle)).toThrow(TypeError);
  });

  test("PRM-10 a key __proto__ is a key like any other", () => {
    expect(canonicalJson(JSON.parse('{"b":1,"__proto__":{"x":1}}'))).toBe('{"__proto__":{"x":1},"b":1}');
    expect("x" in {}).toBe(false);
  });

  test("PRM-10 the hash is the SHA-256 of its UTF-8, in hexadecimal", () => {
    const expected = createHash("sha256").update('{"a":"ü👋"}', "utf8").digest("hex");
    expect(contentHash({ a: "ü👋" })).toBe(expected);
  });

  test("PRM-10 hosts with a SHA-256 of their own and those without give the same hashes", () => {
    fc.assert(
      fc.property(
        fc.string({ unit: anyCharacter }),
        fc.constantFrom("hex" as const, "base64url" as const),
        (text, as) => {
          const own = ownSha256(text, as);
          expect(own).toBe(createHash("sha256").update(text, "utf8").digest(as));
          expect(hostSha256()?.(text, as)).toBe(own);
        },
      ),
    );
  });

  test("EFF-1 a short hash is the first 128 bits in base64url", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const digest = createHash("sha256").update(canonicalJson(value), "utf8").digest();
        expect(shortHash(value)).toBe(digest.subarray(0, 16).toString("base64url"));
      }),
    );
  });
});

describe("EVT-2 JSON values", () => {
  test.each([
    [12n, "12"],
    [
      { n: [1n], at: new Date(0), gone: undefined },
      { n: ["1"], at: "1970-01-01T00:00:00.000Z" },
    ],
    [NaN, null],
    [-0, 0],
    [new Map([["a", 1]]), {}],
    [undefined, undefined],
  ])("EVT-2 %o is shown by its JSON encoding", (value, json) => {
    expect(toJsonValue(value)).toEqual({ value: json });
  });

  test("EVT-2 a value without a JSON encoding has none, and nothing throws", () => {
    const circular: unknown[] = [];
    circular.push(circular);
    const fragile = {
      toJSON() {
        throw new Error("no");
      },
    };
    for (const value of [circular, fragile, () => 1, Symbol("x")]) expect(toJsonValue(value)).toBeUndefined();
  });

  test("EVT-2 the JSON value is a copy", () => {
    const value = { list: [1] };
    const told = toJsonValue(value);
    value.list.push(2);
    expect(told).toEqual({ value: { list: [1] } });
  });

  test("EVT-2 what JSON does not have is not in the copy: symbols, absent values, -0", () => {
    const told = toJsonValue({ a: { [Symbol("s")]: 1, b: -0 }, c: undefined, d: [{ e: -0 }] });
    // Symbols count in a strict comparison.
    expect(told).toStrictEqual({ value: { a: { b: 0 }, d: [{ e: 0 }] } });
  });

  test("EVT-2 EVT-5 the copy is frozen at every depth, whichever way it was made; the value is not", () => {
    for (const at of ["now", new Date(0)]) {
      const value = { list: [{ at }] };
      const copy = toJsonValue(value)?.value as { readonly list: readonly object[] };
      expect([copy, copy.list, copy.list[0]].map((each) => Object.isFrozen(each))).toEqual([true, true, true]);
      expect([value, value.list, value.list[0]].some((each) => Object.isFrozen(each))).toBe(false);
    }
  });
});

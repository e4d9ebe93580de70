import { fc } from "./support/property.ts";
import { describe, expect, test } from "vitest";
import { parseJson } from "@proviso/core/provider";
import { canonicalJson, contentHash, toJsonValue } from "@proviso/core/internal";
import { anyCharacter } from "./support/any-character.ts";

const shuffled = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(shuffled);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .toReversed()
      .map(([key, item]) => [key, shuffled(item)]),
  );
};
const ordinary = fc
  .jsonValue({ maxDepth: 5 })
  .filter((value) => !/"(?:__proto__|constructor|prototype)":/.test(JSON.stringify(value)));

describe("SEC-2 any text", () => {
  test("SEC-2 ordinary values are parsed as JSON.parse does", () => {
    fc.assert(
      fc.property(ordinary, fc.constantFrom(undefined, 2), (value, indent) => {
        const text = JSON.stringify(value, null, indent);
        expect(parseJson(text)).toEqual({ ok: true, value: JSON.parse(text) });
      }),
    );
  });

  test("SEC-2 no text makes it throw, and what it takes JSON.parse takes too", () => {
    const jsonish = fc
      .array(fc.constantFrom("{", "}", "[", "]", '"', "\\", ",", ":", "1", "null", "__proto__", " ", "\u2028"))
      .map((parts) => parts.join(""));
    fc.assert(
      fc.property(fc.oneof(fc.string({ unit: anyCharacter }), jsonish), (text) => {
        const result = parseJson(text);
        if (result.ok) expect(result.value).toEqual(JSON.parse(text));
        else expect(result.error).not.toBe("");
      }),
    );
  });
});

describe("PRM-10 canonical JSON", () => {
  test("PRM-10 it reads back as the value, whatever the order of its keys", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(JSON.parse(canonicalJson(value))).toEqual(JSON.parse(JSON.stringify(value)));
        expect(canonicalJson(shuffled(value))).toBe(canonicalJson(value));
        expect(contentHash(shuffled(value))).toBe(contentHash(value));
      }),
    );
  });
});

describe("EVT-2 JSON values", () => {
  test("EVT-2 JSON values stay what they are", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(toJsonValue(value)?.value).toEqual(JSON.parse(JSON.stringify(value)));
      }),
    );
  });
});

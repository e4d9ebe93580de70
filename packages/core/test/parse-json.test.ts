import { describe, expect, test } from "vitest";
import { parseJson } from "@proviso/core/provider";

const nested = (depth: number): string => "[".repeat(depth) + "]".repeat(depth);

describe("SEC-2 the guarded parser", () => {
  test.each(["null", "0", '""', "[]", "{}", ' {"a": [1, {"b": "\\u0041"}]} ', '"[[[[{{{{"', '"\\\\"', '["\\"[[["]'])(
    "SEC-2 %s is parsed as JSON.parse does",
    (text) => {
      expect(parseJson(text)).toEqual({ ok: true, value: JSON.parse(text) });
    },
  );

  test.each(["", " ", "{", "]", "]]]][[[[", "{'a':1}", '{"a":1,}', "undefined", "NaN", '"\\', '"', "\uFEFF{}"])(
    "SEC-2 %j is no JSON, and the answer says so without a throw",
    (text) => {
      expect(parseJson(text)).toEqual({ ok: false, error: expect.stringMatching(/^not JSON: /) });
    },
  );

  test.each(["__proto__", "constructor", "prototype", "\\u005f_proto__"])(
    "SEC-2 a key %s is refused at any depth",
    (key) => {
      const name = JSON.parse(`"${key}"`) as string;
      for (const text of [`{"${key}":1}`, `{"a":[{"b":{"${key}":{"x":1}}}]}`, `[[{"${key}":null}]]`]) {
        expect(parseJson(text)).toEqual({ ok: false, error: `the key "${name}" is not allowed` });
      }
      expect("x" in {}).toBe(false);
    },
  );

  test("SEC-2 such a word is refused as a key, not as a value", () => {
    expect(parseJson('["__proto__", {"a": "constructor"}]').ok).toBe(true);
  });

  test("SEC-2 64 levels are taken and 65 are not, unless another depth is given", () => {
    expect(parseJson(nested(64)).ok).toBe(true);
    expect(parseJson(nested(65))).toEqual({ ok: false, error: "nested deeper than 64 levels" });
    expect(parseJson('{"a":'.repeat(65) + "1" + "}".repeat(65)).ok).toBe(false);
    expect(parseJson(nested(3), { maxDepth: 2 }).ok).toBe(false);
    expect(parseJson(nested(65), { maxDepth: 65 }).ok).toBe(true);
  });

  test("SEC-2 brackets in a string, behind an escaped quote too, are no levels", () => {
    const value = [`"${"[".repeat(70)}\\`, "{".repeat(70)];
    expect(parseJson(JSON.stringify(value))).toEqual({ ok: true, value });
    expect(parseJson(`["\\\\",${nested(64)}]`).ok).toBe(false);
  });

  test("SEC-2 a million brackets are refused before anything recurses", () => {
    expect(parseJson("[".repeat(1_000_000)).ok).toBe(false);
    expect(parseJson('{"":'.repeat(250_000)).ok).toBe(false);
  });

  test("SEC-2 1 MiB is taken and more is not, unless another length is given", () => {
    const text = JSON.stringify("x".repeat(1024 * 1024 - 2));
    expect(parseJson(text).ok).toBe(true);
    expect(parseJson(`${text} `)).toEqual({ ok: false, error: "larger than 1048576 characters (1048577)" });
    expect(parseJson("[1]", { maxLength: 2 }).ok).toBe(false);
    expect(parseJson(`${text} `, { maxLength: 2 ** 21 }).ok).toBe(true);
  });
});

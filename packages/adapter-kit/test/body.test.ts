import { longestBody, parseBody, unreadableBody } from "@proviso/adapter-kit";
import fc from "fast-check";
import { expect, test } from "vitest";

function failureOf(text: string): ReturnType<typeof unreadableBody> {
  const json = parseBody(text);
  return unreadableBody(text, json.ok ? "" : json.error);
}

test.each(["", " \n", '{"id":"resp_01","ou', '{"a":[1', '{"a":"\\"', "[", '[{"a":"]}'])(
  "THR-1 OAI-9 a body that was cut is asked again: %j",
  (text) => {
    expect(failureOf(text)).toEqual({
      failure: "throttle",
      kind: "unknown",
      message: "The provider's answer ends inside its JSON.",
      payload: text,
    });
  },
);

test.each(["<html>Hello</html>", "{]", "[1,]", '{"__proto__":{}}', '{"a":"}"}}', "nul"])(
  "THR-1 OAI-9 a body that is wrong is not: %j",
  (text) => {
    expect(failureOf(text)).toMatchObject({ failure: "provider", reason: "invalid_response", payload: text });
  },
);

test("THR-1 JSON that ends anywhere before its end was cut", () => {
  const value = fc.oneof(fc.array(fc.jsonValue()), fc.dictionary(fc.string(), fc.jsonValue()));
  fc.assert(
    fc.property(value, fc.nat(), (given, at) => {
      const whole = JSON.stringify(given);
      expect(failureOf(whole.slice(0, at % whole.length))).toMatchObject({ failure: "throttle", kind: "unknown" });
    }),
  );
});

test("OAI-9 of a long body the first 4,096 characters are kept", () => {
  expect(unreadableBody("x".repeat(5_000), "not JSON").payload).toBe("x".repeat(4_096));
});

test("SEC-1 OAI-9 what is kept of a long body ends before a secret, and its error quotes no part of one", () => {
  const key = "sk-of-the-tests-0123456789-abcdef";
  const kept = "x".repeat(4_096 - key.length + 1);
  expect(unreadableBody(`${kept}${key} and more`, "not JSON", [key]).payload).toBe(kept);
  for (const text of [`{"error": ${key}, "more": "${kept}"}`, `{"error": "${kept}" ${key}}`, `${kept} ${key}`, key]) {
    const json = parseBody(text);
    expect(json.ok ? "" : json.error).toMatch(/^not JSON: /);
    if (text !== key) expect(json).not.toMatchObject({ error: expect.stringMatching(/sk-of|abcdef/) });
  }
});

test("SEC-2 a body is bounded", () => {
  expect(parseBody(`"${"x".repeat(longestBody)}"`)).toMatchObject({ ok: false });
  expect(parseBody("[".repeat(257) + "]".repeat(257))).toMatchObject({ ok: false });
});

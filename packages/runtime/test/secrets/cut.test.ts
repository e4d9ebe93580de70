import { defineTool } from "@proviso/core";
import { modelAdapter } from "@proviso/runtime";
import { beginningOf, endOf, openSecrets } from "@proviso/runtime/internal";
import { scriptedModel } from "@proviso/runtime/testing";
import fc from "fast-check";
import { expect, test } from "vitest";
import { z } from "zod";
import { promptOf } from "../tools/support.ts";

const key = "sk-of-the-tests-0123456789-abcdef";

test("SEC-1 what is cut off shows no part of a secret that the whole text would hide", () => {
  const letters = fc.string({ unit: fc.constantFrom("a", "b", "c"), minLength: 1, maxLength: 6 });
  const texts = fc.array(fc.oneof(letters, fc.constantFrom("abcab", "bcc", "aa", "x")), { maxLength: 12 });
  fc.assert(
    fc.property(fc.array(letters, { minLength: 1, maxLength: 3 }), texts, fc.nat(40), (given, parts, most) => {
      const secrets = openSecrets(given);
      const text = parts.join("");
      const hide = (part: string): string => secrets?.redact(part) ?? part;
      const [begin, end] = [beginningOf(text, most, secrets), endOf(text, most, secrets)];
      expect(text.startsWith(begin) && text.endsWith(end)).toBe(true);
      expect(Math.max(begin.length, end.length)).toBeLessThanOrEqual(Math.max(most, 0));
      expect(hide(text).startsWith(hide(begin))).toBe(true);
      expect(hide(text).endsWith(hide(end))).toBe(true);
    }),
    { numRuns: 2_000 },
  );
});

test("SEC-1 without secrets, and beside them, a text is cut at the place itself", () => {
  expect([beginningOf("abcdef", 4, undefined), endOf("abcdef", 4, undefined)]).toEqual(["abcd", "cdef"]);
  const secrets = openSecrets([key]);
  expect(beginningOf(`${key}${key}`, key.length, secrets)).toBe(key);
  expect(endOf(`${key}${key}`, key.length, secrets)).toBe(key);
  expect([beginningOf(`ab${key}`, 9, secrets), endOf(`${key}ab`, 9, secrets)]).toEqual(["ab", "ab"]);
});

test.each([
  ["begins", (half: number) => `${"x".repeat(half - key.length + 1)}${key}${"y".repeat(70_000)}`],
  ["ends", (half: number) => `${"x".repeat(70_000)}${key}${"y".repeat(half - 1)}`],
])("SEC-1 TOOL-5 a long result that is cut where a secret %s shows none of it", async (_, textOf) => {
  const tool = defineTool({
    name: "t",
    description: "T.",
    input: z.object({}),
    execute: () => textOf(32 * 1024),
  });
  const model = scriptedModel([{ toolCalls: [{ name: "t", arguments: {} }] }, { text: "Done." }]);
  const { messages } = await modelAdapter(model, { secrets: [key] }).evaluate(promptOf({ tools: [tool] }));
  const text = messages.find(({ role }) => role === "tool")?.text ?? "";
  expect(text).toContain("characters in all");
  expect(text).not.toMatch(/sk-of|abcdef/);
});

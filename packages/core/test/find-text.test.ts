import { textFinder } from "@proviso/core/internal";
import fc from "fast-check";
import { expect, test } from "vitest";

test("FS-4 a text is found where indexOf finds it", () => {
  const text = fc
    .array(fc.constantFrom("a", "b", "aa", "ab", "\u{1f600}"), { maxLength: 120 })
    .map((parts) => parts.join(""));
  const find = fc.oneof(text, fc.constantFrom("a".repeat(33), `${"a".repeat(20)}b${"a".repeat(20)}`));
  fc.assert(
    fc.property(text, find, text, fc.nat({ max: 80 }), (before, wanted, after, from) => {
      const whole = before + wanted + after;
      expect(textFinder(wanted)(whole)).toBe(whole.indexOf(wanted));
      expect(textFinder(wanted)(whole, from)).toBe(whole.indexOf(wanted, from));
      expect(textFinder(wanted)(before + after)).toBe((before + after).indexOf(wanted));
    }),
    { numRuns: 2_000, seed: 20_261_122 },
  );
});

import { escapeUnseen, replaceUnseen } from "@proviso/core/internal";
import { expect, test } from "vitest";

const written = (text: string): string => escapeUnseen(text, (found) => `<${found.codePointAt(0)?.toString(16)}>`);

test.each([
  ["a control character", "a\u0007b\u001b[31m", "a<7>b<1b>[31m"],
  ["a carriage return, which takes a terminal back", "paid\rfree", "paid<d>free"],
  ["a mark of direction", "a\u202eb\u2066", "a<202e>b<2066>"],
  ["a space without width, a soft hyphen, a filler", "a\u200bb\u00adc\u3164", "a<200b>b<ad>c<3164>"],
  ["a tag", "a\u{e0041}\u{e007f}", "a<e0041><e007f>"],
  ["half of a character", "a\ud800b", "a<d800>b"],
  ["a line separator", "a\u2028b", "a<2028>b"],
  [
    "selectors in a row, which can hold a text",
    "a\ufe0f\ufe0e\ufe0f\ufe00\u{e0100}",
    "a\ufe0f<fe0e><fe0f><fe00><e0100>",
  ],
  ["a joiner that joins nothing", "\u200da \u200db\u200d\u200d", "<200d>a <200d>b\u200d<200d>"],
])("CLI-3 VIEW-4 %s is written out", (_, text, expected) => {
  expect(written(text)).toBe(expected);
  expect(replaceUnseen(text, () => "")).not.toMatch(/[\p{Cf}\p{Cs}\r\u2028]/u);
});

test.each(["Line\n\tand tab", "naïve, né e\u0301", "❤️ 👩‍🚀 👨‍👩‍👧 🏳️‍🌈 👍🏽 1️⃣", "می‌خواهم", "क्‍ष"])(
  "CLI-3 VIEW-4 what people write stays as it is: %s",
  (text) => {
    expect(written(text)).toBe(text);
  },
);

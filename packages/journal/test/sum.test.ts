import { frameSum, ownCrc32 } from "@proviso/journal/internal";
import fc from "fast-check";
import { crc32 } from "node:zlib";
import { expect, test } from "vitest";
import { anyCharacter } from "../../core/test/support/any-character.ts";

test("JST-5 the sum of a frame is the CRC-32 of its run, first and body", () => {
  fc.assert(
    fc.property(fc.string({ unit: "grapheme" }), fc.nat(), fc.string({ unit: "grapheme" }), (run, first, body) => {
      expect(frameSum({ run, first, body })).toBe(crc32(`${run}\n${first}\n${body}`));
    }),
  );
});

test("JST-5 a host without a CRC-32 of its own comes to the same sum", () => {
  fc.assert(
    fc.property(fc.string({ unit: anyCharacter }), (text) => {
      expect(ownCrc32(text)).toBe(crc32(text));
    }),
  );
});

import fc from "fast-check";

/**
 * Any code point but half of a surrogate pair: the unit of a text of anything. fast-check's own, "binary", first makes a map
 * of all of them, a million, which takes most of a second in each process of tests and 100 MB that stay.
 */
export const anyCharacter = fc
  .integer({ min: 0, max: 0x10f7ff })
  .map((number) => String.fromCodePoint(number < 0xd800 ? number : number + 0x800));

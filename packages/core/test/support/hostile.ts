import { fc } from "./property.ts";
import { anyCharacter } from "./any-character.ts";

const pieces = [
  "{{name}}",
  "{{other}}",
  "{{",
  "}}",
  "\\{{",
  "\\",
  "$&",
  "$1",
  "$$",
  "$`",
  "${name}",
  "{{ name }}",
  "__proto__",
  "## 1. Title",
  "\u2028",
  "\uD800",
  "\n\n",
  "",
];

/** Texts that are made of what templating engines stumble over. */
export const hostileText: fc.Arbitrary<string> = fc
  .array(fc.oneof(fc.constantFrom(...pieces), fc.string({ unit: anyCharacter })), { maxLength: 12 })
  .map((parts) => parts.join(""));

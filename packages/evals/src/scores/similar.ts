import { DefinitionError } from "@proviso/core";
import { distance } from "fastest-levenshtein";
import { l as rougeL, n as rougeN } from "js-rouge";
import { requireText } from "./values.ts";

/**
 * UTF-16 units of a text, at most. The time grows with the product of both lengths, and a text of quotes and line ends makes
 * ROUGE find sentences at the worst: at these lengths no text takes much longer than a tenth of a second.
 */
const longest = { edit: 20_000, "rouge-1": 2_000, "rouge-2": 2_000, "rouge-l": 2_000 } as const;

/**
 * How alike two texts are, from 0 to 1. "edit" is 1 − the Levenshtein distance divided by the longer length, both in UTF-16
 * units. The others are the F1 of ROUGE over words, and upper and lower case differ: by single words, by pairs of words
 * that follow each other, or by the longest common sequence of words ("rouge-l"). Equal texts are 1 by each of them, and an
 * empty text is 0 to any other.
 *
 * @param metric Default "edit".
 * @throws {DefinitionError} for what is no text, for a metric that is none of these, and for a text that is too long: more
 * than 20,000 UTF-16 units for "edit", 2,000 for the others.
 * @throws {RangeError} by "rouge-l" for texts of very many sentences: more than 100,000 pairs of them.
 */
export function similar(
  actual: string,
  expected: string,
  metric: "edit" | "rouge-1" | "rouge-2" | "rouge-l" = "edit",
): number {
  requireText("similar", actual);
  requireText("similar", expected);
  if (!Object.hasOwn(longest, metric)) {
    throw new DefinitionError(`similar has no metric ${JSON.stringify(metric)}: ${Object.keys(longest).join(", ")}.`);
  }
  const length = Math.max(actual.length, expected.length);
  if (length > longest[metric]) {
    throw new DefinitionError(
      `similar by "${metric}" takes texts of at most ${longest[metric].toLocaleString("en-US")} UTF-16 units; one has ${length.toLocaleString("en-US")}.`,
    );
  }
  // ROUGE has no pairs of words in a text of one word, and refuses a text without any.
  if (actual === expected) return 1;
  if (metric === "edit") return 1 - distance(actual, expected) / length;
  const [one, other] = [actual.trim(), expected.trim()];
  if (one === other) return 1;
  if (one === "" || other === "") return 0;
  if (metric === "rouge-l") return rougeL(one, other);
  return rougeN(one, other, { n: metric === "rouge-1" ? 1 : 2 });
}

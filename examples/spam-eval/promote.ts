// node --conditions=@proviso/source promote.ts [folder]
// Looks for better words on three fifths of the mails, and stores the best ones if they are no worse on the others.
import { overrideOf } from "@proviso/core";
import { improve, split } from "@proviso/evals";
import { jsonl } from "@proviso/evals/node";
import { fileOverrides } from "@proviso/node";
import { join } from "node:path";
import type { z } from "zod";
import { triage } from "./prompt.ts";
import { Mail, overrides, spam } from "./spam.eval.ts";

const [folder] = process.argv.slice(2);
// All mails of a sender are in one part.
const parts = split(jsonl(join(import.meta.dirname, "mails.jsonl"), Mail), { test: 0.4, by: ({ sender }) => sender });
const train: z.infer<typeof Mail>[] = [];
for await (const mail of parts.train) train.push(mail);
const current = overrideOf(triage, overrides.tag);

const { rounds, acceptance } = await improve(spam, {
  train,
  test: parts.test,
  scorer: "correct",
  pacing: "off",
  overrides: folder === undefined ? overrides : { ...overrides, store: fileOverrides(folder) },
  // A prompt may write candidates; here they are counted: the pairs of words that occur
  // most in spam and least in ham.
  propose: async (history) => (history.length > 0 ? [] : [15, 40, 100].map((count) => withWords(typicalPairs(count)))),
});
for (const { difference, losses } of rounds) console.log(difference.value.toFixed(3), losses.length, "lost");
console.log(acceptance.accepted ? "stored:" : "not stored:", acceptance.why);

function withWords(pairs: readonly string[]) {
  const section = current.sections["words"];
  if (section === undefined) throw new Error('The prompt has no section "words".');
  return {
    ...current,
    sections: { words: { hash: section.hash, text: `Words that spam has: ${pairs.join(", ")}.` } },
  };
}

function typicalPairs(count: number): readonly string[] {
  const seen = new Map<string, { spam: number; ham: number }>();
  for (const { label, text } of train) {
    for (const pair of new Set(text.toLowerCase().match(/[a-z]{4,} [a-z]{2,}/g))) {
      const counts = seen.get(pair) ?? { spam: 0, ham: 0 };
      counts[label] += 1;
      seen.set(pair, counts);
    }
  }
  const gain = ({ spam: inSpam, ham }: { spam: number; ham: number }): number => inSpam - 4 * ham;
  const sorted = [...seen].toSorted(([a, one], [b, other]) => gain(other) - gain(one) || (a < b ? -1 : 1));
  return sorted.slice(0, count).map(([pair]) => pair);
}

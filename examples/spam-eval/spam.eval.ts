// npx -y pnpm@12 eval: 600 real mails, two word lists in one prompt, one table.
import { defineEval } from "@proviso/evals";
import { jsonl } from "@proviso/evals/node";
import { fileOverrides } from "@proviso/node";
import { modelAdapter } from "@proviso/runtime";
import { join } from "node:path";
import { z } from "zod";
import { triage } from "./prompt.ts";
import { simulatedModel } from "./simulated-model.ts";

const here = import.meta.dirname;

export const Mail = z.object({ id: z.string(), label: z.enum(["spam", "ham"]), sender: z.string(), text: z.string() });

/** Where `promote.ts` stores the words that it accepts. */
export const overrides = { store: fileOverrides(join(here, "overrides")), tag: "promoted" };

export const spam = defineEval({
  name: "spam",
  data: jsonl(join(here, "mails.jsonl"), Mail),
  // Mails of one sender are alike: intervals count senders.
  group: ({ sender }) => sender,
  prompt: ({ text }) => triage.bind({ text }),
  // openai({ model: "gpt-5.4-mini" }) in its place asks a real model.
  adapter: modelAdapter(simulatedModel),
  variants: { "first words": {}, "promoted words": { overrides } },
  scorers: { correct: ({ row, output }) => output.label === row.label },
  gates: { correct: { noWorseBy: 0.02 } },
});

import { definePrompt } from "@proviso/core";
import { z } from "zod";

// Prompts for `proviso run`.
export const greet = definePrompt({
  ns: "cli",
  key: "greet",
  params: z.object({ name: z.string(), times: z.number().int().optional(), loud: z.boolean().default(false) }),
  text: "Greet {{name}}, {{times}} times, loud: {{loud}}.",
});
export const measure = definePrompt({
  key: "measure",
  params: z.object({ words: z.array(z.string()) }),
  output: z.object({ length: z.number(), said: z.string() }),
  text: "Measure this.",
});
export const fixed = definePrompt({ key: "fixed", text: "Say yes." }).bind();
/** The schema changes what it is given. */
export const changing = definePrompt({
  key: "changing",
  params: z.object({
    word: z.string().transform((word) => `<${word}>`),
    size: z.string().transform(Number),
    tone: z.string(),
  }),
  text: "Say {{word}} {{size}} {{tone}}.",
}).bind({ word: "yes", size: "5", tone: "softly" });

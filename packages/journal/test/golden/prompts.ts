// The prompts of the golden records. They never change: a prompt that is to be recorded in another way gets another name,
// and the records of all names stay.
import {
  allow,
  defineEvent,
  definePolicy,
  definePrompt,
  defineSlice,
  defineTool,
  suspend,
  toolError,
} from "@proviso/core";
import { z } from "zod";

const noted = defineEvent("noted", z.object({ text: z.string() }));
const notes = defineSlice({
  name: "notes",
  initial: [] as readonly string[],
  reducers: ({ on }) => on(noted, (list, { text }) => void list.push(text)),
});
const note = defineTool({
  name: "note",
  description: "Takes a note.",
  input: z.object({ text: z.string() }),
  execute({ text }, { session }) {
    session.dispatch(noted({ text }));
    return text.length;
  },
});
const fail = defineTool({
  name: "fail",
  description: "Takes a note, and fails.",
  input: z.object({ text: z.string() }),
  execute({ text }, { session }) {
    session.dispatch(noted({ text }));
    return toolError("It did not work.");
  },
});
const look = defineTool({
  name: "look",
  description: "Looks something up.",
  input: z.object({ word: z.string() }),
  readOnly: true,
  execute: ({ word }) => ({ word, letters: word.length }),
});
const meaning = definePrompt({ key: "meaning", params: z.object({ word: z.string() }), text: "What is {{word}}?" });
const explain = defineTool({
  name: "explain",
  description: "Asks a model for the meaning of a word.",
  input: z.object({ word: z.string() }),
  async execute({ word }, { evaluate }) {
    const { text } = await evaluate(meaning.bind({ word }));
    return text ?? "";
  },
});
const pay = defineTool({
  name: "pay",
  description: "Pays an amount.",
  input: z.object({ cents: z.number().int() }),
  execute: ({ cents }) => ({ paid: cents }),
});

/** Large amounts wait for a person. */
export const chief = definePolicy({
  name: "chief",
  tools: [pay],
  check: ({ input }) => (input.cents > 1_000 ? suspend(`Pay ${input.cents} cents?`) : allow()),
});

/** A text with a param. */
export const greeting = definePrompt({
  key: "golden-greeting",
  params: z.object({ name: z.string(), tone: z.string().default("warm") }),
  text: "Greet {{name}} in a {{tone}} way.",
});
/** A typed output. */
export const sum = definePrompt({
  key: "golden-sum",
  params: z.object({ a: z.number(), b: z.number() }),
  output: z.object({ sum: z.number() }),
  text: "Add {{a}} and {{b}}.",
});
/** Calls that succeed, fail, run side by side, evaluate, and wait for a decision. */
export const work = definePrompt({
  key: "golden-work",
  slices: [notes],
  sections: [{ key: "task", text: "Do the work.", tools: [note, fail, look, explain, pay] }],
});

import { defineEvent, definePrompt, defineSlice, defineTool } from "@proviso/core";
import { z } from "zod";

// A prompt for `proviso chat`: its state goes on from turn to turn.
const noted = defineEvent("noted", z.object({ text: z.string() }));
const notes = defineSlice({
  name: "notes",
  initial: [] as readonly string[],
  reducers: ({ on }) => on(noted, (draft, { text }) => void draft.push(text)),
});
const note = defineTool({
  name: "note",
  description: "Notes a text.",
  input: z.object({ text: z.string() }),
  execute({ text }, { session }) {
    session.dispatch(noted({ text }));
    return `${session.get(notes).length} notes`;
  },
});
export const notebook = definePrompt({
  key: "notebook",
  params: z.object({ language: z.string().optional(), line: z.string() }),
  slices: [notes],
  sections: [
    { key: "rules", text: "Answer in {{language}}.", tools: [note] },
    { key: "line", text: "{{line}}", role: "user" },
  ],
});
export const fixed = definePrompt({ key: "fixed", text: "Say yes." }).bind();
export const pair = definePrompt({
  key: "pair",
  params: z.object({ a: z.string(), b: z.string() }),
  text: "{{a}}{{b}}",
});

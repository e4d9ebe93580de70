import {
  allow,
  defineEvent,
  definePrompt,
  defineSlice,
  defineTool,
  deny,
  type ObjectSchema,
  type Prompt,
} from "@proviso/core";
import { objectOf, schemaFrom } from "./schemas.ts";

const textInput = schemaFrom<{ readonly text: string }>(objectOf({ text: { type: "string" } }));

const noted = defineEvent("noted", textInput);
export const notes = defineSlice({
  name: "notes",
  initial: [] as readonly string[],
  reducers: ({ on }) => on(noted, (draft, { text }) => void draft.push(text)),
});

/** Keeps a note; writes, then fails for "bad"; half a character in the result for "half". */
const note = defineTool({
  name: "note",
  description: "Keeps a note.",
  input: textInput,
  execute({ text }, { session }) {
    session.dispatch(noted({ text }));
    if (text === "bad") throw new Error("This note is not kept.");
    return text === "half" ? "noted \ud83d and no more" : `noted ${text}`;
  },
});
const count = defineTool({
  name: "count",
  description: "Counts the notes.",
  input: schemaFrom<object>(objectOf({})) as ObjectSchema,
  readOnly: true,
  execute: (_, { session }) => `${session.get(notes).length} notes`,
});

const withTools = [
  { key: "guide", title: "Guide", text: "Keep notes.", tools: [note, count], slices: [notes] },
  { key: "request", text: "Begin.", role: "user" },
] as const;

export const plain = definePrompt({
  ns: "conformance",
  key: "plain",
  sections: [
    { key: "guide", text: "Be brief." },
    { key: "request", text: "Say hello.", role: "user" },
  ],
}).bind();
export const toolPrompt = definePrompt({ ns: "conformance", key: "tools", sections: withTools }).bind();
/** A runbook of which one section is a summary; a policy denies the note "secret", and each call is followed by a reminder. */
export const runbook = definePrompt({
  ns: "conformance",
  key: "runbook",
  sections: [
    { key: "guide", text: "Work.", tools: [count], slices: [notes] },
    { key: "manual", title: "Manual", text: "Keep notes.", summary: "How to.", visibility: "summary", tools: [note] },
    { key: "request", text: "Begin.", role: "user" },
  ],
  policies: [
    {
      name: "no-secrets",
      check: ({ input }) => ((input as { readonly text?: string }).text === "secret" ? deny("Not that.") : allow()),
    },
  ],
  feedback: [{ name: "reminder", every: { calls: 1 }, provide: () => "Mind the time." }],
  completion: {
    name: "thanks",
    check: ({ output }) => (output.includes("Thanks") ? undefined : "Say thanks."),
  },
}).bind();
const total = schemaFrom<{ readonly total: number }>(objectOf({ total: { type: "number" } }));
export const totalPrompt = definePrompt({
  ns: "conformance",
  key: "total",
  output: total,
  sections: [{ key: "request", text: "Give a total.", role: "user" }],
}).bind();
export const toolsAndTotal = definePrompt({
  ns: "conformance",
  key: "tools-and-total",
  output: total,
  sections: withTools,
}).bind();
const measure = defineTool({
  name: "measure",
  description: "Measures how wide it is.",
  input: schemaFrom<{ readonly widthInMetres: number }>(objectOf({ widthInMetres: { type: "number" } })),
  execute: ({ widthInMetres }) => `${widthInMetres} m`,
});
export const measuring = definePrompt({
  ns: "conformance",
  key: "measuring",
  output: schemaFrom<{ readonly heightInMetres: number }>(objectOf({ heightInMetres: { type: "number" } })),
  sections: [
    { key: "guide", text: "Measure first.", tools: [measure] },
    { key: "request", text: "How high is it?", role: "user" },
  ],
}).bind();
const text = "Give the list.";
export const listPrompt = definePrompt({
  ns: "conformance",
  key: "list",
  output: schemaFrom<readonly string[]>({ type: "array", items: { type: "string" } }),
  text,
}).bind();
export const numberPrompt = definePrompt({
  ns: "conformance",
  key: "number",
  output: schemaFrom<number>({ type: "number" }),
  text,
}).bind();

/** One user message, as it is. */
export function saying(text: string): Prompt<string> {
  const params = textInput;
  return definePrompt({ ns: "conformance", key: "saying", params, text: "{{text}}" }).bind({ text });
}

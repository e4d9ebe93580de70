import { defineEvent, definePrompt, defineSlice, defineTool } from "@proviso/core";
import { z } from "zod";

const remembered = defineEvent("fact.remembered", z.object({ fact: z.string() }));

/** What the assistant knows about its user: the half of a conversation that is not its messages. */
export const facts = defineSlice({
  name: "facts",
  initial: [] as readonly string[],
  schema: z.array(z.string()).readonly(),
  reducers: ({ on }) =>
    on(remembered, (draft, { fact }) => {
      if (!draft.includes(fact)) draft.push(fact);
    }),
});

const remember = defineTool({
  name: "remember",
  description: "Remembers a fact about the user, in one short sentence.",
  input: z.object({ fact: z.string().min(1).max(200) }),
  execute: ({ fact }, { session }) => {
    session.dispatch(remembered({ fact }));
    return "Remembered.";
  },
});

/** Characters of one message of a user. */
export const longestMessage = 4_000;

export const chat = definePrompt({
  ns: "examples",
  key: "chat",
  params: z.object({ said: z.string().trim().min(1).max(longestMessage) }),
  slices: [facts],
  sections: [
    {
      key: "rules",
      text: "You are a friendly assistant. Answer in a few sentences. Remember what the user says about themselves.",
      tools: [remember],
    },
    {
      key: "facts",
      title: "What you know about the user",
      text: "Nothing yet.",
      textFrom: (get) =>
        get(facts)
          .map((fact) => `- ${fact}`)
          .join("\n") || undefined,
    },
    { key: "said", role: "user", text: "{{said}}" },
  ],
});

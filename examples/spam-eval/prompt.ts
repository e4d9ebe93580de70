import { definePrompt } from "@proviso/core";
import { z } from "zod";

/** The words are a section of their own: that is what variants replace. */
export const triage = definePrompt({
  key: "triage",
  params: z.object({ text: z.string() }),
  output: z.object({ label: z.enum(["spam", "ham"]) }),
  sections: [
    { key: "task", text: "Is this mail spam or ham?" },
    { key: "words", text: "Words that spam has: free, win, money, offer, click, now." },
    { key: "mail", text: "{{text}}", role: "user" },
  ],
});

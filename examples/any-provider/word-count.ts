import { definePrompt, defineTool } from "@proviso/core";
import { z } from "zod";

export function wordsOf(text: string): readonly string[] {
  return text.split(/\s+/).filter((word) => word !== "");
}

const countWords = defineTool({
  name: "count_words",
  description: "Counts the words of a text.",
  input: z.object({ text: z.string() }),
  readOnly: true,
  execute: ({ text }) => ({ words: wordsOf(text).length }),
});

export const wordCount = definePrompt({
  ns: "examples",
  key: "word-count",
  params: z.object({ text: z.string() }),
  output: z.object({ words: z.number(), longest: z.string() }),
  sections: [
    { key: "guide", text: "Count with the tool count_words, never by yourself.", tools: [countWords] },
    { key: "request", role: "user", text: "How many words has this text, and which one is the longest?\n\n{{text}}" },
  ],
});

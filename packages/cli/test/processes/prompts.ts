import { definePrompt, defineTool } from "@proviso/core";
import { z } from "zod";

// What a command line is pointed at: the text changes as a prompt's would between two releases.
const tone = process.env["TONE"] ?? "Be brief.";

export const greeting = definePrompt({
  ns: "cli",
  key: "greeting",
  params: z.object({ name: z.string() }),
  sections: [
    {
      key: "tone",
      text: tone,
      tools: [
        defineTool({
          name: "look_up",
          description: "Look a name up.",
          input: z.object({ name: z.string().describe("as it is written") }),
          execute: ({ name }) => name,
        }),
      ],
    },
    { key: "greet", text: "Greet {{name}}.", role: "user" },
  ],
});

/** A bound prompt counts too. */
export const fixed = definePrompt({ ns: "cli", key: "fixed", text: "Say yes." }).bind();
export const notAPrompt = { key: "x" };

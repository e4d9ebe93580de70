import { definePrompt, defineTool } from "@proviso/core";
import { z } from "zod";

const lookUp = defineTool({
  name: "look_up",
  description: "Look an order up.",
  input: z.object({ order: z.string().describe("the order's number") }),
  readOnly: true,
  execute: ({ order }) => `Order ${order}: sent on Monday.`,
});

const support = (tone: string) =>
  definePrompt({
    ns: "examples",
    key: "support",
    params: z.object({ question: z.string() }),
    sections: [
      { key: "tone", title: "Tone", text: tone },
      { key: "orders", title: "Orders", text: "Look an order up before you speak of it.", tools: [lookUp] },
      { key: "question", text: "{{question}}", role: "user" },
    ],
  });

/** What the command `proviso overrides` finds in this module. */
export const answerCustomers = support("Be brief.");

/** The same prompt a month later: somebody has changed a text that an override replaces. */
export const answerCustomersLater = support("Be brief, and name the order.");

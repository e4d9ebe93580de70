import { definePrompt } from "@proviso/core";
import { z } from "zod";

const cents = (euros: number): number => Math.round(euros * 100);

const receipt = z
  .object({
    shop: z.string(),
    items: z.array(z.object({ name: z.string(), euros: z.number().positive() })).min(1),
    total: z.number().positive(),
  })
  // A digit that was misread shows here, and the model reads again.
  .refine(({ items, total }) => items.reduce((sum, { euros }) => sum + cents(euros), 0) === cents(total), {
    message: "The items do not add up to the total: look at each digit again.",
    path: ["total"],
  });

/** What is read of one picture. */
export type Receipt = z.infer<typeof receipt>;

/** Reads one picture. */
export const readReceipt = definePrompt({
  ns: "receipts",
  key: "read",
  params: z.object({ picture: z.file().max(1_000_000).mime(["image/png", "image/jpeg"]) }),
  output: receipt,
  sections: [
    { key: "rules", text: "You read receipts. Write down each item and the total, exactly as printed." },
    { key: "picture", role: "user", text: "{{picture}}" },
  ],
});

import { allow, definePolicy, definePrompt, suspend } from "@proviso/core";
import { z } from "zod";
import { findOrder, refund } from "./shop.ts";

/** Cents that are paid back without asking anybody. */
const freeUpTo = 5_000;
/** Characters of a mail. */
export const longestMail = 4_000;

export function euros(cents: number): string {
  return `${(cents / 100).toFixed(2)} €`;
}

/** The prompt; who decides about a large refund has so many milliseconds for it. */
export function deskPrompt(decideWithinMs: number) {
  const manager = definePolicy({
    name: "manager",
    tools: [refund],
    check({ input: { order, cents } }) {
      if (cents <= freeUpTo) return allow();
      return suspend(`Pay back ${euros(cents)} for ${order}?`, { expiresInMs: decideWithinMs });
    },
  });
  return definePrompt({
    ns: "examples",
    key: "refund-desk",
    params: z.object({ mail: z.string().trim().min(1).max(longestMail) }),
    policies: [manager],
    sections: [
      {
        key: "rules",
        text:
          "You answer the mails of a shop's customers in a few friendly sentences. Look an order up before you speak of it. " +
          "Pay back what something cost where it never came, or came broken; tell the customer what was paid, or why not.",
        tools: [findOrder, refund],
      },
      { key: "mail", role: "user", text: "{{mail}}" },
    ],
  });
}

import { defineEval } from "@proviso/evals";
import { answering, mails, triage, type Mail } from "../support.ts";

/** Three thousand mails, each answered in 20 ms. */
export const slowMails = defineEval({
  name: "slow-mails",
  data: mails(3_000),
  prompt: ({ text }: Mail) => triage.bind({ text }),
  adapter: answering(async (text) => {
    await new Promise((resolve) => setTimeout(resolve, 20));
    return JSON.stringify({ label: text.includes("Win") ? "spam" : "ham" });
  }),
  scorers: { right: ({ row, output }) => output.label === row.label },
});

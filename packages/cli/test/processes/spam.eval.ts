import { definePrompt } from "@proviso/core";
import { defineEval } from "@proviso/evals";
import { modelAdapter } from "@proviso/runtime";
import { z } from "zod";

// Evals for `proviso eval`: the model calls each text spam that has "win" in it.
const judge = definePrompt({ key: "judge", params: z.object({ text: z.string() }), text: "Spam? {{text}}" });
const adapter = modelAdapter({
  name: "words",
  model: "words-1",
  capabilities: { tools: true, nativeOutput: true },
  async generate({ messages, signal }) {
    const asked = messages.at(-1)?.text ?? "";
    if (asked.includes("wait")) {
      (globalThis as { readonly waits?: () => void }).waits?.();
      await new Promise((_, fail) => signal.addEventListener("abort", () => fail(signal.reason as Error)));
    }
    if (asked.includes("refuse")) return { failure: "provider", reason: "api_key", message: "No key." };
    const text = asked.includes("win") ? "spam" : "ham";
    return {
      message: { role: "assistant", text, toolCalls: [] },
      finishReason: "stop",
      usage: { inputTokens: 10, outputTokens: 1 },
    };
  },
});
const rows = (text: string, label: string) =>
  Array.from({ length: 60 }, (_, at) => ({ id: `${label}-${at}`, text, label }));
const evalOf = (name: string, data: ReturnType<typeof rows>) =>
  defineEval({
    name,
    data,
    adapter,
    prompt: ({ text }) => judge.bind({ text }),
    scorers: { correct: ({ row, output }) => output === row.label },
    gates: { correct: { atLeast: 0.5 } },
  });

export const good = evalOf("good", [...rows("You win.", "spam"), ...rows("See you at noon.", "ham")]);
export const bad = evalOf("bad", rows("Claim your prize.", "spam"));
export const broken = evalOf("broken", rows("refuse", "spam"));
export const slow = evalOf("slow", rows("wait", "spam"));

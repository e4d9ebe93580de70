import type { ModelProvider } from "@proviso/core";

/**
 * A model for a run without a key: it calls a mail spam that has one of the words in its prompt. So a changed prompt
 * changes real scores.
 */
export const simulatedModel: ModelProvider = {
  name: "simulated",
  model: "words-1",
  capabilities: { tools: true, nativeOutput: true },
  async generate({ messages }) {
    const rules = messages[0]?.text ?? "";
    const mail = (messages.at(-1)?.text ?? "").toLowerCase();
    const [, list = ""] = /Words that spam has: ([^\n]*)\./.exec(rules) ?? [];
    const label = list.split(", ").some((word) => mail.includes(word)) ? "spam" : "ham";
    const message = { role: "assistant" as const, text: JSON.stringify({ label }), toolCalls: [] };
    const inputTokens = Math.ceil((rules.length + mail.length) / 4);
    return { message, finishReason: "stop", usage: { inputTokens, outputTokens: 5 } };
  },
};

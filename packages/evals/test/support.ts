import { definePrompt, type ModelFailure, type ModelResponse, type ProviderAdapter } from "@proviso/core";
import { modelAdapter } from "@proviso/runtime";
import { z } from "zod";

export const triage = definePrompt({
  key: "triage",
  params: z.object({ text: z.string() }),
  output: z.object({ label: z.enum(["spam", "ham"]) }),
  text: "Is this mail spam or ham?\n\n{{text}}",
});

export interface Mail {
  readonly id: string;
  readonly text: string;
  readonly label: "spam" | "ham";
}

/** Mails of which every second one is spam; every third of the others has the word "money" in it as well. */
export function mails(count: number): readonly Mail[] {
  return Array.from({ length: count }, (_, at): Mail => {
    if (at % 2 === 1) return { id: `m${at}`, text: `Win money, number ${at}.`, label: "spam" };
    return { id: `m${at}`, text: at % 3 === 0 ? `Your money, number ${at}.` : `Hello, number ${at}.`, label: "ham" };
  });
}

/** A model that answers as `answer` says, and counts its requests. */
export function answering(
  answer: (text: string) => string | Error | ModelFailure | Promise<string>,
  asked: string[] = [],
  name = "words",
): ProviderAdapter {
  return modelAdapter({
    name,
    model: `${name}-1`,
    capabilities: { tools: true, nativeOutput: true },
    async generate({ messages }) {
      const text = messages.map((message) => message.text).join("\n");
      asked.push(text);
      const answered = await answer(text);
      if (answered instanceof Error) {
        return { failure: "provider", reason: "api_key", message: answered.message, status: 401 };
      }
      if (typeof answered !== "string") return answered;
      const response: ModelResponse = {
        message: { role: "assistant", text: answered, toolCalls: [] },
        finishReason: "stop",
        usage: { inputTokens: 10, outputTokens: 3 },
      };
      return response;
    },
  });
}

/** A model that calls what has one of these words spam. */
export function wordList(words: readonly string[], asked: string[] = []): ProviderAdapter {
  return answering(
    (text) => JSON.stringify({ label: words.some((word) => text.includes(word)) ? "spam" : "ham" }),
    asked,
  );
}

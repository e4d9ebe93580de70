import {
  defineTool,
  type ContextPolicy,
  type Message,
  type ModelFailure,
  type ModelProvider,
  type ModelRequest,
  type ModelResponse,
} from "@proviso/core";
import { modelAdapter, type Environment } from "@proviso/runtime";
import { z } from "zod";
import type { Run } from "../../src/run.ts";
import { redactionOf } from "../../src/secrets/structure.ts";

type Answer = Partial<ModelResponse["message"]> & { readonly usage?: ModelResponse["usage"] };

/** A model whose answers are made of the requests, and which keeps these. */
export function modelOf(
  answer: (request: ModelRequest, turn: number) => Answer | ModelFailure | Promise<Answer | ModelFailure>,
  fields: Partial<ModelProvider> = {},
  environment: Environment = {},
) {
  const requests: ModelRequest[] = [];
  const model: ModelProvider = {
    name: "counting",
    model: "counting-1",
    contextWindow: 8_000,
    maxOutputTokens: 1_000,
    capabilities: { tools: true, nativeOutput: false },
    ...fields,
    async generate(request) {
      requests.push(request);
      const given = await answer(request, requests.length);
      if ("failure" in given) return given;
      const { text = "", toolCalls = [], usage } = given;
      return {
        message: { role: "assistant", text, toolCalls },
        finishReason: toolCalls.length > 0 ? "tool-calls" : "stop",
        usage: usage ?? { inputTokens: tokensOf(request), outputTokens: 20 },
      };
    },
  };
  return { adapter: modelAdapter(model, environment), requests };
}

/** What the service of these tests counts: a token for four characters. */
export function tokensOf({ messages, tools }: ModelRequest): number {
  return Math.ceil((JSON.stringify(messages).length + JSON.stringify(tools).length) / 4);
}

export function tooLong() {
  return {
    failure: "provider",
    reason: "context_length",
    status: 400,
    message: "This model's maximum context length is 8000 tokens.",
  } as const;
}

/** What a history is shortened in, where nothing is evaluated. */
export function bareRun(fields: object = {}): Run {
  const race = <T>(work: Promise<T>): Promise<T> => work;
  const resources = { resources: { find: () => undefined } };
  return { redaction: redactionOf(undefined), world: {}, resources, limits: { race }, ...fields } as unknown as Run;
}

/** A tool with results of so many characters. */
export function reader(characters: number) {
  return defineTool({
    name: "read",
    description: "Reads a page.",
    input: z.object({ page: z.number() }),
    readOnly: true,
    execute: ({ page }) => `page ${page} `.padEnd(characters, String(page % 10)),
  });
}

export const calls = (page: number): Answer => ({
  toolCalls: [{ id: `call_${page}`, name: "read", arguments: JSON.stringify({ page }) }],
});

export const context: ContextPolicy = { window: 8_000 };

/** Exchanges of a chat, each about so many characters. */
export function chat(exchanges: number, characters = 1_000): Message[] {
  return Array.from({ length: exchanges }, (_, index): Message[] => [
    { role: "user", text: `Question ${index}: `.padEnd(characters, "q") },
    { role: "assistant", text: `Answer ${index}: `.padEnd(characters, "a"), toolCalls: [] },
  ]).flat();
}

/** Whether the first history is the beginning of the second. */
export function isPrefix(first: readonly Message[], second: readonly Message[]): boolean {
  return first.every((message, place) => JSON.stringify(message) === JSON.stringify(second[place]));
}

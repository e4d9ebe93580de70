import type { ModelFailure, ModelProvider, ModelRequest, ModelResponse, ToolSpec } from "@proviso/core";
import { chatFormat } from "../../src/to-chat.ts";
import { responsesFormat } from "../../src/to-responses.ts";

export const toChat = chatFormat.object;
export const toResponses = responsesFormat.object;

/** A request with one user message, but for what is given. */
export function requestOf(given: Partial<ModelRequest> = {}): ModelRequest {
  return {
    messages: [{ role: "user", text: "Hello" }],
    tools: [],
    toolChoice: undefined,
    output: undefined,
    signal: new AbortController().signal,
    ...given,
  };
}

export const lookUp: ToolSpec = {
  name: "look_up",
  description: "Looks a word up.",
  inputSchema: {
    type: "object",
    properties: { word: { type: "string" } },
    required: ["word"],
    additionalProperties: false,
  },
};

/** A body as its JSON, which is what a server sees. */
export function asSent(body: unknown): Record<string, unknown> {
  return JSON.parse(JSON.stringify(body)) as Record<string, unknown>;
}

export async function failureOf(provider: ModelProvider, given?: Partial<ModelRequest>): Promise<ModelFailure> {
  const answer = await provider.generate(requestOf(given));
  if (answer.failure === undefined) throw new Error(`It answered: ${answer.message.text}`);
  return answer;
}

export function answerOf(answer: ModelResponse | ModelFailure): ModelResponse {
  if (answer.failure !== undefined) throw new Error(`It failed: ${answer.message}`);
  return answer;
}

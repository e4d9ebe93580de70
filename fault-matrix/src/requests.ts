import type { ModelFailure, ModelProvider, ModelRequest, ModelResponse } from "@proviso/core";
import type { ToolSpec } from "@proviso/core/provider";

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

export async function failureOf(provider: ModelProvider, given?: Partial<ModelRequest>): Promise<ModelFailure> {
  const answer = await provider.generate(requestOf(given));
  if (answer.failure === undefined) throw new Error(`It answered: ${answer.message.text}`);
  return answer;
}

export function answerOf(answer: ModelResponse | ModelFailure): ModelResponse {
  if (answer.failure !== undefined) throw new Error(`It failed: ${answer.message}`);
  return answer;
}

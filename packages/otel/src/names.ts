// Every name that leaves the process. All but `proviso.*` are of the GenAI conventions of autumn 2026, which are in
// development: a changed name is a changeset.
import type { FinishReason } from "@proviso/core/provider";

/** Attributes of spans. */
export const attribute = {
  operation: "gen_ai.operation.name",
  agent: "gen_ai.agent.name",
  conversation: "gen_ai.conversation.id",
  session: "session.id",
  provider: "gen_ai.provider.name",
  requestModel: "gen_ai.request.model",
  requestStream: "gen_ai.request.stream",
  prompt: "gen_ai.prompt.name",
  outputType: "gen_ai.output.type",
  responseModel: "gen_ai.response.model",
  finishReasons: "gen_ai.response.finish_reasons",
  firstChunk: "gen_ai.response.time_to_first_chunk",
  inputTokens: "gen_ai.usage.input_tokens",
  outputTokens: "gen_ai.usage.output_tokens",
  cachedTokens: "gen_ai.usage.cache_read.input_tokens",
  cacheWriteTokens: "gen_ai.usage.cache_write.input_tokens",
  reasoningTokens: "gen_ai.usage.reasoning.output_tokens",
  cost: "gen_ai.usage.cost",
  estimated: "proviso.usage.estimated",
  unpricedTokens: "proviso.usage.unpriced_tokens",
  tool: "gen_ai.tool.name",
  toolCall: "gen_ai.tool.call.id",
  toolType: "gen_ai.tool.type",
  outcome: "proviso.tool.outcome",
  suspended: "proviso.run.suspended",
  errorType: "error.type",
  waits: "proviso.throttle.waits",
  waitMs: "proviso.throttle.wait_ms",
  slices: "proviso.slices",
  resources: "proviso.resources",
  system: "gen_ai.system_instructions",
  input: "gen_ai.input.messages",
  output: "gen_ai.output.messages",
  tools: "gen_ai.tool.definitions",
  toolArguments: "gen_ai.tool.call.arguments",
  toolResult: "gen_ai.tool.call.result",
  /** The name of the param follows. */
  variable: "gen_ai.prompt.variable.",
  dropped: "proviso.content.dropped",
} as const;

/** What `gen_ai.operation.name` says; each span begins its name with it. */
export const operation = { agent: "invoke_agent", chat: "chat", tool: "execute_tool" } as const;

/** The name of a tool that a model made up, in span names and metrics: its own word may say anything. */
export const unknownTool = "_OTHER";

/** Events of spans. */
export const spanEvent = { throttled: "proviso.throttled", undone: "proviso.undone" } as const;

export const throttle = {
  attempt: "attempt",
  kind: "kind",
  delayMs: "delay_ms",
  retryAfterMs: "retry_after_ms",
} as const;

export const metric = {
  inferenceSeconds: "gen_ai.client.inference.duration",
  firstChunkSeconds: "gen_ai.client.inference.time_to_first_chunk",
  agentSeconds: "gen_ai.invoke_agent.duration",
  agentInferences: "gen_ai.invoke_agent.inference_calls",
  agentCalls: "gen_ai.invoke_agent.tool_calls",
  toolSeconds: "gen_ai.execute_tool.duration",
  inputTokens: "gen_ai.client.inference.usage.input_tokens",
  outputTokens: "gen_ai.client.inference.usage.output_tokens",
  cachedTokens: "gen_ai.client.inference.usage.cache_read.input_tokens",
  cacheWriteTokens: "gen_ai.client.inference.usage.cache_write.input_tokens",
  reasoningTokens: "gen_ai.client.inference.usage.reasoning.output_tokens",
  cost: "proviso.cost",
  waits: "proviso.throttle.waits",
  undone: "proviso.tool.undone",
} as const;

/** What the conventions call a provider, by the name that it has here. */
const providers: ReadonlyMap<string, string> = /* @__PURE__ */ new Map([
  ["openai", "openai"],
  ["google", "gcp.gemini"],
  ["google.vertex", "gcp.vertex_ai"],
  ["googleVertex", "gcp.vertex_ai"],
  ["vertex", "gcp.vertex_ai"],
  ["azure", "azure.ai.openai"],
  ["amazon-bedrock", "aws.bedrock"],
  ["bedrock", "aws.bedrock"],
  ["bedrock-mantle", "aws.bedrock"],
  ["mistral", "mistral_ai"],
  ["xai", "x_ai"],
  ["anthropic", "anthropic"],
  ["cohere", "cohere"],
  ["deepseek", "deepseek"],
  ["groq", "groq"],
  ["perplexity", "perplexity"],
]);

/**
 * The conventions' name of a provider where they have one, else our own. The longest beginning that is known counts:
 * `google.vertex.chat` is `gcp.vertex_ai`, and `google.generative-ai` is `gcp.gemini`.
 */
export function providerName(name: string): string {
  for (let end = name.length; end > 0; end = name.lastIndexOf(".", end - 1)) {
    const known = providers.get(name.slice(0, end));
    if (known !== undefined) return known;
  }
  return name;
}

const reasons: Readonly<Record<FinishReason, string>> = {
  stop: "stop",
  length: "length",
  "content-filter": "content_filter",
  "tool-calls": "tool_call",
  // The conventions have no word for it.
  paused: "stop",
  other: "error",
};

export function finishReason(reason: FinishReason): string {
  return reasons[reason];
}

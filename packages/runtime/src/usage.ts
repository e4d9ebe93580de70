import { noUsage, type Message, type ReportedUsage, type Usage } from "@proviso/core";

/** Characters of English text and code to a token, roughly. */
const charactersPerToken = 4;

/**
 * What a request cost. A number that is missing, negative or not finite counts as an estimate; zero is zero.
 */
export function usageOf(
  reported: ReportedUsage | undefined,
  sent: readonly Message[],
  answer: Message | undefined,
): Usage {
  const inputTokens = count(reported?.inputTokens);
  const outputTokens = count(reported?.outputTokens);
  const input = inputTokens ?? estimate(sent);
  const output = outputTokens ?? estimate(answer === undefined ? [] : [answer]);
  const total = count(reported?.totalTokens);
  const costUsd = count(reported?.costUsd);
  return {
    ...noUsage,
    inputTokens: input,
    outputTokens: output,
    totalTokens: Math.max(total ?? 0, input + output),
    cachedInputTokens: count(reported?.cachedInputTokens) ?? 0,
    reasoningTokens: count(reported?.reasoningTokens) ?? 0,
    ...(costUsd === undefined ? {} : { costUsd }),
    estimated: inputTokens === undefined || outputTokens === undefined,
  };
}

function count(value: unknown): number | undefined {
  return typeof value === "number" && Number.isFinite(value) && value >= 0 ? value : undefined;
}

function estimate(messages: readonly Message[]): number {
  const characters = messages.reduce((sum, message) => sum + charactersOf(message), 0);
  return Math.ceil(characters / charactersPerToken);
}

function charactersOf(message: Message): number {
  if (message.role !== "assistant") return message.text.length;
  return message.toolCalls.reduce((sum, call) => sum + call.name.length + call.arguments.length, message.text.length);
}

import type { ConformanceAnswer, ConformanceRequest, ConformanceScript } from "@proviso/adapter-kit/conformance";
import { startSimulator, type AnswerStep, type HttpStep, type SimulatedRequest } from "@proviso/simulator";

export interface PlayedScript {
  readonly baseURL: string;
  requests(): readonly ConformanceRequest[];
  awaited(): number;
  close(): Promise<void>;
}

/** The conformance suite's script on the simulator, for adapters of its two APIs. */
export async function playScript(script: ConformanceScript): Promise<PlayedScript> {
  const requests: ConformanceRequest[] = [];
  const steps = script.map((step) => (request: SimulatedRequest) => {
    requests.push(request);
    return "status" in step ? (step satisfies HttpStep) : answerOf(step);
  });
  const simulator = await startSimulator({ steps });
  return {
    baseURL: simulator.baseURL,
    requests: () => requests,
    awaited: () => simulator.awaited,
    close: () => simulator.close(),
  };
}

function answerOf({ usage, finishReason, toolCalls, ...step }: ConformanceAnswer): AnswerStep {
  return {
    ...step,
    toolCalls,
    usage: usage === undefined || usage === null ? usage : usageOf(usage),
    finishReason:
      finishReason === "content-filter" ? "content_filter" : finishReason === "length" ? "length" : undefined,
  };
}

/** By the names of both APIs. */
function usageOf(usage: NonNullable<ConformanceAnswer["usage"]>): NonNullable<AnswerStep["usage"]> {
  const { inputTokens, outputTokens, totalTokens, cachedInputTokens = 0, reasoningTokens = 0 } = usage;
  const input = { cached_tokens: cachedInputTokens };
  const output = { reasoning_tokens: reasoningTokens };
  return {
    input_tokens: inputTokens,
    prompt_tokens: inputTokens,
    output_tokens: outputTokens,
    completion_tokens: outputTokens,
    total_tokens: totalTokens,
    input_tokens_details: input,
    prompt_tokens_details: input,
    output_tokens_details: output,
    completion_tokens_details: output,
  };
}

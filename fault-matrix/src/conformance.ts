import type {
  ConformanceAnswer,
  ConformanceRefusal,
  ConformanceRequest,
  ConformanceScript,
} from "@proviso/adapter-kit/conformance";
import { isRecord } from "@proviso/core/provider";
import { errorStep, startSimulator, type AnswerStep, type HttpStep, type SimulatedRequest } from "@proviso/simulator";

export interface PlayedScript {
  readonly baseURL: string;
  requests(): readonly ConformanceRequest[];
  awaited(): number;
  close(): Promise<void>;
}

/** The conformance suite's script on the simulator, for adapters of all its APIs. */
export async function playScript(script: ConformanceScript): Promise<PlayedScript> {
  const requests: ConformanceRequest[] = [];
  const steps = script.map((step) => (request: SimulatedRequest) => {
    requests.push({ ...request, toolChoice: choiceOf(request.toolChoice) });
    return "status" in step ? refusalOf(step, request) : answerOf(step, request);
  });
  const simulator = await startSimulator({ steps });
  return {
    baseURL: simulator.baseURL,
    requests: () => requests,
    awaited: () => simulator.awaited,
    close: () => simulator.close(),
  };
}

/** A choice of Anthropic's or Gemini's by the suite's words; OpenAI's as it is. */
function choiceOf(choice: unknown): unknown {
  if (!isRecord(choice)) return choice;
  if (choice["type"] === "any") return "required";
  const { mode, allowedFunctionNames: names } = choice;
  if (typeof mode !== "string") return choice;
  if (mode !== "ANY") return mode.toLowerCase();
  return Array.isArray(names) ? { type: "tool", names: names as unknown[] } : "required";
}

/** A refusal as the service of that API writes it; its text is OpenAI's. */
function refusalOf(step: ConformanceRefusal, { api }: SimulatedRequest): HttpStep {
  const { status, headers, body } = step;
  const given = isRecord(body) ? body["error"] : undefined;
  if (api === "responses" || api === "chat" || !isRecord(given)) return step;
  const { message, code } = given as { readonly message: string; readonly code?: string | null };
  return errorStep(api, { ...wordsOf(api, status, message, code), headers });
}

type Told = { readonly status: number; readonly message: string; readonly code?: string | null | undefined };

/** What Anthropic and Gemini have no code for they say in words of their own. */
function wordsOf(api: "anthropic" | "gemini", status: number, message: string, code: string | null | undefined): Told {
  if (code === "context_length_exceeded") {
    return api === "anthropic"
      ? { status, message: "prompt is too long: 210000 tokens > 200000 maximum" }
      : { status, message: "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)." };
  }
  if (code === "insufficient_quota" && api === "anthropic") {
    return { status: 400, message: "Your credit balance is too low to access the Anthropic API." };
  }
  return { status, message, code };
}

function answerOf(
  { usage, finishReason, toolCalls, ...step }: ConformanceAnswer,
  { api }: SimulatedRequest,
): AnswerStep {
  return {
    ...step,
    toolCalls,
    usage: usage === undefined || usage === null ? usage : usages[api](usage),
    finishReason:
      finishReason === "content-filter" ? "content_filter" : finishReason === "length" ? "length" : undefined,
  };
}

type Usage = NonNullable<ConformanceAnswer["usage"]>;
type Counted = NonNullable<AnswerStep["usage"]>;

const usages: { readonly [api in SimulatedRequest["api"]]: (usage: Usage) => Counted } = {
  responses: openaiUsage,
  chat: openaiUsage,
  anthropic: anthropicUsage,
  gemini: geminiUsage,
};

/** Anthropic counts what was read from a cache beside the rest. */
function anthropicUsage({ inputTokens = 0, outputTokens, cachedInputTokens = 0, reasoningTokens = 0 }: Usage): Counted {
  return {
    input_tokens: inputTokens - cachedInputTokens,
    cache_read_input_tokens: cachedInputTokens,
    cache_creation_input_tokens: 0,
    output_tokens: outputTokens,
    output_tokens_details: { thinking_tokens: reasoningTokens },
  };
}

/** Gemini counts thoughts beside the rest. */
function geminiUsage(usage: Usage): Counted {
  const { inputTokens, outputTokens = 0, totalTokens, cachedInputTokens = 0, reasoningTokens = 0 } = usage;
  return {
    promptTokenCount: inputTokens,
    candidatesTokenCount: outputTokens - reasoningTokens,
    thoughtsTokenCount: reasoningTokens,
    cachedContentTokenCount: cachedInputTokens,
    totalTokenCount: totalTokens,
  };
}

/** By the names of both of OpenAI's APIs. */
function openaiUsage(usage: Usage): Counted {
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

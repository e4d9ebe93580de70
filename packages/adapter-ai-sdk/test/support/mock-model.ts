import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4Content,
  LanguageModelV4FinishReason,
  LanguageModelV4GenerateResult,
  LanguageModelV4StreamPart,
  LanguageModelV4Usage,
} from "@ai-sdk/provider";

type Generated = LanguageModelV4GenerateResult;
type Step =
  | Partial<Generated>
  | readonly LanguageModelV4StreamPart[]
  | ReadableStream<LanguageModelV4StreamPart>
  | Error;

export const tokens: LanguageModelV4Usage = {
  inputTokens: { total: 10, noCache: 6, cacheRead: 4, cacheWrite: undefined },
  outputTokens: { total: 5, text: 3, reasoning: 2 },
};

export interface MockModel extends LanguageModelV4 {
  readonly calls: readonly LanguageModelV4CallOptions[];
}

/** A model in process: each request takes the next step, a list of parts for a stream. */
export function mockModel(steps: readonly Step[], provider = "mock.chat"): MockModel {
  const calls: LanguageModelV4CallOptions[] = [];
  const next = (options: LanguageModelV4CallOptions): Exclude<Step, Error> => {
    const step = steps[calls.length];
    calls.push(options);
    if (step === undefined) throw new Error(`No step is left for request ${calls.length}.`);
    if (step instanceof Error) throw step;
    return step;
  };
  return {
    specificationVersion: "v4",
    provider,
    modelId: "mock-1",
    supportedUrls: {},
    calls,
    doGenerate: async (options) => ({ ...plain, ...(next(options) as Partial<Generated>) }),
    doStream: async (options) => {
      const step = next(options);
      return { stream: step instanceof ReadableStream ? step : streamOf(step as LanguageModelV4StreamPart[]) };
    },
  };
}

const plain: Generated = {
  content: [{ type: "text", text: "Hello." }],
  finishReason: finished("stop"),
  usage: tokens,
  warnings: [],
};

export function finished(unified: LanguageModelV4FinishReason["unified"], raw?: string): LanguageModelV4FinishReason {
  return { unified, raw };
}

export function streamOf(parts: readonly LanguageModelV4StreamPart[]): ReadableStream<LanguageModelV4StreamPart> {
  return ReadableStream.from(parts);
}

/** A stream's end as every model tells it. */
export function finish(
  unified: LanguageModelV4FinishReason["unified"] = "stop",
  raw?: string,
): LanguageModelV4StreamPart {
  return { type: "finish", usage: tokens, finishReason: finished(unified, raw) };
}

export function call(toolCallId: string, input: string, more: object = {}): LanguageModelV4Content {
  return { type: "tool-call", toolCallId, toolName: "look_up", input, ...more };
}

import {
  APICallError,
  type LanguageModelV4,
  type LanguageModelV4CallOptions,
  type LanguageModelV4GenerateResult,
  type LanguageModelV4Message,
  type LanguageModelV4StreamPart,
  type LanguageModelV4Usage,
} from "@ai-sdk/provider";
import { systemClock } from "@proviso/core";
import type {
  ConformanceAnswer,
  ConformanceFault,
  ConformanceMessage,
  ConformanceRefusal,
  ConformanceRequest,
  ConformanceScript,
} from "@proviso/adapter-kit/conformance";

/** A model in process that plays the suite's script as a provider package would tell it. */
export function scriptedLanguageModel(script: ConformanceScript): {
  readonly model: LanguageModelV4;
  requests(): readonly ConformanceRequest[];
  awaited(): number;
} {
  const requests: ConformanceRequest[] = [];
  let at = 0;
  let faulted = false;
  let awaited = 0;
  const next = async (options: LanguageModelV4CallOptions, stream: boolean): Promise<ConformanceAnswer> => {
    requests.push(requestOf(options, stream));
    const step = script[at];
    if (step === undefined) throw new Error(`The script has ${script.length} steps.`);
    if ("status" in step) {
      at += 1;
      throw refused(step);
    }
    const { fault } = step;
    const given = shortened(step, options.maxOutputTokens);
    const lasts = fault !== undefined && lasting.has(fault);
    const fails = fault !== undefined && !lasts && !faulted;
    faulted = fails;
    if (!fails) at += 1;
    awaited += 1;
    try {
      if (fails && !(stream && fault === "stream_cut")) await failing(fault, options.abortSignal);
    } finally {
      awaited -= 1;
    }
    return fails || lasts ? given : { ...given, fault: undefined };
  };
  const model: LanguageModelV4 = {
    specificationVersion: "v4",
    provider: "scripted.chat",
    modelId: "scripted-1",
    supportedUrls: {},
    doGenerate: async (options) => resultOf(await next(options, false)),
    async doStream(options) {
      const step = await next(options, true);
      return { stream: ReadableStream.from(partsOf(step, options.abortSignal)) };
    },
  };
  return { model, requests: () => requests, awaited: () => awaited };
}

/** As a service cuts an answer short, with four characters to a token. */
function shortened(step: ConformanceAnswer, maxOutputTokens = Infinity): ConformanceAnswer {
  const { text = "" } = step;
  const most = 4 * maxOutputTokens;
  return text.length <= most ? step : { ...step, text: text.slice(0, most), finishReason: "length" };
}

/** Faults of an answer, which do not come in its place; a wire's own are none here. */
const lasting: ReadonlySet<string> = new Set<ConformanceFault>(["missing_call_id", "unknown_fields", "stream_split"]);
const notOfTheApi: ReadonlySet<string> = new Set<ConformanceFault>(["html", "malformed_json", "wrong_shape"]);

async function failing(fault: string, signal: AbortSignal | undefined): Promise<void> {
  if (fault === "hang")
    return new Promise((_, reject) => signal?.addEventListener("abort", () => reject(signal.reason)));
  if (!notOfTheApi.has(fault)) throw cut();
  throw new APICallError({
    message: "Invalid JSON response",
    url: "http://scripted",
    requestBodyValues: {},
    statusCode: 200,
    responseBody: "<html>",
    isRetryable: false,
  });
}

/** As a socket tells it, below what fetch throws. */
function cut(): TypeError {
  return new TypeError("fetch failed", { cause: Object.assign(new Error("read ECONNRESET"), { code: "ECONNRESET" }) });
}

function refused({ status, headers = {}, body }: ConformanceRefusal): APICallError {
  const message = (body as { readonly error?: { readonly message?: string } } | undefined)?.error?.message;
  return new APICallError({
    message: message ?? `Status ${status}`,
    url: "http://scripted",
    requestBodyValues: {},
    statusCode: status,
    responseHeaders: headers,
    responseBody: JSON.stringify(body ?? {}),
    data: body,
  });
}

function resultOf(step: ConformanceAnswer): LanguageModelV4GenerateResult {
  const text = step.refusal ?? step.text ?? (step.output === undefined ? "" : JSON.stringify(step.output));
  const calls = (step.toolCalls ?? []).map(({ id, name, arguments: given = {} }) => ({
    type: "tool-call" as const,
    toolCallId: step.fault === "missing_call_id" ? "" : id,
    toolName: name,
    input: typeof given === "string" ? given : JSON.stringify(given),
  }));
  // The ecosystem tells a refusal as text, with a filter's finish reason.
  const finish = step.finishReason === "paused" ? "stop" : step.finishReason;
  const own = step.finishReason === "paused" ? "pause_turn" : finish;
  const [reason, raw] = step.refusal === undefined ? [finish, own] : (["content-filter", "refusal"] as const);
  return {
    content: [
      ...(step.reasoning === undefined ? [] : [{ type: "reasoning" as const, text: step.reasoning }]),
      ...(text === "" ? [] : [{ type: "text" as const, text }]),
      ...calls,
    ],
    finishReason: { unified: reason ?? (calls.length > 0 ? "tool-calls" : "stop"), raw },
    usage: usageOf(step.usage),
    warnings: [],
  };
}

function usageOf(usage: ConformanceAnswer["usage"]): LanguageModelV4Usage {
  const { inputTokens: input, outputTokens: output, cachedInputTokens, reasoningTokens } = usage ?? {};
  return {
    inputTokens: { total: input, noCache: undefined, cacheRead: cachedInputTokens, cacheWrite: undefined },
    outputTokens: { total: output, text: undefined, reasoning: reasoningTokens },
  };
}

async function* partsOf(
  step: ConformanceAnswer,
  signal: AbortSignal | undefined,
): AsyncGenerator<LanguageModelV4StreamPart> {
  const { content, finishReason, usage, warnings } = resultOf(step);
  yield { type: "stream-start", warnings };
  for (const [index, part] of content.entries()) {
    const id = String(index);
    if (part.type === "tool-call") yield part;
    if (part.type !== "text" && part.type !== "reasoning") continue;
    yield { type: `${part.type}-start`, id };
    // By UTF-16 units, so that a pair is cut too.
    for (let from = 0; from < part.text.length; from += 15) {
      if (step.eventMs !== undefined) await systemClock.sleep(step.eventMs, signal);
      yield { type: `${part.type}-delta`, id, delta: part.text.slice(from, from + 15) };
      if (step.fault === "stream_cut" && from > 15) return;
    }
    yield { type: `${part.type}-end`, id };
  }
  yield { type: "finish", usage, finishReason };
}

function requestOf(options: LanguageModelV4CallOptions, stream: boolean): ConformanceRequest {
  const { prompt, toolChoice, responseFormat, abortSignal: _, includeRawChunks: __, ...rest } = options;
  return {
    messages: prompt.flatMap(messagesOf),
    toolChoice: toolChoice?.type === "tool" ? toolChoice.toolName : toolChoice?.type,
    output: responseFormat?.type === "json" ? responseFormat.schema : undefined,
    body: structuredClone({ ...rest, prompt, ...(stream ? { stream } : {}) }),
  };
}

function messagesOf(message: LanguageModelV4Message): readonly ConformanceMessage[] {
  if (message.role === "system") return [{ role: "system", text: message.content }];
  const text = message.content.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("");
  if (message.role === "user") return [{ role: "user", text }];
  if (message.role === "tool") {
    return message.content.flatMap((part) => {
      if (part.type !== "tool-result") return [];
      const { output } = part;
      return [
        {
          role: "tool",
          callId: part.toolCallId,
          text: "value" in output && typeof output.value === "string" ? output.value : "",
        },
      ];
    });
  }
  const toolCalls = message.content.flatMap((part) => {
    if (part.type !== "tool-call") return [];
    const given = typeof part.input === "string" ? part.input : JSON.stringify(part.input);
    return [{ id: part.toolCallId, name: part.toolName, arguments: given }];
  });
  return [{ role: "assistant", text, toolCalls }];
}

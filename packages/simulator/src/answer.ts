import { answerText, withinLimit } from "./output-limit.ts";
import { isObject, type AnswerStep, type JsonObject, type SimulatedCall, type SimulatedRequest } from "./types.ts";

/** Numbers ids, so that the same requests give the same answers. */
export interface Ids {
  next(prefix: string): string;
}

export function countingIds(): Ids {
  let count = 0;
  const number = (): string => String(++count).padStart(6, "0");
  return { next: (prefix) => `${prefix}${prefix === "chatcmpl" ? "-" : "_"}sim_${number()}` };
}

interface Tokens {
  readonly input: number;
  readonly output: number;
  readonly reasoning: number;
}

/** Four characters to a token, of the text that was really sent. */
function countTokens(request: SimulatedRequest, step: AnswerStep, calls: readonly SimulatedCall[]): Tokens {
  const sent = [request.messages, request.tools, request.output?.schema ?? ""].map(
    (part) => JSON.stringify(part).length,
  );
  const system = request.messages.some(({ role }) => role === "system") ? 0 : request.system.length;
  const reasoning = Math.ceil((step.reasoning ?? "").length / 4);
  const answered =
    answerText(step).length + calls.reduce((sum, call) => sum + call.name.length + call.arguments.length, 0);
  return {
    input: Math.ceil((sent.reduce((a, b) => a + b, 0) + system) / 4),
    output: Math.max(1, Math.ceil(answered / 4)) + reasoning,
    reasoning,
  };
}

/** Returns the calls of an answer. Their ids are none of the conversation's, which may have begun with another simulator. */
export function answerCalls(
  step: AnswerStep,
  request: SimulatedRequest,
  ids: Ids,
  prefix = "call",
): readonly SimulatedCall[] {
  if (step.toolCalls === undefined) return [];
  const taken = new Set(request.messages.flatMap(({ toolCalls }) => toolCalls.map(({ id }) => id)));
  const free = (): string => {
    for (;;) {
      const id = ids.next(prefix);
      if (!taken.has(id)) return id;
    }
  };
  return step.toolCalls.map(({ name, id, arguments: given = {} }) => ({
    id: id ?? free(),
    name,
    arguments: typeof given === "string" ? given : JSON.stringify(given),
  }));
}

export function responsesAnswer(request: SimulatedRequest, given: AnswerStep, ids: Ids, createdAt: number): JsonObject {
  const { step, calls } = withinLimit(request, given, answerCalls(given, request, ids));
  const { input, output, reasoning } = countTokens(request, step, calls);
  const unfinished = { length: "max_output_tokens", content_filter: "content_filter" } as const;
  const reason =
    step.finishReason === undefined || step.finishReason === "stop" ? undefined : unfinished[step.finishReason];
  const status = reason === undefined ? "completed" : "incomplete";
  const { body } = request;
  return {
    id: ids.next("resp"),
    object: "response",
    created_at: createdAt,
    status,
    background: false,
    error: null,
    incomplete_details: reason === undefined ? null : { reason },
    instructions: body["instructions"] ?? null,
    max_output_tokens: body["max_output_tokens"] ?? null,
    max_tool_calls: body["max_tool_calls"] ?? null,
    model: request.model,
    output: responsesItems(step, calls, { status, encrypted: wantsEncrypted(body), summary: wantsSummary(body) }, ids),
    parallel_tool_calls: body["parallel_tool_calls"] ?? true,
    previous_response_id: null,
    reasoning: body["reasoning"] ?? { effort: null, summary: null },
    service_tier: body["service_tier"] ?? "default",
    store: body["store"] ?? true,
    temperature: body["temperature"] ?? 1,
    text: body["text"] ?? { format: { type: "text" } },
    tool_choice: body["tool_choice"] ?? "auto",
    tools: body["tools"] ?? [],
    top_p: body["top_p"] ?? 1,
    truncation: body["truncation"] ?? "disabled",
    ...(step.usage === null
      ? {}
      : {
          usage: {
            input_tokens: input,
            input_tokens_details: { cached_tokens: 0 },
            output_tokens: output,
            output_tokens_details: { reasoning_tokens: reasoning },
            total_tokens: input + output,
            ...step.usage,
          },
        }),
    user: body["user"] ?? null,
    metadata: body["metadata"] ?? {},
  };
}

function wantsEncrypted({ include }: JsonObject): boolean {
  return Array.isArray(include) && include.includes("reasoning.encrypted_content");
}

function wantsSummary({ reasoning }: JsonObject): boolean {
  const summary = isObject(reasoning) ? reasoning["summary"] : undefined;
  return typeof summary === "string" && summary !== "none";
}

function responsesItems(
  step: AnswerStep,
  calls: readonly SimulatedCall[],
  { status, encrypted, summary }: { readonly status: string; readonly encrypted: boolean; readonly summary: boolean },
  ids: Ids,
): readonly JsonObject[] {
  const text = answerText(step);
  const content: readonly JsonObject[] = [
    ...(text === "" ? [] : [{ type: "output_text", text, annotations: [], logprobs: [] }]),
    ...(step.refusal === undefined ? [] : [{ type: "refusal", refusal: step.refusal }]),
  ];
  return [
    ...(step.reasoning === undefined
      ? []
      : [
          {
            id: ids.next("rs"),
            type: "reasoning",
            summary: summary ? [{ type: "summary_text", text: step.reasoning }] : [],
            ...(encrypted ? { encrypted_content: Buffer.from(step.reasoning).toString("base64") } : {}),
          },
        ]),
    ...(content.length === 0 ? [] : [{ id: ids.next("msg"), type: "message", status, role: "assistant", content }]),
    ...calls.map(({ id, name, arguments: given }) => ({
      id: ids.next("fc"),
      type: "function_call",
      status: "completed",
      call_id: id,
      name,
      arguments: given,
    })),
  ];
}

export function chatAnswer(request: SimulatedRequest, given: AnswerStep, ids: Ids, createdAt: number): JsonObject {
  const { step, calls } = withinLimit(request, given, answerCalls(given, request, ids));
  const { input, output, reasoning } = countTokens(request, step, calls);
  const text = answerText(step);
  const message = {
    role: "assistant",
    content: text === "" ? null : text,
    refusal: step.refusal ?? null,
    annotations: [],
    ...(calls.length === 0
      ? {}
      : {
          tool_calls: calls.map(({ id, name, arguments: given }) => ({
            id,
            type: "function",
            function: { name, arguments: given },
          })),
        }),
  };
  return {
    id: ids.next("chatcmpl"),
    object: "chat.completion",
    created: createdAt,
    model: request.model,
    choices: [
      {
        index: 0,
        message,
        logprobs: null,
        // The service ends a call that was forced by its name with "stop", one of "required" with "tool_calls".
        finish_reason: step.finishReason ?? (calls.length > 0 && !isObject(request.toolChoice) ? "tool_calls" : "stop"),
      },
    ],
    ...(step.usage === null
      ? {}
      : {
          usage: {
            prompt_tokens: input,
            completion_tokens: output,
            total_tokens: input + output,
            prompt_tokens_details: { cached_tokens: 0, audio_tokens: 0 },
            completion_tokens_details: { reasoning_tokens: reasoning, audio_tokens: 0 },
            ...step.usage,
          },
        }),
    service_tier: request.body["service_tier"] ?? "default",
    system_fingerprint: "fp_simulator",
  };
}

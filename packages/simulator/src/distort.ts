import { distortedCandidates, distortedMessage } from "./distort-dialects.ts";
import { isObject, itemsOf, type AnswerStep, type Api, type JsonObject } from "./types.ts";

/** Changes a step as a "calls" fault does, or as a fault that is an answer of the model itself. */
export function distortedStep(step: AnswerStep, name: string): AnswerStep {
  switch (name) {
    case "refusal":
      return { refusal: "I cannot help with that.", usage: step.usage };
    case "content_filter":
      return { ...step, finishReason: "content_filter" };
    case "cut_by_length":
      return { ...step, finishReason: "length" };
    case "cut_in_arguments":
      return {
        ...withCalls(step, (call) => ({ ...call, arguments: textOf(call).slice(0, -1) })),
        finishReason: "length",
      };
    case "null_content":
      return { usage: step.usage, text: "" };
    case "reasoning_only":
      return { usage: step.usage, reasoning: "Hm." };
    case "usage_missing":
      return { ...step, usage: null };
    case "unknown_tool":
      return withCalls(step, (call) => ({ ...call, name: `${call.name}_2` }));
    case "wrong_case_tool":
      return withCalls(step, (call) => ({ ...call, name: call.name.toUpperCase() }));
    case "duplicate_call_ids":
      return { ...step, toolCalls: (step.toolCalls ?? []).flatMap((call) => [twin(call), twin(call)]) };
    case "many_calls":
      return { ...step, toolCalls: (step.toolCalls ?? []).flatMap((call) => Array.from({ length: 500 }, () => call)) };
    default: {
      const given = oddArguments(name);
      return given === undefined ? step : withCalls(step, (call) => ({ ...call, arguments: given(textOf(call)) }));
    }
  }
}

type Call = NonNullable<AnswerStep["toolCalls"]>[number];

const twin = (call: Call): Call => ({ ...call, id: "call_twin" });

function textOf({ arguments: given = {} }: Call): string {
  return typeof given === "string" ? given : JSON.stringify(given);
}

function withCalls(step: AnswerStep, change: (call: Call) => Call): AnswerStep {
  return step.toolCalls === undefined ? step : { ...step, toolCalls: step.toolCalls.map(change) };
}

function oddArguments(name: string): ((text: string) => string) | undefined {
  switch (name) {
    case "arguments_not_json":
      return (text) => text.replace(/^\{/, "{{");
    case "arguments_list":
      return (text) => `[${text}]`;
    case "arguments_text":
      return () => '"do it"';
    case "arguments_encoded_twice":
      return (text) => JSON.stringify(text);
    case "arguments_fenced":
      return (text) => `\`\`\`json\n${text}\n\`\`\``;
    case "arguments_proto":
      return () => '{"__proto__":{"polluted":true}}';
    case "arguments_huge":
      return () => JSON.stringify({ huge: "x".repeat(2 * 1024 * 1024) });
    case "arguments_deep":
      return () => `{"deep":${"[".repeat(20_000)}${"]".repeat(20_000)}}`;
    case "arguments_surrogates":
      return () => '{"odd":"\\ud800 \\udc00"}';
    default:
      return undefined;
  }
}

/** The answer's body as an "answer" fault has it. */
export function distortedBody(api: Api, body: JsonObject, name: string): JsonObject {
  const key = api === "gemini" ? "usageMetadata" : "usage";
  const usage = body[key];
  switch (name) {
    case "usage_null":
      return { ...body, [key]: null };
    case "usage_strings":
      return { ...body, [key]: mapNumbers(usage, (count) => String(count)) };
    case "usage_negative":
      return { ...body, [key]: mapNumbers(usage, (count) => -count - 1) };
    case "unknown_fields":
      return {
        ...body,
        brand_new: { nested: [1, 2] },
        ...(isObject(usage) ? { [key]: { ...usage, brand_new: 1 } } : {}),
      };
    default:
      return ofApi[api](body, name);
  }
}

const ofApi: { readonly [api in Api]: (body: JsonObject, name: string) => JsonObject } = {
  responses: (body, name) => ofOpenAI("responses", body, name),
  chat: (body, name) => ofOpenAI("chat", body, name),
  anthropic: distortedMessage,
  gemini: distortedCandidates,
};

function ofOpenAI(api: "responses" | "chat", body: JsonObject, name: string): JsonObject {
  switch (name) {
    case "no_output":
      return api === "responses" ? { ...body, output: [] } : { ...body, choices: [] };
    case "arguments_null":
      return mapCalls(api, body, (call) => ({ ...call, arguments: null }));
    case "missing_call_id":
      return mapCalls(api, body, ({ call_id: _, id: __, ...call }) => call);
    default:
      return api === "responses" ? distortedResponse(body, name) : distortedCompletion(body, name);
  }
}

function distortedResponse(body: JsonObject, name: string): JsonObject {
  const output = itemsOf(body["output"]);
  switch (name) {
    case "two_messages": {
      const content = [{ type: "output_text", text: "First of all.", annotations: [], logprobs: [] }];
      const first = { id: "msg_first", type: "message", status: "completed", role: "assistant", content };
      return output.some(({ type }) => type === "message") ? { ...body, output: [first, ...output] } : body;
    }
    case "unknown_items": {
      const strange = { id: "x_1", type: "brand_new_item", status: "completed", content: [{ type: "brand_new_part" }] };
      const parts = output.map((item) =>
        item["type"] === "message"
          ? { ...item, content: [{ type: "brand_new_part" }, ...itemsOf(item["content"])] }
          : item,
      );
      return { ...body, output: [strange, ...parts] };
    }
    case "status_failed": {
      const error = { code: "server_error", message: "The model failed to answer." };
      return { ...body, status: "failed", output: [], error };
    }
    case "status_in_progress":
      return { ...body, status: "in_progress" };
    case "status_cancelled":
      return { ...body, status: "cancelled", output: [] };
    default:
      return body;
  }
}

function distortedCompletion(body: JsonObject, name: string): JsonObject {
  if (name !== "unknown_items") return body;
  const choices = itemsOf(body["choices"]).map((choice) => {
    const message = isObject(choice["message"]) ? choice["message"] : {};
    return { ...choice, message: { ...message, brand_new: [{ type: "brand_new_part" }] }, brand_new: true };
  });
  return { ...body, choices };
}

function mapNumbers(value: unknown, change: (count: number) => unknown): unknown {
  if (typeof value === "number") return change(value);
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, mapNumbers(item, change)]));
}

function mapCalls(api: "responses" | "chat", body: JsonObject, change: (call: JsonObject) => JsonObject): JsonObject {
  if (api === "responses") {
    const output = itemsOf(body["output"]).map((item) => (item["type"] === "function_call" ? change(item) : item));
    return { ...body, output };
  }
  const choices = itemsOf(body["choices"]).map((choice) => {
    const message = isObject(choice["message"]) ? choice["message"] : {};
    const calls = message["tool_calls"];
    if (!Array.isArray(calls)) return choice;
    const changed = itemsOf(calls).map((call) => {
      // The name and the arguments lie one level down here.
      const { id, type, ...given } = change({ ...call, ...(isObject(call["function"]) ? call["function"] : {}) });
      const { function: _, ...named } = given;
      return { ...(id === undefined ? {} : { id }), type, function: named };
    });
    return { ...choice, message: { ...message, tool_calls: changed } };
  });
  return { ...body, choices };
}

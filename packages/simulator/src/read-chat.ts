import {
  checkFormat,
  checkFull,
  checkKeys,
  checkMaxTokens,
  checkName,
  checkNumbers,
  checkSupported,
  checkTools,
  listAt,
  objectAt,
  textAt,
  words,
} from "./check.ts";
import { checkSchema } from "./check-schema.ts";
import { badRequest, invalidType } from "./refusal.ts";
import { readParts, type ReadContent } from "./read-files.ts";
import type { ReadRequest } from "./read.ts";
import { isObject, type JsonObject, type SimulatedCall, type SimulatedMessage, type SimulatedTool } from "./types.ts";

// Source: OpenAI API reference, "Create chat completion".
const known = words(
  "audio frequency_penalty function_call functions logit_bias logprobs max_completion_tokens max_tokens messages metadata " +
    "modalities model n parallel_tool_calls prediction presence_penalty prompt_cache_key prompt_cache_options prompt_cache_retention " +
    "reasoning_effort response_format safety_identifier seed service_tier stop store stream stream_options temperature " +
    "tool_choice tools top_logprobs top_p user verbosity web_search_options",
);
const messageKeys: ReadonlyMap<string, ReadonlySet<string>> = new Map([
  ["system", words("role content name")],
  ["developer", words("role content name")],
  ["user", words("role content name")],
  ["assistant", words("role content name refusal tool_calls audio function_call")],
  ["tool", words("role content tool_call_id")],
]);

/** @throws {Refusal} for what the real service would refuse. */
export function readChat(body: JsonObject): ReadRequest {
  checkKeys(body, known);
  textAt(body, "model");
  checkSupported(body, { n: [1], functions: [], function_call: [], audio: [] });
  checkNumbers(body);
  checkMaxTokens(body, "max_completion_tokens", 1);
  checkMaxTokens(body, "max_tokens", 1);
  const given = listAt(body, "messages");
  checkFull(given, "messages");
  const messages = readMessages(given);
  const tools = readTools(body);
  checkTools(tools, body["tool_choice"], "function.name");
  checkFormat(body["response_format"], "response_format", "messages", given);
  const system = messages.filter(({ role }) => role === "system").map(({ text }) => text);
  return {
    messages,
    tools,
    system: system.join("\n\n"),
    toolChoice: body["tool_choice"],
    output: readFormat(body["response_format"]),
  };
}

function readTools(body: JsonObject): readonly SimulatedTool[] {
  if (body["tools"] === undefined) return [];
  const tools = listAt(body, "tools");
  checkFull(tools, "tools");
  return tools.map(readTool);
}

function readMessages(given: readonly unknown[]): readonly SimulatedMessage[] {
  let open = new Set<string>();
  const refuseOpen = (): void => {
    if (open.size === 0) return;
    throw badRequest(
      "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. " +
        `The following tool_call_ids did not have response messages: ${[...open].join(", ")}`,
      "messages",
    );
  };
  const messages = given.map((item, index) => {
    const path = `messages[${index}]`;
    const message = readMessage(objectAt(item, path), path);
    if (message.role === "tool") {
      if (!open.delete(message.callId ?? "")) {
        throw badRequest(
          "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.",
          `${path}.role`,
        );
      }
    } else refuseOpen();
    if (message.role === "assistant") open = new Set(message.toolCalls.map(({ id }) => id));
    return message;
  });
  refuseOpen();
  return messages;
}

function readMessage(message: JsonObject, path: string): SimulatedMessage {
  const role = textAt(message, "role", `${path}.`);
  const keys = messageKeys.get(role);
  if (keys === undefined)
    throw badRequest(
      `Invalid value: '${role}'. Supported values are: ${[...messageKeys.keys()].join(", ")}.`,
      `${path}.role`,
      "invalid_value",
    );
  // OpenAI knows no `cache_control`; proxies of its wire, LiteLLM and OpenRouter, pass it on to Anthropic.
  const { cache_control: _, ...known } = message;
  checkKeys(known, keys, `${path}.`);
  const calls = message["tool_calls"] === undefined ? [] : listAt(message, "tool_calls", `${path}.`);
  if (message["tool_calls"] !== undefined) checkFull(calls, `${path}.tool_calls`);
  const toolCalls = calls.map((call, index) => readCall(call, `${path}.tool_calls[${index}]`));
  const mayBeEmpty = role === "assistant" && (toolCalls.length > 0 || typeof message["refusal"] === "string");
  const { content } = message;
  const isEmpty = (content === null || content === undefined) && mayBeEmpty;
  const read = isEmpty ? { text: "" } : readContent(content, `${path}.content`);
  if (read.files !== undefined && role !== "user") {
    throw badRequest(`Only messages of the role 'user' can hold files, not '${role}'.`, `${path}.content`);
  }
  if (role === "tool") return { role, ...read, toolCalls: [], callId: textAt(message, "tool_call_id", `${path}.`) };
  return { role: role === "developer" ? "system" : (role as SimulatedMessage["role"]), ...read, toolCalls };
}

function readCall(call: unknown, path: string): SimulatedCall {
  const given = objectAt(call, path);
  const fn = objectAt(given["function"], `${path}.function`);
  return {
    id: textAt(given, "id", `${path}.`),
    name: textAt(fn, "name", `${path}.function.`),
    arguments: textAt(fn, "arguments", `${path}.function.`),
  };
}

function readContent(content: unknown, path: string): ReadContent {
  if (typeof content === "string") return { text: content };
  if (!Array.isArray(content)) throw invalidType(path, "a string or an array of objects", content);
  return readParts(content, path, (part, at) => textAt(part, "text", `${at}.`));
}

const functionKeys = words("name description parameters strict");

function readTool(tool: unknown, index: number): SimulatedTool {
  const path = `tools[${index}]`;
  const given = objectAt(tool, path);
  checkKeys(given, words("type function"), `${path}.`);
  const fn = objectAt(given["function"], `${path}.function`);
  checkKeys(fn, functionKeys, `${path}.function.`);
  return {
    name: textAt(fn, "name", `${path}.function.`),
    description: typeof fn["description"] === "string" ? fn["description"] : "",
    parameters: isObject(fn["parameters"]) ? fn["parameters"] : {},
    strict: fn["strict"] === true,
  };
}

function readFormat(format: unknown): ReadRequest["output"] {
  if (!isObject(format) || format["type"] !== "json_schema") return undefined;
  const given = objectAt(format["json_schema"], "response_format.json_schema");
  checkKeys(given, functionFormatKeys, "response_format.json_schema.");
  const name = textAt(given, "name", "response_format.json_schema.");
  checkName(name, "response_format.json_schema.name");
  const schema = objectAt(given["schema"], "response_format.json_schema.schema");
  const strict = given["strict"] === true;
  checkSchema({ schema, strict }, `response_format '${name}'`, "response_format");
  return { name, schema, strict };
}

const functionFormatKeys = words("name description schema strict");

import {
  checkFormat,
  checkKeys,
  checkLength,
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
import { badRequest, invalidType, missingParameter, Refusal } from "./refusal.ts";
import { isObject, type JsonObject, type SimulatedMessage, type SimulatedTool } from "./types.ts";
import { readParts, type ReadContent } from "./read-files.ts";
import type { ItemsOfAccount } from "./kept-items.ts";
import { isSearch } from "./search.ts";
import type { ReadRequest } from "./read.ts";

// Source: OpenAI API reference, "Create a model response".
const known = words(
  "background context_management conversation include input instructions max_output_tokens max_tool_calls metadata model " +
    "parallel_tool_calls previous_response_id prompt prompt_cache_key prompt_cache_options prompt_cache_retention reasoning safety_identifier " +
    "service_tier store stream stream_options temperature text tool_choice tools top_logprobs top_p truncation user",
);
const itemKeys: ReadonlyMap<string, ReadonlySet<string>> = new Map([
  ["message", words("type role content id status phase")],
  ["function_call", words("type call_id name arguments id status namespace")],
  ["function_call_output", words("type call_id output id status")],
  ["reasoning", words("type id summary content encrypted_content status")],
  ["web_search_call", words("type id status action")],
  ["item_reference", words("type id")],
]);

/** @throws {Refusal} for what the real service would refuse. */
export function readResponses(body: JsonObject, kept: ItemsOfAccount): ReadRequest {
  checkKeys(body, known);
  textAt(body, "model");
  if (body["input"] === undefined) throw missingParameter("input");
  checkSupported(body, { background: [false], conversation: [], prompt: [] });
  checkNumbers(body);
  checkMaxTokens(body, "max_output_tokens", 16);
  checkPrevious(body["previous_response_id"]);
  const input = typeof body["input"] === "string" ? [{ role: "user", content: body["input"] }] : listAt(body, "input");
  const items = input
    .map((item, index) => objectAt(item, `input[${index}]`))
    .map((item) => (item["type"] === "item_reference" ? (kept.find(item["id"]) ?? item) : item));
  checkKept(items, kept, body["store"] !== false);
  const messages = readItems(items);
  const tools = (body["tools"] === undefined ? [] : listAt(body, "tools")).flatMap(readTool);
  checkTools(tools, body["tool_choice"], "name");
  checkFormat(isObject(body["text"]) ? body["text"]["format"] : undefined, "text.format", "input", body["input"]);
  const instructions = typeof body["instructions"] === "string" ? [body["instructions"]] : [];
  const system = [...instructions, ...messages.filter(({ role }) => role === "system").map(({ text }) => text)];
  return {
    messages,
    tools,
    system: system.join("\n\n"),
    toolChoice: body["tool_choice"],
    output: readFormat(body["text"]),
  };
}

/** Nothing is kept from request to request. */
function checkPrevious(id: unknown): void {
  if (id === undefined || id === null) return;
  if (typeof id !== "string") throw invalidType("previous_response_id", "a string", id);
  throw badRequest(
    `Previous response with id '${id}' not found.`,
    "previous_response_id",
    "previous_response_not_found",
  );
}

/**
 * Items that are only named, and that no answer to this account had: references, and reasoning that does not come
 * encrypted. With `store: false` none is looked up. Source: https://github.com/openclaw/openclaw/issues/21782.
 */
function checkKept(items: readonly JsonObject[], kept: ItemsOfAccount, stored: boolean): void {
  const missing = items.find(
    ({ type, id, encrypted_content: encrypted }) =>
      type === "item_reference" ||
      (type === "reasoning" && typeof encrypted !== "string" && !(stored && kept.find(id) !== undefined)),
  );
  if (missing === undefined) return;
  const hint = stored ? "" : " Items are not persisted when `store` is set to false.";
  throw new Refusal(404, `Item with id '${String(missing["id"])}' not found.${hint}`, { param: "input" });
}

const idPrefixes: ReadonlyMap<string, string> = new Map([
  ["message", "msg"],
  ["function_call", "fc"],
  ["reasoning", "rs"],
  ["web_search_call", "ws"],
]);

function checkId(type: string, id: unknown, param: string): void {
  const prefix = idPrefixes.get(type);
  if (prefix === undefined || id === undefined || id === null) return;
  if (typeof id !== "string") throw invalidType(param, "a string", id);
  if (id.startsWith(prefix)) return;
  throw badRequest(`Invalid '${param}': '${id}'. Expected an ID that begins with '${prefix}'.`, param, "invalid_value");
}

function readItems(items: readonly JsonObject[]): readonly SimulatedMessage[] {
  const open = new Map<string, string>();
  const answered = new Set<string>();
  const messages = items.flatMap((item, index): readonly SimulatedMessage[] => {
    const path = `input[${index}].`;
    const type = typeof item["type"] === "string" ? item["type"] : "message";
    const keys = itemKeys.get(type);
    if (keys === undefined)
      throw badRequest(
        `Invalid value: '${type}'. Supported values are: ${[...itemKeys.keys()].join(", ")}.`,
        `${path}type`,
        "invalid_value",
      );
    checkKeys(item, keys, path);
    checkId(type, item["id"], `${path}id`);
    if (type === "function_call") return [readCall(item, path, open, answered)];
    if (type === "function_call_output") return [readOutput(item, path, open, answered)];
    if (type === "message") return [readMessage(item, path)];
    const next = items[index + 1];
    if (
      type === "reasoning" &&
      (next === undefined || next["type"] === "function_call_output" || next["role"] === "user")
    ) {
      throw badRequest(
        `Item '${String(item["id"])}' of type 'reasoning' was provided without its required following item.`,
        "input",
      );
    }
    return [];
  });
  const [orphan] = open.keys();
  if (orphan !== undefined) throw badRequest(`No tool output found for function call ${orphan}.`, "input");
  return joined(messages);
}

/** Makes one message of an answer's items: calls come after its text, or beside each other. */
function joined(messages: readonly SimulatedMessage[]): readonly SimulatedMessage[] {
  const answers: SimulatedMessage[] = [];
  for (const next of messages) {
    const last = answers.at(-1);
    const isOne = last?.role === "assistant" && next.role === "assistant" && next.text === "";
    if (isOne) answers[answers.length - 1] = { ...last, toolCalls: [...last.toolCalls, ...next.toolCalls] };
    else answers.push(next);
  }
  return answers;
}

function readCall(
  item: JsonObject,
  path: string,
  open: Map<string, string>,
  answered: ReadonlySet<string>,
): SimulatedMessage {
  const id = textAt(item, "call_id", path);
  checkLength(id, `${path}call_id`);
  const name = textAt(item, "name", path);
  if (open.has(id) || answered.has(id)) throw badRequest(`Duplicate function call id: ${id}.`, "input");
  open.set(id, name);
  return { role: "assistant", text: "", toolCalls: [{ id, name, arguments: textAt(item, "arguments", path) }] };
}

function readOutput(
  item: JsonObject,
  path: string,
  open: Map<string, string>,
  answered: Set<string>,
): SimulatedMessage {
  const callId = textAt(item, "call_id", path);
  if (!open.delete(callId)) {
    throw badRequest(`No tool call found for function call output with call_id ${callId}.`, "input");
  }
  answered.add(callId);
  return { role: "tool", ...readContent(item["output"], `${path}output`), toolCalls: [], callId };
}

function readMessage(item: JsonObject, path: string): SimulatedMessage {
  const role = textAt(item, "role", path);
  if (!["system", "developer", "user", "assistant"].includes(role)) {
    throw badRequest(
      `Invalid value: '${role}'. Supported values are: 'system', 'developer', 'user', and 'assistant'.`,
      `${path}role`,
      "invalid_value",
    );
  }
  const read = readContent(item["content"], `${path}content`);
  if (read.files !== undefined && role === "assistant") {
    throw badRequest("Messages of the role 'assistant' hold no files.", `${path}content`);
  }
  return { role: role === "developer" ? "system" : (role as SimulatedMessage["role"]), ...read, toolCalls: [] };
}

function readContent(content: unknown, path: string): ReadContent {
  if (typeof content === "string") return { text: content };
  if (!Array.isArray(content)) throw invalidType(path, "a string or an array", content);
  return readParts(content, path, (part, at) => {
    const text = part["text"] ?? part["refusal"];
    if (typeof text !== "string") throw invalidType(`${at}.text`, "a string", text);
    return text;
  });
}

const toolKeys = words("type name description parameters strict defer_loading");

const searchKeys = words("type filters search_context_size user_location external_web_access search_content_types");

function readTool(tool: unknown, index: number): readonly SimulatedTool[] {
  const path = `tools[${index}].`;
  const given = objectAt(tool, `tools[${index}]`);
  if (isSearch("responses", given["type"])) {
    checkKeys(given, searchKeys, path);
    return [];
  }
  if (given["type"] !== "function")
    throw badRequest(
      `Invalid value: '${String(given["type"])}'. The simulator has function tools and the search only.`,
      `${path}type`,
      "invalid_value",
    );
  if (given["function"] !== undefined) throw missingParameter(`${path}name`);
  checkKeys(given, toolKeys, path);
  return [
    {
      name: textAt(given, "name", path),
      description: typeof given["description"] === "string" ? given["description"] : "",
      parameters: isObject(given["parameters"]) ? given["parameters"] : {},
      strict: given["strict"] !== false,
    },
  ];
}

const formatKeys = words("type name description schema strict");

function readFormat(text: unknown): ReadRequest["output"] {
  const format = isObject(text) ? text["format"] : undefined;
  if (!isObject(format) || format["type"] !== "json_schema") return undefined;
  checkKeys(format, formatKeys, "text.format.");
  const name = textAt(format, "name", "text.format.");
  checkName(name, "text.format.name");
  const schema = objectAt(format["schema"], "text.format.schema");
  const strict = format["strict"] === true;
  checkSchema({ schema, strict }, `response_format '${name}'`, "text.format.schema");
  return { name, schema, strict };
}

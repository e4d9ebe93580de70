import { aList, anObject, at, aText, checkClosed, known, refuse, within } from "./check-anthropic.ts";
import { words } from "./check.ts";
import { notSupported } from "./refusal.ts";
import { checkText, readAnthropicMessages, textOfBlocks } from "./read-anthropic-messages.ts";
import { isSearch } from "./search.ts";
import type { ReadRequest } from "./read.ts";
import { isObject, type JsonObject, type SimulatedTool } from "./types.ts";

// Source: Anthropic API reference, "Create a Message".
const bodyKeys = words(
  "cache_control container context_management inference_geo max_tokens mcp_servers messages metadata model output_config " +
    "service_tier speed stop_sequences stream system temperature thinking tool_choice tools top_k top_p",
);
const unsupported = ["container", "context_management", "mcp_servers", "inference_geo", "speed"] as const;

/** @throws {Refusal} for what the real service would refuse. */
export function readAnthropic(body: JsonObject): ReadRequest {
  known(body, bodyKeys, "");
  aText(body, "model", "");
  checkMaxTokens(body["max_tokens"]);
  for (const key of unsupported) if ((body[key] ?? null) !== null) throw notSupported(key);
  within(body, "temperature", [0, 1]);
  within(body, "top_p", [0, 1]);
  if (body["stream"] !== undefined && typeof body["stream"] !== "boolean") {
    refuse("stream", "Input should be a valid boolean");
  }
  const tools = readTools(body["tools"]);
  checkChoice(body["tool_choice"], tools);
  checkThinking(body);
  checkMarks(body);
  const messages = readAnthropicMessages(body);
  return {
    messages,
    tools,
    system: systemOf(body["system"]),
    toolChoice: body["tool_choice"],
    output: readOutput(body["output_config"]),
  };
}

function checkMaxTokens(most: unknown): void {
  if (most === undefined) refuse("max_tokens", "Field required");
  if (typeof most !== "number" || !Number.isInteger(most))
    return refuse("max_tokens", "Input should be a valid integer");
  if (most < 1) refuse("max_tokens", "Input should be greater than or equal to 1");
}

const systemKeys = words("type text cache_control citations");

function systemOf(system: unknown): string {
  if (system === undefined || typeof system === "string") return system ?? "";
  aList(system, "system").forEach((block, index) => {
    const path = `system.${index}`;
    const given = anObject(block, path);
    known(given, systemKeys, path);
    checkText(given, path, "system");
  });
  return textOfBlocks(system, "system");
}

const toolKeys = words(
  "type name description input_schema cache_control strict defer_loading allowed_callers input_examples eager_input_streaming",
);

const searchKeys = words("type name max_uses allowed_domains blocked_domains user_location cache_control");

function readTools(given: unknown): readonly SimulatedTool[] {
  const seen = new Set<string>();
  return (given === undefined ? [] : aList(given, "tools")).flatMap((item, index) => {
    const path = `tools.${index}`;
    const tool = anObject(item, path);
    if (isSearch("anthropic", tool["type"])) {
      known(tool, searchKeys, `${path}.${String(tool["type"])}`);
      if (tool["name"] !== "web_search") refuse(`${path}.name`, "Input should be 'web_search'");
      return [];
    }
    if ((tool["type"] ?? "custom") !== "custom") throw notSupported(`${path}.type ${String(tool["type"])}`);
    known(tool, toolKeys, `${path}.custom`);
    const name = aText(tool, "name", `${path}.custom`);
    if (!/^[a-zA-Z0-9_-]{1,128}$/.test(name)) {
      refuse(`${path}.custom.name`, "String should match pattern '^[a-zA-Z0-9_-]{1,128}$'");
    }
    if (seen.has(name)) refuse("tools", "Tool names must be unique.");
    seen.add(name);
    const parameters = anObject(tool["input_schema"], `${path}.custom.input_schema`);
    if (parameters["type"] !== "object") refuse(`${path}.custom.input_schema.type`, "Input should be 'object'");
    const strict = tool["strict"] === true;
    if (strict) checkClosed(parameters, `${path}.custom`);
    const description = typeof tool["description"] === "string" ? tool["description"] : "";
    return [{ name, description, parameters, strict }];
  });
}

const choiceTypes = ["auto", "any", "tool", "none"];

function checkChoice(choice: unknown, tools: readonly SimulatedTool[]): void {
  if (choice === undefined) return;
  const { type, name } = anObject(choice, "tool_choice");
  if (!choiceTypes.includes(String(type))) {
    refuse("tool_choice", `Input tag '${String(type)}' found using 'type' does not match any of the expected tags`);
  }
  if (tools.length === 0 && type !== "none")
    refuse("tool_choice", "tool_choice may only be specified while providing tools");
  if (type === "tool" && !tools.some((tool) => tool.name === name)) {
    refuse("", `Tool '${String(name)}' not found in provided tools`);
  }
}

const leastThinking = 1_024;

/** Source: Anthropic, "Extended thinking". */
function checkThinking({ thinking, max_tokens: most, temperature, tool_choice: choice }: JsonObject): void {
  if (thinking === undefined) return;
  const { type, budget_tokens: budget } = anObject(thinking, "thinking");
  if (!["enabled", "disabled", "adaptive", "between_tools"].includes(String(type))) {
    refuse("thinking", `Input tag '${String(type)}' found using 'type' does not match any of the expected tags`);
  }
  if (type === "disabled") return;
  if (type === "enabled") {
    if (typeof budget !== "number") return refuse("thinking.enabled.budget_tokens", "Field required");
    if (budget < leastThinking) {
      refuse("thinking.enabled.budget_tokens", `Input should be greater than or equal to ${leastThinking}`);
    }
    if (Number(most) <= budget) refuse("", "`max_tokens` must be greater than `thinking.budget_tokens`.");
  }
  if (temperature !== undefined && temperature !== 1) {
    refuse("", "`temperature` may only be set to 1 when thinking is enabled.");
  }
  if (isObject(choice) && (choice["type"] === "any" || choice["type"] === "tool")) {
    refuse("", "Thinking may not be enabled when tool_choice forces tool use.");
  }
}

const mostMarks = 4;

/** Source: Anthropic, "Prompt caching". */
function checkMarks(body: JsonObject): void {
  const marks: string[] = [];
  const visit = (value: unknown, path: string): void => {
    if (Array.isArray(value)) return value.forEach((item, index) => visit(item, at(path, index)));
    if (!isObject(value)) return;
    const control = value["cache_control"];
    if (isObject(control)) marks.push(lifetimeOf(control, path));
    visit(value["content"], at(path, "content"));
  };
  for (const key of ["tools", "system", "messages"]) visit(body[key], key);
  if (isObject(body["cache_control"])) marks.push(lifetimeOf(body["cache_control"], "cache_control"));
  if (marks.length > mostMarks) {
    refuse("", `A maximum of ${mostMarks} blocks with cache_control may be provided. Found ${marks.length}.`);
  }
  if (marks.includes("1h") && marks.lastIndexOf("1h") > marks.indexOf("5m") && marks.includes("5m")) {
    refuse("", "a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block.");
  }
}

function lifetimeOf({ type, ttl = "5m" }: JsonObject, path: string): string {
  if (type !== "ephemeral") refuse(`${path}.cache_control.type`, "Input should be 'ephemeral'");
  return ttl === "5m" || ttl === "1h"
    ? ttl
    : refuse(`${path}.cache_control.ephemeral.ttl`, "Input should be '5m' or '1h'");
}

const configKeys = words("format effort task_budget");

function readOutput(config: unknown): ReadRequest["output"] {
  if (config === undefined) return undefined;
  const given = anObject(config, "output_config");
  known(given, configKeys, "output_config");
  if ((given["format"] ?? null) === null) return undefined;
  const format = anObject(given["format"], "output_config.format");
  if (format["type"] !== "json_schema") refuse("output_config.format.type", "Input should be 'json_schema'");
  const schema = anObject(format["schema"], "output_config.format.schema");
  checkClosed(schema, "output_config.format.schema");
  return { name: "output", schema, strict: true };
}

import type { AssistantMessage, Message, ModelRequest } from "@proviso/core";
import type { CheckedOptions } from "./options.ts";
import { outputSchema, toolSchema, wireName } from "./schemas.ts";
import { isObject } from "./wire.ts";

type Item = Readonly<Record<string, unknown>>;

/** The body of `POST /responses`: only what was set. Source: OpenAI API reference, "Create a model response". */
export function toResponses(options: CheckedOptions, request: ModelRequest): Record<string, unknown> {
  const { output, tools, toolChoice } = request;
  const { topLogprobs, logprobs, reasoningEffort } = options;
  const include = [
    // Without storage the service cannot look reasoning up: it travels encrypted.
    ...(options.store === false ? ["reasoning.encrypted_content"] : []),
    ...(logprobs === true ? ["message.output_text.logprobs"] : []),
  ];
  return defined({
    model: options.model,
    input: request.messages.flatMap(itemsOf),
    tools: tools.length === 0 ? undefined : tools.map(toolOf),
    tool_choice: tools.length === 0 ? undefined : choiceOf(toolChoice),
    parallel_tool_calls: tools.length === 0 ? undefined : options.parallelToolCalls,
    text: output === undefined ? undefined : { format: formatOf(output) },
    include: include.length === 0 ? undefined : include,
    temperature: options.temperature,
    top_p: options.topP,
    max_output_tokens: options.maxOutputTokens,
    reasoning: reasoningEffort === undefined ? undefined : { effort: reasoningEffort },
    top_logprobs: topLogprobs,
    store: options.store,
    user: options.user,
    ...options.extraBody,
  });
}

function choiceOf(toolChoice: ModelRequest["toolChoice"]): unknown {
  return typeof toolChoice === "object" ? { type: "function", name: toolChoice.tool } : toolChoice;
}

/** A body without what was not set. */
export function defined(body: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(body).filter(([, value]) => value !== undefined));
}

const converted = new WeakMap<Message, readonly Item[]>();

/** A message never changes, so it is converted once. */
function itemsOf(message: Message): readonly Item[] {
  let items = converted.get(message);
  if (items === undefined) {
    items = convert(message);
    converted.set(message, items);
  }
  return items;
}

function convert(message: Message): readonly Item[] {
  switch (message.role) {
    case "system":
    case "user":
      return [{ role: message.role, content: message.text }];
    case "tool":
      return [{ type: "function_call_output", call_id: message.callId, output: message.text }];
    case "assistant":
      return replayedItems(message) ?? rebuiltItems(message);
  }
}

function rebuiltItems({ text, toolCalls }: AssistantMessage): readonly Item[] {
  return [
    ...(text === "" ? [] : [{ role: "assistant", content: text }]),
    ...toolCalls.map(({ id, name, arguments: given }) => ({
      type: "function_call",
      call_id: id,
      name,
      arguments: given,
    })),
  ];
}

/**
 * The service's own items in its order, ids included: where it stored them the ids are known to it, and with
 * `store: false` each item carries its whole content, so that the id is not looked up. undefined when they are
 * another API's, or no longer belong to the message's calls.
 */
function replayedItems({ providerItems, toolCalls }: AssistantMessage): readonly Item[] | undefined {
  if (!isObject(providerItems) || providerItems["api"] !== responsesItems) return undefined;
  const { items } = providerItems as { readonly items?: unknown };
  if (!Array.isArray(items) || !items.every(isObject)) return undefined;
  const calls = items.filter(({ type }) => type === "function_call");
  const same = calls.length === toolCalls.length && calls.every((call, at) => call["call_id"] === toolCalls[at]?.id);
  return same ? items : undefined;
}

/** Marks what `fromResponses` keeps for replay. */
export const responsesItems = "openai.responses";

function toolOf(tool: ModelRequest["tools"][number]): Item {
  const { schema, strict } = toolSchema(tool);
  return { type: "function", name: tool.name, description: tool.description, parameters: schema, strict };
}

function formatOf(output: NonNullable<ModelRequest["output"]>): Item {
  const { schema, strict } = outputSchema(output);
  return { type: "json_schema", name: wireName(output.name), schema, strict };
}

import type { Message, ModelRequest } from "@proviso/core";
import type { CheckedOptions } from "./options.ts";
import { outputSchema, toolSchema, wireName } from "./schemas.ts";
import { defined } from "./to-responses.ts";

type Item = Readonly<Record<string, unknown>>;

/** The body of `POST /chat/completions`: only what was set. Source: OpenAI API reference, "Create chat completion". */
export function toChat(options: CheckedOptions, request: ModelRequest): Record<string, unknown> {
  const { output, tools, toolChoice } = request;
  return defined({
    model: options.model,
    messages: request.messages.map(messageOf),
    tools: tools.length === 0 ? undefined : tools.map(toolOf),
    tool_choice: tools.length === 0 ? undefined : choiceOf(toolChoice),
    parallel_tool_calls: tools.length === 0 ? undefined : options.parallelToolCalls,
    response_format: output === undefined ? undefined : formatOf(output),
    temperature: options.temperature,
    top_p: options.topP,
    max_completion_tokens: options.maxOutputTokens,
    reasoning_effort: options.reasoningEffort,
    logprobs: options.logprobs,
    top_logprobs: options.topLogprobs,
    store: options.store,
    user: options.user,
    seed: options.seed,
    stop: options.stop,
    presence_penalty: options.presencePenalty,
    frequency_penalty: options.frequencyPenalty,
    ...options.extraBody,
  });
}

function choiceOf(toolChoice: ModelRequest["toolChoice"]): unknown {
  return typeof toolChoice === "object" ? { type: "function", function: { name: toolChoice.tool } } : toolChoice;
}

const converted = new WeakMap<Message, Item>();

/** A message never changes, so it is converted once. */
function messageOf(message: Message): Item {
  let item = converted.get(message);
  if (item === undefined) {
    item = convert(message);
    converted.set(message, item);
  }
  return item;
}

function convert(message: Message): Item {
  switch (message.role) {
    case "system":
    case "user":
      return { role: message.role, content: message.text };
    case "tool":
      return { role: "tool", tool_call_id: message.callId, content: message.text };
    case "assistant": {
      const calls = message.toolCalls.map(({ id, name, arguments: given }) => ({
        id,
        type: "function",
        function: { name, arguments: given },
      }));
      const content = message.text === "" && calls.length > 0 ? null : message.text;
      return { role: "assistant", content, ...(calls.length === 0 ? {} : { tool_calls: calls }) };
    }
  }
}

function toolOf(tool: ModelRequest["tools"][number]): Item {
  const { schema, strict } = toolSchema(tool);
  const { name, description } = tool;
  return { type: "function", function: { name, description, parameters: schema, strict } };
}

function formatOf(output: NonNullable<ModelRequest["output"]>): Item {
  const { schema, strict } = outputSchema(output);
  return { type: "json_schema", json_schema: { name: wireName(output.name), schema, strict } };
}

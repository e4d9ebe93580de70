import type { AssistantMessage, Message, ModelRequest } from "@proviso/core";
import { isRecord, type ToolSpec } from "@proviso/core/provider";
import { markedPieces, outputSchema, toolInputSchema, wireName } from "@proviso/adapter-kit";
import type { CheckedOptions } from "./options.ts";
import { breakpoint, limited, requestFormat, type Parts } from "./request-format.ts";
import { providerToolOf } from "./told.ts";
import { includeOf, responsesSettings } from "./settings.ts";

type Item = Readonly<Record<string, unknown>>;

/** The body of `POST /responses`. Source: OpenAI API reference, "Create a model response". */
export const responsesFormat = requestFormat({
  path: "/responses",
  itemsOf,
  toolOf,
  providerToolOf,
  outputOf,
  bodyOf,
});

function bodyOf(options: CheckedOptions, request: ModelRequest, { items, tools, output }: Parts): Item {
  const { topLogprobs, logprobs, reasoningEffort, store } = options;
  return {
    model: options.model,
    input: items,
    tools,
    tool_choice: tools === undefined ? undefined : choiceOf(request.toolChoice),
    parallel_tool_calls: tools === undefined ? undefined : options.parallelToolCalls,
    text: output,
    include: includeOf({ store, logprobs: logprobs === true }),
    temperature: options.temperature,
    top_p: options.topP,
    reasoning: reasoningEffort === undefined ? undefined : { effort: reasoningEffort },
    top_logprobs: topLogprobs,
    store,
    user: options.user,
    ...limited(
      {
        max_output_tokens: options.maxOutputTokens,
        ...options.extraBody,
        ...responsesSettings(options, request, output),
      },
      "max_output_tokens",
      request,
    ),
    stream: request.onDelta === undefined ? undefined : true,
  };
}

function choiceOf(toolChoice: ModelRequest["toolChoice"]): unknown {
  return typeof toolChoice === "object" ? { type: "function", name: toolChoice.tool } : toolChoice;
}

function itemsOf(message: Message, marks?: readonly number[]): readonly Item[] {
  switch (message.role) {
    case "system":
    case "user":
      return [{ role: message.role, content: contentOf(message.text, marks) }];
    case "tool":
      return [{ type: "function_call_output", call_id: message.callId, output: contentOf(message.text, marks) }];
    case "assistant":
      return replayedItems(message) ?? rebuiltItems(message);
  }
}

function contentOf(text: string, marks: readonly number[] | undefined): string | readonly Item[] {
  if (marks === undefined) return text;
  return markedPieces(text, marks).map((piece) => ({
    type: "input_text",
    text: piece.text,
    ...(piece.isMarked ? breakpoint : {}),
  }));
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
  if (!isRecord(providerItems) || providerItems["api"] !== responsesItems) return undefined;
  const { items } = providerItems as { readonly items?: unknown };
  if (!Array.isArray(items) || !items.every(isRecord)) return undefined;
  const calls = items.filter(({ type }) => type === "function_call");
  const same = calls.length === toolCalls.length && calls.every((call, at) => call["call_id"] === toolCalls[at]?.id);
  return same ? items : undefined;
}

/** Marks what `fromResponses` keeps for replay. */
export const responsesItems = "openai.responses";

function toolOf(tool: ToolSpec): Item {
  const { schema, strict } = toolInputSchema(tool.inputSchema);
  return { type: "function", name: tool.name, description: tool.description, parameters: schema, strict };
}

function outputOf({ name, schema: given }: NonNullable<ModelRequest["output"]>): Item {
  const { schema, strict } = outputSchema(given);
  return { format: { type: "json_schema", name: wireName(name), schema, strict } };
}

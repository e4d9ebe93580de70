import type { AssistantMessage, Message, ModelRequest } from "@proviso/core";
import { isRecord, type FileRef, type ToolSpec } from "@proviso/core/provider";
import {
  dataUrlOf,
  kindOfFile,
  markedParts,
  outputSchema,
  toolInputSchema,
  wireName,
  type BytesOf,
} from "@proviso/adapter-kit";
import { responsesItems, type Account } from "./account.ts";
import type { CheckedOptions } from "./options.ts";
import {
  breakpoint,
  limited,
  requestFormat,
  type Parts,
  type RequestFormat,
  type RequestRules,
} from "./request-format.ts";
import { providerToolOf } from "./answer-parts.ts";
import { includeOf, responsesSettings } from "./settings.ts";

type Item = Readonly<Record<string, unknown>>;

const path = "/responses";

/** What the service can do with the items of an answer. */
interface Replay {
  /** Whether it looks items up by their ids. */
  readonly looksUp: boolean;
  /** undefined: the account is taken to know all items. */
  readonly account: Account | undefined;
}

/**
 * The body of `POST /responses`. What a message is converted to is kept by account and by whether the service may look
 * items up, until the account refuses items that it was taken to know. Source: OpenAI API reference, "Create a model response".
 */
export function responsesFormat(account?: Account): RequestFormat {
  const formats = new Map<boolean, RequestFormat>();
  let refusals = 0;
  const formatFor = (options: CheckedOptions, request: ModelRequest): RequestFormat => {
    if (account !== undefined && account.refusals > refusals) {
      refusals = account.refusals;
      formats.clear();
    }
    const looksUp = isStored(options, request);
    const format = formats.get(looksUp) ?? formatWith({ looksUp, account });
    formats.set(looksUp, format);
    return format;
  };
  return {
    path,
    object: (options, request) => formatFor(options, request).object(options, request),
    json: (options, request) => formatFor(options, request).json(options, request),
  };
}

function formatWith(replay: Replay): RequestFormat {
  const forReplay: RequestRules["itemsOf"] = (message, bytesOf, marks) => itemsOf(message, replay, bytesOf, marks);
  return requestFormat({ path, itemsOf: forReplay, toolOf, providerToolOf, outputOf, bodyOf });
}

/** The service looks nothing up for a request with `store: false`, not even what it has stored. */
function isStored({ extraBody, store }: CheckedOptions, { settings }: ModelRequest): boolean {
  const own = settings?.providerOptions?.openai;
  return (own?.extraBody?.["store"] ?? own?.store ?? extraBody?.["store"] ?? store) !== false;
}

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

function itemsOf(message: Message, replay: Replay, bytesOf: BytesOf, marks?: readonly number[]): readonly Item[] {
  switch (message.role) {
    case "system":
    case "user":
      return [{ role: message.role, content: contentOf(message, bytesOf, marks) }];
    case "tool":
      return [{ type: "function_call_output", call_id: message.callId, output: contentOf(message, bytesOf, marks) }];
    case "assistant":
      return replayedItems(message, replay) ?? rebuiltItems(message);
  }
}

function contentOf(message: Message, bytesOf: BytesOf, marks: readonly number[] | undefined): string | readonly Item[] {
  if (marks === undefined && message.files === undefined) return message.text;
  return markedParts(message, marks).map((part) => ({
    ...(part.kind === "text" ? { type: "input_text", text: part.text } : fileOf(part.file, bytesOf)),
    ...(part.cache === true ? breakpoint : {}),
  }));
}

function fileOf(file: FileRef, bytesOf: BytesOf): Item {
  const detail = file.detail === undefined ? {} : { detail: file.detail };
  const isImage = kindOfFile(file) === "image";
  const type = isImage ? "input_image" : "input_file";
  switch (file.kind) {
    case "uploaded":
      return { type, file_id: file.ids["openai"], ...detail };
    case "link":
      return { type, [isImage ? "image_url" : "file_url"]: file.url, ...detail };
    case "stored": {
      const data = dataUrlOf(file, bytesOf);
      return { type, ...(isImage ? { image_url: data } : { filename: file.name, file_data: data }), ...detail };
    }
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
 * another API's or another account's, no longer belong to the message's calls, or would have to be looked up where
 * nothing is.
 */
function replayedItems(
  { providerItems, toolCalls }: AssistantMessage,
  { looksUp, account }: Replay,
): readonly Item[] | undefined {
  if (!isRecord(providerItems) || providerItems["api"] !== responsesItems) return undefined;
  const { items } = providerItems as { readonly items?: unknown };
  if (!Array.isArray(items) || !items.every(isRecord)) return undefined;
  if (account?.knows(providerItems) === false) return undefined;
  if (!looksUp && items.some(isNamedAlone)) return undefined;
  const calls = items.filter(({ type }) => type === "function_call");
  const same = calls.length === toolCalls.length && calls.every((call, at) => call["call_id"] === toolCalls[at]?.id);
  return same ? items : undefined;
}

/** Whether the service has to know an item by its id: a thought that is not sealed in it, or a picture. */
function isNamedAlone({ type, encrypted_content: sealed }: Item): boolean {
  return type === "image_generation_call" || (type === "reasoning" && typeof sealed !== "string");
}

function toolOf(tool: ToolSpec): Item {
  const { schema, strict } = toolInputSchema(tool.inputSchema);
  return { type: "function", name: tool.name, description: tool.description, parameters: schema, strict };
}

function outputOf({ name, schema: given }: NonNullable<ModelRequest["output"]>): Item {
  const { schema, strict } = outputSchema(given);
  return { format: { type: "json_schema", name: wireName(name), schema, strict } };
}

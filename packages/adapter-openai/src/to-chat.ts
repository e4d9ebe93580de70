import type { Message, ModelRequest } from "@proviso/core";
import type { FileRef, ToolSpec } from "@proviso/core/provider";
import {
  base64Of,
  dataUrlOf,
  kindOfFile,
  markedParts,
  outputSchema,
  toolInputSchema,
  wireName,
  type BytesOf,
} from "@proviso/adapter-kit";
import { compatibleService, type CheckedOptions } from "./options.ts";
import { thoughtsFor } from "./chat-thoughts.ts";
import {
  breakpoint,
  limited,
  requestFormat,
  type Parts,
  type RequestFormat,
  type RequestRules,
} from "./request-format.ts";
import { chatSettings } from "./settings.ts";

type Item = Readonly<Record<string, unknown>>;

/**
 * The body of `POST /chat/completions`, for OpenAI's own service or for the one that is named: what a message is converted to
 * is kept by service. Source: OpenAI API reference, "Create chat completion".
 */
export function chatFormat(service?: string): RequestFormat {
  let format = formats.get(service);
  if (format === undefined) {
    const forService: RequestRules["itemsOf"] = (message, bytesOf, marks) =>
      itemsOf(message, { service, bytesOf, marks });
    format = requestFormat({ path: "/chat/completions", itemsOf: forService, toolOf, outputOf, bodyOf });
    formats.set(service, format);
  }
  return format;
}

/** The formats, by the service that the program talks to. */
const formats = new Map<string | undefined, RequestFormat>();

/** Whom a message is written for, and what stands in it. */
interface ItemOptions {
  readonly service: string | undefined;
  readonly bytesOf: BytesOf;
  readonly marks: readonly number[] | undefined;
}

function bodyOf(options: CheckedOptions, request: ModelRequest, { items, tools, output }: Parts): Item {
  const streams = request.onDelta !== undefined;
  return {
    model: options.model,
    messages: items,
    tools,
    tool_choice: tools === undefined ? undefined : choiceOf(request.toolChoice),
    parallel_tool_calls: tools === undefined ? undefined : options.parallelToolCalls,
    response_format: output,
    temperature: options.temperature,
    top_p: options.topP,
    reasoning_effort: options.reasoningEffort,
    logprobs: options.logprobs,
    top_logprobs: options.topLogprobs,
    store: options.store,
    user: options.user,
    seed: options.seed,
    stop: options.stop,
    presence_penalty: options.presencePenalty,
    frequency_penalty: options.frequencyPenalty,
    // The service reports the usage of a stream only if it is asked to.
    stream_options: streams ? { include_usage: true } : undefined,
    ...limited(
      {
        [limitKey(options)]: options.maxOutputTokens,
        ...options.extraBody,
        ...chatSettings(options, request, limitKey(options)),
      },
      limitKey(options),
      request,
    ),
    stream: streams ? true : undefined,
  };
}

type LimitKey = "max_tokens" | "max_completion_tokens";

/**
 * Compatible services know the older name, and some pass over the newer one; OpenAI's own models refuse the older one,
 * wherever they are reached. `extraBody` decides otherwise by having a name.
 */
function limitKey({ extraBody, ...options }: CheckedOptions): LimitKey {
  const stated = (["max_tokens", "max_completion_tokens"] as const).find((key) => extraBody?.[key] !== undefined);
  if (stated !== undefined) return stated;
  const host = compatibleService(options);
  const isOpenAIs =
    host === undefined || ownHost.test(host) || ownModel.test(options.model) || isAzureClient(options.client);
  return isOpenAIs ? "max_completion_tokens" : "max_tokens";
}

/** The hosts of OpenAI's regions, of Azure's clouds and of gateways before them. */
const ownHost = /(^|\.)(openai\.com|azure\.(com|us|cn)|azure-api\.(net|us|cn))(:\d+)?$/;
/** The names of OpenAI's models, also behind the name of a route or a vendor; its open models are run by others. */
const ownModel = /(^|[/:._])(gpt-(?!oss)|chatgpt-|codex-|o\d)/i;

/** Whether it is an `AzureOpenAI`, whose address and deployment may have any name. */
function isAzureClient(client: CheckedOptions["client"]): boolean {
  return client !== undefined && "apiVersion" in client && client.apiVersion !== "";
}

function choiceOf(toolChoice: ModelRequest["toolChoice"]): unknown {
  return typeof toolChoice === "object" ? { type: "function", function: { name: toolChoice.tool } } : toolChoice;
}

function itemsOf(message: Message, { service, bytesOf, marks }: ItemOptions): readonly Item[] {
  switch (message.role) {
    case "system":
    case "user":
      return [{ role: message.role, content: contentOf(message, bytesOf, marks) }];
    case "tool":
      return [{ role: "tool", tool_call_id: message.callId, content: contentOf(message, bytesOf, marks) }];
    case "assistant": {
      const calls = message.toolCalls.map(({ id, name, arguments: given }) => ({
        id,
        type: "function",
        function: { name, arguments: given },
      }));
      const content = message.text === "" && calls.length > 0 ? null : message.text;
      const given = calls.length === 0 ? {} : { tool_calls: calls, ...thoughtsFor(message, service) };
      return [{ role: "assistant", content, ...given }];
    }
  }
}

function contentOf(message: Message, bytesOf: BytesOf, marks: readonly number[] | undefined): string | readonly Item[] {
  if (marks === undefined && message.files === undefined) return message.text;
  return markedParts(message, marks).map((part) => ({
    ...(part.kind === "text" ? { type: "text", text: part.text } : fileOf(part.file, bytesOf)),
    ...(part.cache === true ? breakpoint : {}),
  }));
}

/** `chatFiles` has refused what this API has no part for. */
function fileOf(file: FileRef, bytesOf: BytesOf): Item {
  if (file.kind === "uploaded") return { type: "file", file: { file_id: file.ids["openai"] } };
  const kind = kindOfFile(file);
  if (file.kind === "link" || kind === "image") {
    const url = file.kind === "link" ? file.url : dataUrlOf(file, bytesOf);
    return { type: "image_url", image_url: { url, ...(file.detail === undefined ? {} : { detail: file.detail }) } };
  }
  if (kind === "audio") {
    const format = file.mediaType === "audio/wav" ? "wav" : "mp3";
    return { type: "input_audio", input_audio: { data: base64Of(file, bytesOf), format } };
  }
  return { type: "file", file: { filename: file.name, file_data: dataUrlOf(file, bytesOf) } };
}

function toolOf(tool: ToolSpec): Item {
  const { schema, strict } = toolInputSchema(tool.inputSchema);
  const { name, description } = tool;
  return { type: "function", function: { name, description, parameters: schema, strict } };
}

function outputOf({ name, schema: given }: NonNullable<ModelRequest["output"]>): Item {
  const { schema, strict } = outputSchema(given);
  return { type: "json_schema", json_schema: { name: wireName(name), schema, strict } };
}

import type { LanguageModelV4CallOptions, LanguageModelV4FunctionTool, LanguageModelV4Prompt } from "@ai-sdk/provider";
import type {
  AssistantMessage,
  Message,
  ModelRequest,
  PromptMessage as MarkedMessage,
  ToolCall,
  ToolMessage,
} from "@proviso/core";
import { isRecord, parseJson } from "@proviso/core/provider";
import type { Environment } from "@proviso/runtime";
import {
  cacheMarks,
  labelledText,
  looseSchema,
  markedParts,
  outputSchema,
  toolInputSchema,
  wireName,
  type BytesOf,
  type UnknownItems,
} from "@proviso/adapter-kit";
import { isBlank, madePart, toolContent, userParts } from "./files.ts";
import type { AiSdkSettings, LanguageModel } from "./options.ts";
import { providerTool } from "./provider-tools.ts";
import { withinBound } from "./thinking.ts";
import { replayedName, sentName } from "./tool-names.ts";
import {
  isOpenAIFamily,
  markOptions,
  goesAsTool,
  ignoredKeywords,
  notStrict,
  providerOptionsOf,
  settingsIn,
  withSetFields,
  type ByProvider,
} from "./settings.ts";
import { defined, type AssistantPart, type KeptParts, type MadeFile } from "./parts.ts";

type PromptMessage = LanguageModelV4Prompt[number];
type ToolPart = Extract<PromptMessage, { role: "tool" }>["content"][number];

/** How one model is asked. */
export interface Call {
  readonly settings: AiSdkSettings & Environment;
  readonly model: LanguageModel;
  /** Whether the output is read from the answer's text, whatever shape the model was asked for. */
  readonly textOnly: boolean;
  /** A message never changes, so it is converted once for a model. */
  readonly converted: WeakMap<Message, unknown>;
  /** What the account has refused: such a message is rebuilt. */
  readonly unknown: UnknownItems;
}

/** The call options of one request: only what was set. */
export function toAiSdk(call: Call, request: ModelRequest, signal: AbortSignal): LanguageModelV4CallOptions {
  const { settings, model, textOnly } = call;
  const { tools, toolChoice, output } = request;
  const own = settingsIn(request);
  const given = providerOptionsOf(model, settings.providerOptions as ByProvider | undefined, request);
  const effort = own.reasoning?.effort;
  const bound = smaller(own.maxOutputTokens ?? settings.maxOutputTokens, request.maxOutputTokens);
  const prompt = promptOf(call, request);
  const wire =
    output && (textOnly ? toolInputSchema(output.schema) : outputSchema(output.schema, ignoredKeywords(model)));
  const forces = {
    choice: toolChoice === "required" || typeof toolChoice === "object",
    output: wire !== undefined && goesAsTool(model, wire, given),
  };
  const beginsWithThought = (): boolean => callsBeginWithThought(prompt);
  const { maxOutputTokens, options: bounded } = withinBound(model, {
    bound,
    effort,
    options: given,
    forces,
    beginsWithThought,
  });
  const options = hasExtraBody(settings) ? withSetFields("litellm", bounded, request) : bounded;
  return defined({
    prompt,
    tools: toolsOf(model, request),
    toolChoice: tools.length === 0 ? undefined : choiceOf(model, toolChoice),
    responseFormat: output &&
      wire && { type: "json" as const, name: wireName(output.name), schema: wire.schema as object },
    temperature: own.temperature ?? settings.temperature,
    topP: own.topP ?? settings.topP,
    maxOutputTokens,
    stopSequences: (own.stop ?? settings.stop) as string[] | undefined,
    seed: own.seed ?? settings.seed,
    reasoning: effort,
    presencePenalty: settings.presencePenalty,
    frequencyPenalty: settings.frequencyPenalty,
    providerOptions: wire?.strict === false ? notStrict(model, options) : options,
    headers: settings.headers as Record<string, string> | undefined,
    abortSignal: signal,
  });
}

/** Only a proxy's adapter has an `extraBody` of its own. */
function hasExtraBody(settings: object): boolean {
  return (settings as { readonly extraBody?: unknown }).extraBody !== undefined;
}

function smaller(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined || b === undefined ? (a ?? b) : Math.min(a, b);
}

function choiceOf(
  model: LanguageModel,
  toolChoice: ModelRequest["toolChoice"],
): LanguageModelV4CallOptions["toolChoice"] {
  if (toolChoice === undefined) return undefined;
  if (typeof toolChoice !== "object") return { type: toolChoice };
  return { type: "tool", toolName: sentName(model, toolChoice.tool) };
}

function toolsOf(
  model: LanguageModel,
  { tools, providerTools = [] }: ModelRequest,
): LanguageModelV4CallOptions["tools"] {
  if (tools.length + providerTools.length === 0) return undefined;
  return [...tools.map((tool) => toolOf(model, tool)), ...providerTools.map((tool) => providerTool(model, tool))];
}

/** The OpenAI family takes silence for strict; to others it would be a wish, and some count the tools that have it. */
function toolOf(model: LanguageModel, tool: ModelRequest["tools"][number]): LanguageModelV4FunctionTool {
  const { description, inputSchema } = tool;
  const name = sentName(model, tool.name);
  const type = "function";
  if (!isOpenAIFamily(model)) return { type, name, description, inputSchema: looseSchema(inputSchema) as object };
  const { schema, strict } = toolInputSchema(inputSchema);
  return { type, name, description, inputSchema: schema as object, strict };
}

/** The answers to one turn's calls are one message: some services count them against the calls. */
function promptOf(call: Call, request: ModelRequest): LanguageModelV4Prompt {
  const prompt: LanguageModelV4Prompt = [];
  const options = markOptions(call.model, settingsIn(request));
  const marks = options && cacheMarks(request);
  const { bytesOf } = request;
  let answers: ToolPart[] | undefined;
  for (const message of request.messages) {
    if (message.role === "system" && isBlank(message.text)) continue;
    const places = marks?.get(message);
    if (message.role !== "tool") {
      answers = undefined;
      if (places === undefined || options === undefined || message.role === "assistant") {
        prompt.push(once(call, message, (given) => convert(call, given, bytesOf)));
      } else prompt.push(...markedMessages(call.model, message, bytesOf, { places, options }));
      continue;
    }
    if (answers === undefined) prompt.push({ role: "tool", content: (answers = []) });
    const answer = once(call, message, (given) => toolAnswer(call.model, given, bytesOf));
    answers.push(places === undefined || options === undefined ? answer : { ...answer, providerOptions: options });
  }
  return prompt;
}

/** Whether what is answered since the user's last message begins with a sealed thought; true where nothing is. */
function callsBeginWithThought(prompt: LanguageModelV4Prompt): boolean {
  const asked = prompt.findLastIndex(({ role }, at) => role === "user" && !isBesideAnswer(prompt, at));
  const first = prompt.find(({ role }, at) => at > asked && role === "assistant");
  if (first?.role !== "assistant") return true;
  const [part] = first.content;
  return part?.type === "reasoning" && part.providerOptions !== undefined;
}

/** Whether a user's message is one with a tool's answer on the wire, so that the call is still being answered. */
function isBesideAnswer(prompt: LanguageModelV4Prompt, at: number): boolean {
  let before = at - 1;
  while (prompt[before]?.role === "user") before--;
  return prompt[before]?.role === "tool";
}

/** A system text becomes a message for each of its pieces, a user's text one message of several parts. */
function markedMessages(
  model: LanguageModel,
  message: MarkedMessage,
  bytesOf: BytesOf,
  marked: { readonly places: readonly number[]; readonly options: ByProvider },
): readonly PromptMessage[] {
  const { role } = message;
  if (role === "user") return [{ role, content: userParts(model, message, bytesOf, marked) }];
  return markedParts(message, marked.places).flatMap((part): PromptMessage[] => {
    if (part.kind === "file" || isBlank(part.text)) return [];
    const providerOptions = part.cache === true ? { providerOptions: marked.options } : {};
    return [{ role, content: part.text, ...providerOptions }];
  });
}

function once<M extends Message, T>({ converted }: Call, message: M, make: (message: M) => T): T {
  let made = converted.get(message) as T | undefined;
  if (made === undefined) {
    made = make(message);
    converted.set(message, made);
  }
  return made;
}

function convert(call: Call, message: Exclude<Message, { role: "tool" }>, bytesOf: BytesOf): PromptMessage {
  const { model } = call;
  switch (message.role) {
    case "system":
      return { role: "system", content: message.text };
    case "user":
      return { role: "user", content: userParts(model, message, bytesOf) };
    case "assistant":
      return { role: "assistant", content: replayedParts(call, message, bytesOf) ?? rebuiltParts(model, message) };
  }
}

/** An error is marked as one, but for the OpenAI family: it knows no mark, and its SDK would rewrite the text. */
function toolAnswer(model: LanguageModel, message: ToolMessage, bytesOf: BytesOf): ToolPart {
  const { callId, name, text, isError } = message;
  const type = isError && !isOpenAIFamily(model) ? "error-text" : "text";
  return {
    type: "tool-result",
    toolCallId: callId,
    toolName: replayedName(model, name),
    output: message.files === undefined ? { type, value: text } : toolContent(model, message, bytesOf),
  };
}

/** What another provider made goes as its label. */
function rebuiltParts(model: LanguageModel, message: AssistantMessage): AssistantPart[] {
  const { toolCalls } = message;
  const text = message.files === undefined ? message.text : labelledText(message);
  return [
    ...(isBlank(text) ? [] : [{ type: "text" as const, text }]),
    ...toolCalls.map((call) => callPart(model, call)),
  ];
}

/** undefined when the parts are another provider's or another account's, or no longer belong to the message's calls or files. */
function replayedParts(
  { model, unknown }: Call,
  { providerItems, toolCalls, files = [] }: AssistantMessage,
  bytesOf: BytesOf,
): AssistantPart[] | undefined {
  if (!isKept(providerItems) || providerItems.provider !== model.provider || unknown.has(providerItems))
    return undefined;
  const { parts } = providerItems;
  const calls = parts.filter((part) => isOwnCall(part));
  if (calls.length !== toolCalls.length) return undefined;
  if (!calls.every(({ toolCallId }, at) => toolCallId === toolCalls[at]?.id)) return undefined;
  if (parts.some((part) => part.type === "made-file" && files[part.index] === undefined)) return undefined;
  let at = 0;
  return parts.flatMap((part): AssistantPart[] => {
    if (part.type === "made-file") {
      const file = files[part.index]?.file;
      if (file === undefined) return [];
      const made = madePart(model, file, bytesOf);
      return [part.providerOptions === undefined ? made : { ...made, providerOptions: part.providerOptions }];
    }
    // A text with options carries something else, the seal of a thought for example.
    if (part.type === "text" && isBlank(part.text) && part.providerOptions === undefined) return [];
    if (!isOwnCall(part)) return [part];
    const call = toolCalls[at++];
    return [call === undefined ? part : { ...part, ...callPart(model, call) }];
  });
}

function isKept(items: unknown): items is KeptParts {
  if (!isRecord(items) || items["api"] !== "ai-sdk") return false;
  const { parts } = items;
  return Array.isArray(parts) && parts.every((part) => isRecord(part) && typeof part["type"] === "string");
}

type CallPart = Extract<AssistantPart, { type: "tool-call" }>;

function isOwnCall(part: AssistantPart | MadeFile): part is CallPart {
  return part.type === "tool-call" && part.providerExecuted !== true;
}

function callPart(model: LanguageModel, { id, name, arguments: given }: ToolCall): CallPart {
  return { type: "tool-call", toolCallId: id, toolName: replayedName(model, name), input: inputOf(model, given) };
}

/**
 * An object; the text itself where the wire is text and the bytes would change. Arguments that are no JSON object
 * become {}: services refuse them, and the tool's answer says what was wrong with them.
 */
function inputOf(model: LanguageModel, given: string): unknown {
  const json = parseJson(given);
  if (!json.ok || !isRecord(json.value)) return {};
  return takesArgumentText(model) && JSON.stringify(json.value) !== given ? given : json.value;
}

/** Arguments travel as text there, and a model of v4 sends text as it is; all others would encode it twice. */
function takesArgumentText(model: LanguageModel): boolean {
  return model.specificationVersion === "v4" && isOpenAIFamily(model);
}

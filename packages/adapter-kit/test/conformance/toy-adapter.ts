import {
  DefinitionError,
  type Message,
  type ModelFailure,
  type ModelProvider,
  type ModelRequest,
  type ModelResponse,
  type ProviderAdapter,
} from "@proviso/core";
import { checkOptionNames, isRecord, type OptionNames } from "@proviso/core/provider";
import {
  adapterOptionNames,
  adapterOptionsOf,
  checkModelSettings,
  invalidResponse,
  modelFailureFrom,
  parseBody,
  textAt,
  unreadableBody,
  type Json,
} from "@proviso/adapter-kit";
import { modelAdapter, type AdapterOptions } from "@proviso/runtime";

export interface ToyOptions extends AdapterOptions {
  readonly model: string;
  readonly baseURL: string;
  readonly apiKey: string;
  /** 0 to 2. Sent only when it is set. */
  readonly temperature?: number | undefined;
}

const optionNames = {
  model: true,
  baseURL: true,
  apiKey: true,
  temperature: true,
  ...adapterOptionNames,
} as const satisfies OptionNames<ToyOptions>;

function checkOptions(options: ToyOptions): ToyOptions {
  checkOptionNames("toy", options, optionNames);
  const { apiKey, temperature } = options;
  if (apiKey === "") throw new DefinitionError("The toy service needs { apiKey }.");
  checkModelSettings({ temperature });
  return { ...options };
}

function toWire({ model, temperature }: ToyOptions, request: ModelRequest): object {
  const { messages, tools, toolChoice, output, maxOutputTokens, onDelta } = request;
  return {
    model,
    turns: messages.map(turnOf),
    ...(temperature === undefined ? {} : { temperature }),
    ...(tools.length === 0 ? {} : { tools }),
    ...(tools.length === 0 || toolChoice === undefined ? {} : { toolChoice }),
    ...(output === undefined ? {} : { schema: output.schema }),
    ...(maxOutputTokens === undefined ? {} : { most: maxOutputTokens }),
    ...(onDelta === undefined ? {} : { stream: true }),
  };
}

function turnOf(message: Message): object {
  switch (message.role) {
    case "system":
    case "user":
      return { role: message.role, text: message.text };
    case "assistant": {
      const { text, toolCalls, providerItems } = message;
      return { role: "assistant", text, calls: toolCalls, ...(isRecord(providerItems) ? providerItems : {}) };
    }
    case "tool":
      return { role: "tool", text: message.text, callId: message.callId, failed: message.isError };
  }
}

function fromWire(answer: Json): ModelResponse {
  const { calls, refusal, thought, finish, usage, model } = answer;
  const toolCalls = (Array.isArray(calls) ? calls : []).filter(isRecord).map((call) => ({
    id: textAt(call, "id"),
    name: textAt(call, "name"),
    arguments: textAt(call, "arguments"),
  }));
  const providerItems = typeof thought === "string" ? { thought } : undefined;
  return {
    message: { role: "assistant", text: textAt(answer, "text"), toolCalls, ...(providerItems && { providerItems }) },
    finishReason:
      finish === "length" || finish === "content-filter" ? finish : toolCalls.length > 0 ? "tool-calls" : "stop",
    ...(isRecord(usage) ? { usage } : {}),
    ...(typeof refusal === "string" ? { refusal } : {}),
    ...(typeof model === "string" ? { model } : {}),
    payload: answer,
  };
}

async function ask(options: ToyOptions, request: ModelRequest): Promise<ModelResponse | ModelFailure> {
  const response = await fetch(`${options.baseURL}/ask`, {
    method: "POST",
    headers: { authorization: `Bearer ${options.apiKey}`, "content-type": "application/json" },
    body: JSON.stringify(toWire(options, request)),
    signal: request.signal,
  });
  if (!response.ok) {
    const payload = parseBody(await response.text());
    return modelFailureFrom(response, payload.ok ? payload.value : undefined);
  }
  const type = response.headers.get("content-type") ?? "";
  if (!type.startsWith("application/x-ndjson")) {
    return invalidResponse(`The service's answer is ${type}.`, await response.text());
  }
  return readLines(response, request);
}

async function readLines(response: Response, { onDelta }: ModelRequest): Promise<ModelResponse | ModelFailure> {
  let unread = "";
  for await (const piece of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    const lines = (unread + piece).split("\n");
    unread = lines.pop() ?? "";
    for (const line of lines) {
      const json = parseBody(line);
      if (!json.ok) return unreadableBody(line, json.error);
      const { delta, answer } = isRecord(json.value) ? json.value : {};
      if (typeof delta === "string") onDelta?.({ kind: "text", text: delta });
      if (isRecord(answer)) return fromWire(answer);
    }
  }
  return { failure: "throttle", kind: "unknown", message: "The service's answer ended before its last line." };
}

export function toyModel(given: ToyOptions): ModelProvider {
  const options = checkOptions(given);
  return Object.freeze({
    name: "toy",
    model: options.model,
    capabilities: { tools: true, nativeOutput: true, outputLimit: { least: 1 } },
    generate: (request: ModelRequest) => ask(options, request),
  });
}

export function toy(options: ToyOptions): ProviderAdapter {
  const secrets = [...(options.secrets ?? []), options.apiKey];
  return modelAdapter(toyModel(options), { ...adapterOptionsOf(options), secrets });
}

import type { LanguageModelV4, SharedV4Warning } from "@ai-sdk/provider";
import {
  systemClock,
  type ModelFailure,
  type ModelProvider,
  type ModelRequest,
  type ModelResponse,
} from "@proviso/core";
import type { Environment } from "@proviso/runtime";
import {
  defaultStallMs,
  defaultTimeoutMs,
  failureRedactor,
  guardRequest,
  listAt,
  logOf,
  objectAt,
  settingsHash,
  textAt,
  UnknownItems,
  type RequestGuard,
} from "@proviso/adapter-kit";
import { aiSdkFailure, refusedAnswer } from "./ai-sdk-error.ts";
import { checkedAnswer, checkedStream, NoAnswer } from "./checked-answer.ts";
import { filesOfModel } from "./files.ts";
import { fromAiSdk } from "./from-ai-sdk.ts";
import { fromStream, type StreamFault } from "./from-stream.ts";
import { checkOptions, decidingIn, type AiSdkOptions, type AiSdkSettings, type LanguageModel } from "./options.ts";
import type { Answer } from "./parts.ts";
import { providerToolsOf } from "./provider-tools.ts";
import { modelSource, type ModelSource } from "./resolve-model.ts";
import { secretsOf } from "./secrets.ts";
import { isOpenAIFamily, kindOf, settingsOfModel } from "./settings.ts";
import { toAiSdk, type Call } from "./to-ai-sdk.ts";

/**
 * Makes the model alone, without an adapter, for code that wraps it to record, route or count requests.
 * @throws {DefinitionError} for an option that is out of range, for what is not a model, and for an id that no provider
 * resolves.
 */
export function aiSdkModel(given: AiSdkOptions): ModelProvider {
  const checked = checkOptions(given);
  const options = { ...checked, secrets: secretsOf(checked) };
  const { model, capabilities, nativeOutput = true } = options;
  return providerOf(modelSource(model), options, {
    tools: capabilities?.tools ?? true,
    nativeOutput: nativeOutput && (capabilities?.nativeOutput ?? takesSchemas(model)),
    textOnly: false,
  });
}

/** The models of `@ai-sdk/openai-compatible` say that they would drop a schema. */
export function takesSchemas(model: LanguageModel | string): boolean {
  return (model as { readonly supportsStructuredOutputs?: unknown }).supportsStructuredOutputs !== false;
}

export interface Abilities {
  readonly tools: boolean;
  readonly nativeOutput: boolean;
  /** Whether the output is read from the answer's text, whatever shape the model was asked for. */
  readonly textOnly: boolean;
  /** Whether the service reports the cost of each answer. */
  readonly reportsCost?: boolean;
}

/** OpenAI's Responses API takes no fewer than 16 tokens; the others take any. */
function leastOutput(provider: string): { readonly least: number } {
  return Object.freeze({ least: /^(openai|azure)\b(?!.*\b(chat|completion)\b)/.test(provider) ? 16 : 1 });
}

/** A provider over any source. */
export function providerOf(
  source: ModelSource,
  settings: AiSdkSettings & Environment,
  { tools, nativeOutput, textOnly, reportsCost = false }: Abilities,
): ModelProvider {
  const warn = warnings(settings, source);
  const redact = failureRedactor(settings.secrets ?? []);
  let call: Promise<Call> | undefined;
  const load = async (): Promise<Call> => ({
    settings,
    model: await source.load(),
    textOnly,
    converted: new WeakMap(),
    unknown: new UnknownItems(itemIdsIn),
  });
  return Object.freeze({
    name: source.name,
    model: source.modelId,
    settingsHash: settingsHash(
      { ...decidingIn(settings), ...source.settings, tools, nativeOutput, textOnly },
      settings.secrets ?? [],
    ),
    ...(settings.maxOutputTokens === undefined ? {} : { maxOutputTokens: settings.maxOutputTokens }),
    capabilities: Object.freeze({
      tools,
      nativeOutput,
      outputLimit: leastOutput(source.name),
      ...settingsOfModel(source.of),
      files: filesOfModel(source.of),
      providerTools: providerToolsOf(source.of),
      ...(reportsCost ? { reportsCost } : {}),
    }),
    generate: async (request: ModelRequest) => {
      const loaded = await (call ??= load());
      const since = loaded.unknown.lessons;
      const answer = await generate(loaded, request, warn);
      if (answer.failure === undefined) return answer;
      const again = learns(loaded, answer, request, since) ? await generate(loaded, request, warn) : answer;
      // The service may have repeated the key.
      return again.failure === undefined ? again : redact(again);
    },
  });
}

/** The ids by which OpenAI's service knows the parts of an answer. */
function itemIdsIn(items: object): readonly string[] {
  const options = listAt(items, "parts").flatMap((part) => Object.values(objectAt(part, "providerOptions")));
  return options.map((one) => textAt(one, "itemId")).filter(Boolean);
}

/** Whether a request can be sent again because its account does not know what another has stored. */
function learns(
  { model, converted, unknown }: Call,
  failure: ModelFailure,
  request: ModelRequest,
  since: number,
): boolean {
  const messages = unknown.learn(failure, request, (items) => items["provider"] === model.provider, since);
  for (const message of messages) converted.delete(message);
  return messages.length > 0;
}

type Warn = (warnings: Answer["warnings"]) => void;

/** Each warning once, as a log record. */
function warnings(environment: Environment, { name, modelId }: ModelSource): Warn {
  const logged = new Set<string>();
  const log = logOf(environment);
  const logOnce = (warning: SharedV4Warning): void => {
    const text = JSON.stringify(warning);
    if (logged.has(text)) return;
    logged.add(text);
    log("warn", { provider: name, model: modelId, warning }, "provider.warning");
  };
  return (given) => {
    if (Array.isArray(given)) given.forEach(logOnce);
  };
}

async function generate(call: Call, request: ModelRequest, warn: Warn): Promise<ModelResponse | ModelFailure> {
  const { signal } = request;
  const { clock = systemClock, timeoutMs = defaultTimeoutMs, secrets } = call.settings;
  using until = guardRequest(signal, clock, timeoutMs);
  try {
    const answer = await answerTo(call, request, until);
    signal.throwIfAborted();
    if ("error" in answer) return await aiSdkFailure(answer.error, secrets);
    warn(answer.warnings);
    return fromAiSdk(call, request, answer);
  } catch (error) {
    signal.throwIfAborted();
    if (until.signal.aborted) return await aiSdkFailure(until.signal.reason, secrets);
    if (error instanceof NoAnswer) return { failure: "provider", reason: "invalid_response", message: error.message };
    const answer = refusedAnswer(error);
    return answer === undefined ? await aiSdkFailure(error, secrets) : fromAiSdk(call, request, answer);
  }
}

/** Models of v2 and v3 end a stream that was cut like one that came to its end; Anthropic's end it without a finish. */
function hidesCuts(model: LanguageModelV4): boolean {
  const version: string = model.specificationVersion;
  return version !== "v4" && ["google", "other"].includes(kindOf(model));
}

async function answerTo(call: Call, request: ModelRequest, until: RequestGuard): Promise<Answer | StreamFault> {
  // V2 and V3 take the same options for what is asked here; their answers differ in finish reason and usage alone.
  const model = call.model as LanguageModelV4;
  const options = toAiSdk(call, request, until.signal);
  const { onDelta } = request;
  if (onDelta === undefined) {
    const answer = await Promise.race([model.doGenerate(options), until.ended]);
    until.done();
    return checkedAnswer(answer);
  }
  const { timeoutMs = defaultTimeoutMs, stallMs = Math.min(timeoutMs, defaultStallMs) } = call.settings;
  until.expect(stallMs);
  const raw = isOpenAIFamily(model) || hidesCuts(model) ? { includeRawChunks: true } : {};
  const begun = await Promise.race([model.doStream({ ...options, ...raw }), until.ended]);
  const { stream, response } = checkedStream(begun);
  until.received();
  const answer = await fromStream(stream, onDelta, until);
  return "error" in answer ? answer : { ...answer, response: { ...answer.response, headers: response?.headers } };
}

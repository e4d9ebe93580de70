import {
  DefinitionError,
  NotSupportedError,
  type ModelFailure,
  type ModelProvider,
  type ModelRequest,
  type ModelResponse,
} from "@proviso/core";
import { OpenAI } from "openai";
import { fromChat } from "./from-chat.ts";
import { fromResponses } from "./from-responses.ts";
import { openaiFailure } from "./openai-error.ts";
import { checkOptions, type CheckedOptions, type OpenAIClient, type OpenAIOptions } from "./options.ts";
import { receive, within, type Received } from "./receive.ts";
import { withoutKey } from "./redact.ts";
import { toChat } from "./to-chat.ts";
import { toResponses } from "./to-responses.ts";

/**
 * The call alone, for whoever wraps it: record, route, count.
 * @throws {DefinitionError} for an option that is out of range or that the API does not take, and for a missing key.
 */
export function openaiModel(given: OpenAIOptions): ModelProvider {
  const options = checkOptions(given);
  const client = options.client ?? newClient(options);
  return Object.freeze({
    name: "openai",
    model: options.model,
    ...(options.maxOutputTokens === undefined ? {} : { maxOutputTokens: options.maxOutputTokens }),
    capabilities: Object.freeze({ tools: true, nativeOutput: options.nativeOutput ?? true }),
    generate: (request: ModelRequest) => generate(options, client, request),
  });
}

/** Pure and advisory: would `openai` take these? */
export function validateOpenAIOptions(options: OpenAIOptions): boolean {
  try {
    checkOptions(options);
    return true;
  } catch (error) {
    if (error instanceof DefinitionError) return false;
    throw error;
  }
}

function newClient(options: CheckedOptions): OpenAIClient {
  const { apiKey, baseURL, organization, headers } = options;
  return new OpenAI({
    apiKey,
    ...(baseURL === undefined ? {} : { baseURL }),
    ...(organization === undefined ? {} : { organization }),
    ...(headers === undefined ? {} : { defaultHeaders: headers }),
    // Ours alone, or retries would multiply.
    maxRetries: 0,
    logLevel: "off",
  });
}

async function generate(
  options: CheckedOptions,
  client: OpenAIClient,
  request: ModelRequest,
): Promise<ModelResponse | ModelFailure> {
  if (request.onDelta !== undefined) throw new NotSupportedError("Streaming");
  const answer = await answerTo(options, client, request);
  return answer.failure === undefined ? answer : withoutKey(answer, options.apiKey);
}

async function answerTo(
  options: CheckedOptions,
  client: OpenAIClient,
  request: ModelRequest,
): Promise<ModelResponse | ModelFailure> {
  const { signal, output } = request;
  try {
    const received = await within(timeoutOf(options, client), signal, (until) => send(options, client, request, until));
    if (received.failure !== undefined) return received;
    const { body, costUsd } = received;
    return options.api === "responses" ? fromResponses(body, output, costUsd) : fromChat(body, output, costUsd);
  } catch (error) {
    return openaiFailure(error, signal);
  }
}

function send(
  options: CheckedOptions,
  client: OpenAIClient,
  request: ModelRequest,
  signal: AbortSignal,
): Promise<Received | ModelFailure> {
  const { timeoutMs } = options;
  const perRequest = { maxRetries: 0, signal, ...(timeoutMs === undefined ? {} : { timeout: timeoutMs }) } as never;
  return options.api === "responses"
    ? receive(client.responses.create(toResponses(options, request) as never, perRequest))
    : receive(client.chat.completions.create(toChat(options, request) as never, perRequest));
}

/** The SDK's own default. */
const defaultTimeoutMs = 600_000;

function timeoutOf({ timeoutMs }: CheckedOptions, client: OpenAIClient): number {
  const { timeout } = client as { readonly timeout?: unknown };
  return timeoutMs ?? (typeof timeout === "number" ? timeout : defaultTimeoutMs);
}

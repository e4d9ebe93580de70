import {
  DefinitionError,
  systemClock,
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
import { receiveStream, type StallGuard } from "./receive-stream.ts";
import { withoutKey } from "./redact.ts";
import { chatReader } from "./stream-chat.ts";
import { responsesReader } from "./stream-responses.ts";
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
  const { apiKey, baseURL, organization, headers, fetch } = options;
  return new OpenAI({
    apiKey,
    ...(baseURL === undefined ? {} : { baseURL }),
    ...(organization === undefined ? {} : { organization }),
    ...(headers === undefined ? {} : { defaultHeaders: headers }),
    ...(fetch === undefined ? {} : { fetch: fetch as never }),
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
    const { clock = systemClock } = options;
    const timeoutMs = timeoutOf(options, client);
    const stallMs = options.stallMs ?? Math.min(timeoutMs, defaultStallMs);
    const received = await within(timeoutMs, clock, signal, (until, abort) =>
      request.onDelta === undefined
        ? send(options, client, request, until)
        : stream(options, client, { ...request, onDelta: request.onDelta, signal: until }, { clock, stallMs, abort }),
    );
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
  const perRequest = requestOptions(options, signal);
  return options.api === "responses"
    ? receive(client.responses.create(toResponses(options, request) as never, perRequest))
    : receive(client.chat.completions.create(toChat(options, request) as never, perRequest));
}

function stream(
  options: CheckedOptions,
  client: OpenAIClient,
  request: ModelRequest & Required<Pick<ModelRequest, "onDelta">>,
  guard: StallGuard,
): Promise<Received | ModelFailure> {
  const perRequest = requestOptions(options, request.signal);
  if (options.api === "responses") {
    const body = { ...toResponses(options, request), stream: true };
    return receiveStream(client.responses.create(body as never, perRequest), responsesReader(request.onDelta), guard);
  }
  // Without being asked the service does not tell the usage of a stream.
  const body = { stream_options: { include_usage: true }, ...toChat(options, request), stream: true };
  return receiveStream(client.chat.completions.create(body as never, perRequest), chatReader(request.onDelta), guard);
}

function requestOptions({ timeoutMs }: CheckedOptions, signal: AbortSignal): never {
  return { maxRetries: 0, signal, ...(timeoutMs === undefined ? {} : { timeout: timeoutMs }) } as never;
}

/** Milliseconds between two events of a stream, unless the options say otherwise. */
const defaultStallMs = 60_000;

/** The SDK's own default. */
const defaultTimeoutMs = 600_000;

function timeoutOf({ timeoutMs }: CheckedOptions, client: OpenAIClient): number {
  const { timeout } = client as { readonly timeout?: unknown };
  return timeoutMs ?? (typeof timeout === "number" ? timeout : defaultTimeoutMs);
}

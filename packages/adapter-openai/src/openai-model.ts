import {
  systemClock,
  type ModelFailure,
  type ModelProvider,
  type ModelRequest,
  type ModelResponse,
} from "@proviso/core";
import { newClient, send } from "./client.ts";
import { fromChat } from "./from-chat.ts";
import { fromResponses } from "./from-responses.ts";
import { openaiFailure } from "./openai-error.ts";
import { checkOptions, type CheckedOptions, type OpenAIClient, type OpenAIOptions } from "./options.ts";
import { receive, within } from "./receive.ts";
import { receiveStream } from "./receive-stream.ts";
import { withoutKey } from "./redact.ts";
import { chatReader } from "./stream-chat.ts";
import { responsesReader } from "./stream-responses.ts";

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

/** Pure and advisory, and never throws, whatever it is given: would `openai` take these? */
export function validateOpenAIOptions(options: OpenAIOptions): boolean {
  try {
    checkOptions(options);
    return true;
  } catch {
    return false;
  }
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
  const { signal, output, onDelta } = request;
  try {
    const { api, clock = systemClock } = options;
    const timeoutMs = timeoutOf(options, client);
    const stallMs = options.stallMs ?? Math.min(timeoutMs, defaultStallMs);
    const received = await within(timeoutMs, clock, signal, (until, abort) => {
      const { answer, direct } = send(options, client, request, until);
      if (onDelta === undefined) return receive(answer);
      const reader = api === "responses" ? responsesReader(onDelta) : chatReader(onDelta);
      return receiveStream(answer, reader, { clock, stallMs, abort }, direct);
    });
    if (received.failure !== undefined) return received;
    const { body, costUsd } = received;
    return api === "responses" ? fromResponses(body, output, costUsd) : fromChat(body, output, costUsd);
  } catch (error) {
    return openaiFailure(error, signal);
  }
}

/** Milliseconds between two events of a stream, unless the options say otherwise. */
const defaultStallMs = 60_000;

/** The SDK's own default. */
const defaultTimeoutMs = 600_000;

function timeoutOf({ timeoutMs }: CheckedOptions, client: OpenAIClient): number {
  const { timeout } = client as { readonly timeout?: unknown };
  return timeoutMs ?? (typeof timeout === "number" ? timeout : defaultTimeoutMs);
}

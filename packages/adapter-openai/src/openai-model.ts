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
  const { signal, output } = request;
  const { timeoutMs } = options;
  const perRequest = { maxRetries: 0, signal, ...(timeoutMs === undefined ? {} : { timeout: timeoutMs }) };
  try {
    if (options.api === "responses") {
      const sent = client.responses.create(toResponses(options, request) as never, perRequest as never);
      const { data, costUsd } = await received(sent);
      return fromResponses(data, output, costUsd);
    }
    const sent = client.chat.completions.create(toChat(options, request) as never, perRequest as never);
    const { data, costUsd } = await received(sent);
    return fromChat(data, output, costUsd);
  } catch (error) {
    return openaiFailure(error, signal, options.apiKey);
  }
}

/** What LiteLLM says a request cost, in US dollars. */
const costHeader = "x-litellm-response-cost";

interface WithResponse {
  withResponse(): Promise<{ readonly data: unknown; readonly response: { readonly headers: Headers } }>;
}

/** The body; a stand-in for the client need not know of headers. */
async function received(sent: unknown): Promise<{ readonly data: unknown; readonly costUsd: number | undefined }> {
  const { withResponse } = sent as Partial<WithResponse>;
  if (typeof withResponse !== "function") return { data: await sent, costUsd: undefined };
  const { data, response } = await withResponse.call(sent);
  const cost = Number.parseFloat(response.headers.get(costHeader) ?? "");
  return { data, costUsd: Number.isFinite(cost) && cost >= 0 ? cost : undefined };
}

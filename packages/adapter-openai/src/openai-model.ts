import {
  systemClock,
  type ModelFailure,
  type ModelProvider,
  type ModelRequest,
  type ModelResponse,
} from "@proviso/core";
import {
  chatFiles,
  defaultStallMs,
  failureRedactor,
  guardRequest,
  responsesFiles,
  settingsHash,
  type RequestGuard,
} from "@proviso/adapter-kit";
import { connect, type Connection, type Opened } from "./connection.ts";
import { fromChat } from "./from-chat.ts";
import { fromResponses } from "./from-responses.ts";
import { checkOptions, compatibleService, decidingIn, type CheckedOptions, type OpenAIOptions } from "./options.ts";
import { receive, type Received } from "./receive.ts";
import { receiveStream } from "./receive-stream.ts";
import { requestFailure } from "./request-failure.ts";
import { secretsOf } from "./secrets.ts";
import { settingsOfApi } from "./settings.ts";
import { chatReader } from "./stream-chat.ts";
import { responsesReader } from "./stream-responses.ts";

/**
 * Makes the model alone, without an adapter, for code that wraps it to record, route or count requests.
 * @throws {DefinitionError} for an option that is out of range or that the API does not take, and for a missing key.
 */
export function openaiModel(given: OpenAIOptions): ModelProvider {
  const options = checkOptions(given);
  const connection = connect(options);
  const secrets = secretsOf(options);
  const redact = failureRedactor(secrets);
  const { account } = options;
  const generate = (request: ModelRequest): ReturnType<ModelProvider["generate"]> => {
    const since = account?.refusals ?? 0;
    return answerTo({ ...options, secrets }, connection, request).then((answer) => {
      if (answer.failure === undefined) {
        account?.made(answer.message.providerItems);
        return answer;
      }
      // The service may have repeated the key.
      return account?.learns(answer, request, since) === true ? generate(request) : redact(answer);
    });
  };
  return Object.freeze({
    name: "openai",
    model: options.model,
    settingsHash: settingsHash(decidingIn(options), secrets),
    ...(options.maxOutputTokens === undefined ? {} : { maxOutputTokens: options.maxOutputTokens }),
    capabilities: Object.freeze({
      tools: true,
      nativeOutput: options.nativeOutput ?? true,
      files: options.api === "responses" ? responsesFiles("openai") : chatFiles("openai"),
      outputLimit: Object.freeze({ least: leastOutputTokens[options.api] }),
      ...(options.api === "responses" ? { providerTools: Object.freeze(["openai.*"]) } : {}),
      ...settingsOfApi(options.api),
    }),
    generate,
  });
}

/** `max_output_tokens` of the Responses API is at least 16. Source: OpenAI API reference, "Create a model response". */
const leastOutputTokens = { responses: 16, chat: 1 } as const;

async function answerTo(
  options: CheckedOptions,
  connection: Connection,
  request: ModelRequest,
): Promise<ModelResponse | ModelFailure> {
  const { signal, output } = request;
  const { timeoutMs } = connection;
  // Not `using`: what it is compiled to for Node 22 would be kept for each request that waits.
  const guard = guardRequest(signal, options.clock ?? systemClock, timeoutMs);
  try {
    const opened = await connection.open(request, guard);
    const received = opened.failure === undefined ? await read(opened, request, options, { guard, timeoutMs }) : opened;
    signal.throwIfAborted();
    // An aborted stream ends as if it were whole.
    if (received.failure !== undefined || received.isWhole !== true) guard.signal.throwIfAborted();
    guard.done();
    if (received.failure !== undefined) return received;
    const { body, costUsd, rateLimit } = received;
    const answer =
      options.api === "responses"
        ? fromResponses(body, request, { costUsd, service: options.account?.service })
        : fromChat(body, output, { costUsd, service: compatibleService(options) });
    return rateLimit === undefined ? answer : { ...answer, rateLimit };
  } catch (error) {
    return requestFailure(guard.signal.aborted ? guard.signal.reason : error, signal, connection.address);
  } finally {
    guard[Symbol.dispose]();
  }
}

function read(
  opened: Opened,
  { onDelta }: ModelRequest,
  { api, stallMs, secrets = [] }: CheckedOptions,
  { guard, timeoutMs }: { readonly guard: RequestGuard; readonly timeoutMs: number },
): Promise<Received | ModelFailure> {
  if (onDelta === undefined) return receive(opened, secrets, guard);
  const reader = api === "responses" ? responsesReader(onDelta) : chatReader(onDelta);
  return receiveStream(opened, reader, { guard, secrets, stallMs: stallMs ?? Math.min(timeoutMs, defaultStallMs) });
}

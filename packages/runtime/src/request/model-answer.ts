import type {
  AssistantMessage,
  ModelFailure,
  ModelResponse,
  ProviderErrorReason,
  Allowance,
  RateLimit,
  ThrottleKind,
  ToolCall,
} from "@proviso/core";
import { isRecord } from "@proviso/core/provider";
import { finishReasonIn, whyNoJson, messageOf } from "@proviso/core/internal";
import { numberOf, readGenerated, readLogprobs, readProviderCalls, readRoute, readSources } from "./answer-fields.ts";
import { isNetworkError, isTimeoutError, isUnreachable, networkFailure } from "./network-error.ts";
import { readUsage } from "./read-usage.ts";
import { withShownAddresses } from "./shown-address.ts";

interface Begun<Given extends unknown[]> {
  begin(...given: Given): Promise<unknown>;
  /** Called with the answer before anything waits for it. */
  read?(answer: ModelResponse | ModelFailure): void;
}

/** Begins the work; what it throws is returned as the data that it should have been. Rejects with what `read` throws alone. */
export function asData<Given extends unknown[]>(
  work: Begun<Given>,
  ...given: Given
): Promise<ModelResponse | ModelFailure> {
  const { read } = work;
  const readBy =
    (reader: (given: unknown) => ModelResponse | ModelFailure) =>
    (given: unknown): ModelResponse | ModelFailure => {
      const answer = reader(given);
      read?.(answer);
      return answer;
    };
  const [answered, failed] = read === undefined ? [checked, thrown] : [readBy(checked), readBy(thrown)];
  try {
    return Promise.resolve(work.begin(...given)).then(answered, failed);
  } catch (cause) {
    return new Promise((resolve) => resolve(failed(cause)));
  }
}

function checked(answer: unknown): ModelResponse | ModelFailure {
  try {
    const read = readAnswer(answer);
    return typeof read === "string" ? invalid(read, answer) : read;
  } catch (cause) {
    return thrown(cause);
  }
}

function invalid(message: string, payload: unknown): ModelFailure {
  return { failure: "provider", reason: "invalid_response", message, payload };
}

/** What a provider threw, as the failure that it should have returned. */
export function thrown(cause: unknown): ModelFailure {
  const message = withShownAddresses(messageOf(cause));
  try {
    if (isUnreachable(cause)) return { ...networkFailure(cause), cause };
    if (isTimeoutError(cause)) return { failure: "throttle", kind: "timeout", message, cause };
    if (isNetworkError(cause)) return { failure: "throttle", kind: "unknown", message, cause };
  } catch {
    // An error whose fields throw when they are read did not come from the network.
  }
  return { failure: "provider", reason: "unknown", message, cause };
}

const noMessage = "The provider returned no message.";

/**
 * Anyone may have written the provider: what it returns is read once, here, and only what was read goes on. Returns
 * a text where it cannot be read: the reason.
 */
function readAnswer(answer: unknown): ModelResponse | ModelFailure | string {
  if (!isRecord(answer)) return noMessage;
  const { failure, message, payload, usage } = answer;
  if (failure !== undefined) return readFailure(answer, { failure, message, payload, usage });
  const read = readMessage(message);
  if (typeof read === "string") return read;
  const { finishReason, model, parsed, refusal, sources, providerCalls, logprobs, serviceTier, generated, rateLimit } =
    answer;
  const { route, queuedMs } = answer;
  const response: Whole<ModelResponse> = {
    failure: undefined,
    message: read,
    finishReason: finishReasonIn(finishReason) ?? "other",
    usage: readUsage(usage),
    model: typeof model === "string" ? model : undefined,
    parsed,
    refusal: typeof refusal === "string" ? refusal : undefined,
    sources: readSources(sources, read.text),
    providerCalls: readProviderCalls(providerCalls),
    logprobs: readLogprobs(logprobs),
    serviceTier: typeof serviceTier === "string" && serviceTier !== "" ? serviceTier : undefined,
    generated: readGenerated(generated, read.text.length),
    payload,
    rateLimit: readRateLimit(rateLimit),
    route: readRoute(route),
    queuedMs: numberOf(queuedMs),
  };
  return response;
}

/** A limit that is no number is as if it were not stated; a pace refuses those that are not positive. */
function readRateLimit(stated: unknown): RateLimit | undefined {
  if (!isRecord(stated)) return undefined;
  const { requests, tokens, inputTokens, outputTokens, tokensLeft, outputTokensLeft } = stated;
  return {
    requests: numberOf(requests),
    tokens: numberOf(tokens),
    inputTokens: numberOf(inputTokens),
    outputTokens: numberOf(outputTokens),
    tokensLeft: readAllowance(tokensLeft),
    outputTokensLeft: readAllowance(outputTokensLeft),
  };
}

function readAllowance(stated: unknown): Allowance | undefined {
  if (!isRecord(stated)) return undefined;
  const [left, size] = [numberOf(stated["left"]), numberOf(stated["size"])];
  return left === undefined || size === undefined ? undefined : { left, size };
}

/** Names every field: one that is added to the contract has to be read here. */
type Whole<T> = { readonly [K in keyof T]-?: T[K] | undefined } & T;
type FailureOf<F extends ModelFailure["failure"]> = Whole<Extract<ModelFailure, { readonly failure: F }>>;

/** Returns a text where it cannot be read: the reason. Otherwise it would fail later, in the middle of something else. */
function readMessage(message: unknown): AssistantMessage | string {
  if (!isRecord(message)) return noMessage;
  const { text, toolCalls, reasoning, providerItems } = message;
  if (typeof text !== "string" || !Array.isArray(toolCalls)) return noMessage;
  // Not pushed one by one: it is kept with the history, and a list that grew has room for sixteen more.
  const calls = (toolCalls as readonly unknown[]).map(readCall);
  // Also where the list has a hole.
  const unread = calls.findIndex((call) => !isRecord(call));
  if (unread !== -1) return (calls[unread] as string | undefined) ?? noMessage;
  const plain = { role: "assistant", text, toolCalls: calls as readonly ToolCall[] } as const;
  const own = typeof reasoning === "string" && reasoning !== "" ? { ...plain, reasoning } : plain;
  if (providerItems === undefined) return own;
  const why = whyNoJson(providerItems);
  if (why !== undefined) return `The provider's own items cannot be written as JSON: ${why}`;
  return { ...own, providerItems };
}

function readCall(call: unknown): ToolCall | string {
  if (!isRecord(call)) return noMessage;
  const { id, name, arguments: given = "" } = call;
  if (typeof name !== "string") return noMessage;
  if (typeof given !== "string" && given !== null) {
    return `The provider returned a call of ${name} whose arguments are no text.`;
  }
  return { id: typeof id === "string" ? id : "", name, arguments: given ?? "" };
}

function readFailure(
  answer: Readonly<Record<string, unknown>>,
  read: Readonly<Record<"failure" | "message" | "payload" | "usage", unknown>>,
): ModelFailure | string {
  const { failure, message, payload } = read;
  if (typeof message !== "string") return noMessage;
  const { status, cause, rateLimit, route: tries } = answer;
  const usage = readUsage(read.usage);
  const stated = readRateLimit(rateLimit);
  const route = readRoute(tries);
  const shared = { message, status: numberOf(status), payload, usage, cause, rateLimit: stated, route };
  switch (failure) {
    case "throttle": {
      const { kind, retry, retryAfterMs: asked } = answer;
      // A wait that is no number of milliseconds is as if nothing was asked for.
      const retryAfterMs = typeof asked === "number" && Number.isFinite(asked) && asked >= 0 ? asked : undefined;
      const known = typeof kind === "string" ? (kind as ThrottleKind) : "unknown";
      const refused: FailureOf<"throttle"> = { ...shared, failure, kind: known, retryAfterMs, retry: retry !== false };
      return refused;
    }
    case "provider": {
      const { reason } = answer;
      const known = typeof reason === "string" ? (reason as ProviderErrorReason) : "unknown";
      const refused: FailureOf<"provider"> = { ...shared, failure, reason: known };
      return refused;
    }
    case "process": {
      const { stderr, exitCode, signal } = answer;
      if (typeof stderr !== "string") return noMessage;
      const ended = {
        stderr,
        exitCode: numberOf(exitCode) ?? null,
        signal: typeof signal === "string" ? signal : null,
      };
      const refused: FailureOf<"process"> = { ...shared, failure, ...ended };
      return refused;
    }
    default:
      return noMessage;
  }
}

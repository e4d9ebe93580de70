import { anthropicAnswer } from "./answer-anthropic.ts";
import { geminiAnswer } from "./answer-gemini.ts";
import { chatAnswer, responsesAnswer, type Ids } from "./answer.ts";
import type { Delivery } from "./deliver.ts";
import { distortedBody, distortedStep } from "./distort.ts";
import { faults, type FaultName } from "./faults.ts";
import type { PromptCache } from "./prompt-cache.ts";
import { refusalOf } from "./refusals.ts";
import type { Scripted } from "./script.ts";
import { withSearches } from "./search.ts";
import { streamOf } from "./sse.ts";
import { wireStream } from "./stream-faults.ts";
import {
  hasNoBody,
  isObject,
  type AnswerStep,
  type Api,
  type HttpStep,
  type JsonObject,
  type SimulatedRequest,
} from "./types.ts";

const defaultChunk = 16;

export interface Played {
  readonly delivery: Delivery;
  /** The answer for the log: the JSON body, or what a stream adds up to. */
  readonly answer: unknown;
  readonly afterMs: number;
}

/** What an answer is made with. */
export interface Making {
  readonly ids: Ids;
  readonly cache: PromptCache;
  /** Milliseconds since 1970. */
  readonly now: number;
  /** Whether it is sent as a stream, which can carry arguments that are no JSON. */
  readonly asStream: boolean;
}

export interface PlayOptions extends Omit<Making, "asStream"> {
  readonly chunkCharacters?: number | undefined;
  readonly eventMs?: number | undefined;
}

/** What is sent for a step, as the fault has it. */
export function play(request: SimulatedRequest, { step, fault }: Scripted, options: PlayOptions): Played {
  const afterMs = step.afterMs ?? 0;
  if (fault !== undefined && faults[fault].group === "status") {
    return { ...playHttp(refusalOf(fault, options.now, request.api), fault), afterMs };
  }
  const inPlace = fault === undefined ? undefined : bodies[fault];
  if (inPlace !== undefined) return { ...playHttp({ status: 200, ...inPlace }, fault), afterMs };
  if ("status" in step) return playHttp(step, fault);
  const asStream = (request.stream || fault === "stream_for_json") && fault !== "stream_as_json";
  const body = answered(request, step, fault, { ...options, asStream });
  if (!asStream) return { ...playHttp({ status: 200, body }, fault), afterMs };
  const streamOptions = request.body["stream_options"];
  const events = streamOf(request.api, body, {
    chunkCharacters: step.chunkCharacters ?? options.chunkCharacters ?? defaultChunk,
    includeUsage: isObject(streamOptions) && streamOptions["include_usage"] === true,
  });
  const pieces = wireStream(request.api, events, fault);
  const eventMs = step.eventMs ?? options.eventMs ?? 0;
  // What was cut on purpose has to arrive apart.
  const pieceMs = fault === "stream_split" ? Math.max(1, eventMs) : eventMs;
  const type = fault === "wrong_content_type" ? "text/plain" : "text/event-stream; charset=utf-8";
  const headers = { "content-type": type, "cache-control": "no-cache" };
  return { delivery: { status: 200, headers, pieces, fault, pieceMs }, answer: body, afterMs };
}

/** An HTTP answer as it is. @throws {TypeError} when its body is no JSON. */
export function playHttp({ status, headers, body, afterMs = 0 }: HttpStep, fault?: FaultName): Played {
  const fields = Object.fromEntries(Object.entries(headers ?? {}).map(([name, value]) => [name.toLowerCase(), value]));
  if (hasNoBody(status)) {
    return { delivery: { status, headers: fields, pieces: [""], fault, pieceMs: 0 }, answer: undefined, afterMs };
  }
  const isText = typeof body === "string";
  const text = isText ? body : JSON.stringify(body ?? {});
  const type = isText || fault === "wrong_content_type" ? "text/plain; charset=utf-8" : "application/json";
  const all: Record<string, string> = {
    "content-type": type,
    // What is cut short on purpose must not be known to be so by its length.
    ...(fault === "cut_body" ? {} : { "content-length": String(Buffer.byteLength(text)) }),
    ...fields,
  };
  return { delivery: { status, headers: all, pieces: [text], fault, pieceMs: 0 }, answer: body, afterMs };
}

/** The bodies that replace an answer; they are sent with status 200. */
const bodies: { readonly [name in FaultName]?: Pick<HttpStep, "body" | "headers"> } = {
  html: { body: "<!doctype html><html><body>Please log in.</body></html>", headers: { "content-type": "text/html" } },
  empty_body: { body: "", headers: { "content-type": "application/json" } },
  malformed_json: { body: '{"id": "x", output: oops}', headers: { "content-type": "application/json" } },
  wrong_shape: { body: { object: "list", data: [], has_more: false } },
  json_list: { body: "[1, 2]", headers: { "content-type": "application/json" } },
  json_null: { body: "null", headers: { "content-type": "application/json" } },
};

/** Makes the answer of a dialect as the body that is sent without a stream. */
const answers: {
  readonly [api in Api]: (request: SimulatedRequest, step: AnswerStep, making: Making) => JsonObject;
} = {
  responses: (request, step, { ids, now }) => responsesAnswer(request, step, ids, Math.floor(now / 1_000)),
  chat: (request, step, { ids, now }) => chatAnswer(request, step, ids, Math.floor(now / 1_000)),
  anthropic: anthropicAnswer,
  gemini: geminiAnswer,
};

function answered(
  request: SimulatedRequest,
  step: AnswerStep,
  fault: FaultName | undefined,
  making: Making,
): JsonObject {
  const distorted = fault === undefined ? step : distortedStep(step, fault);
  const made = answers[request.api](request, distorted, making);
  const body = withSearches(request, step.searches ?? [], made, making.ids);
  return fault === undefined ? body : distortedBody(request.api, body, fault);
}

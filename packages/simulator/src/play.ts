import { chatAnswer, responsesAnswer, type Ids } from "./answer.ts";
import { now } from "./clock.ts";
import type { Delivery } from "./deliver.ts";
import { distortedBody, distortedStep } from "./distort.ts";
import { faults, type FaultName } from "./faults.ts";
import { refusalOf } from "./refusals.ts";
import { streamOf } from "./sse.ts";
import { wireStream } from "./stream-faults.ts";
import { isObject, type AnswerStep, type HttpStep, type JsonObject, type SimulatedRequest } from "./types.ts";

const defaultChunk = 16;

/** What is sent for a step, as the fault has it; and the answer for the log. */
export function play(
  request: SimulatedRequest,
  step: AnswerStep | HttpStep,
  fault: FaultName | undefined,
  ids: Ids,
): { readonly delivery: Delivery; readonly answer: unknown } {
  if (fault !== undefined && faults[fault].group === "status") {
    const refusal = refusalOf(fault);
    return { delivery: { ...refusal, fault, afterMs: step.afterMs }, answer: refusal.body };
  }
  if ("status" in step) return { delivery: { ...step, fault }, answer: step.body };
  const body = answered(request, step, fault, ids);
  const inPlace = fault === undefined ? undefined : bodies[fault];
  const { afterMs, eventMs } = step;
  if (inPlace !== undefined) {
    return { delivery: { status: 200, ...inPlace, fault, afterMs }, answer: inPlace.body };
  }
  if (request.body["stream"] !== true || fault === "stream_as_json") {
    return { delivery: { status: 200, body, fault, afterMs }, answer: body };
  }
  const options = request.body["stream_options"];
  const includeUsage = isObject(options) && options["include_usage"] === true;
  const events = streamOf(request.api, body, { chunkCharacters: step.chunkCharacters ?? defaultChunk, includeUsage });
  return {
    delivery: { status: 200, stream: wireStream(request.api, events, fault), fault, afterMs, eventMs },
    answer: body,
  };
}

/** In place of a body: sent with 200. */
const bodies: { readonly [name in FaultName]?: Pick<HttpStep, "body" | "headers"> } = {
  html: { body: "<!doctype html><html><body>Please log in.</body></html>", headers: { "content-type": "text/html" } },
  empty_body: { body: "", headers: { "content-type": "application/json" } },
  malformed_json: { body: '{"id": "x", output: oops}', headers: { "content-type": "application/json" } },
  wrong_shape: { body: { object: "list", data: [], has_more: false } },
  json_list: { body: "[1, 2]", headers: { "content-type": "application/json" } },
  json_null: { body: "null", headers: { "content-type": "application/json" } },
};

function answered(request: SimulatedRequest, step: AnswerStep, fault: FaultName | undefined, ids: Ids): JsonObject {
  const createdAt = Math.floor(now() / 1_000);
  const told = fault === undefined ? step : distortedStep(step, fault);
  const body = (request.api === "responses" ? responsesAnswer : chatAnswer)(request, told, ids, createdAt);
  return fault === undefined ? body : distortedBody(request.api, body, fault);
}

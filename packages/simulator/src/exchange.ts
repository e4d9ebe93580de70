import type { IncomingMessage, ServerResponse } from "node:http";
import type { Ids } from "./answer.ts";
import { pause, type SimulatorClock } from "./clock.ts";
import { breaksOff, deliver } from "./deliver.ts";
import type { Limiter } from "./limit.ts";
import type { KeptItems } from "./kept-items.ts";
import { outputLimit } from "./output-limit.ts";
import { play, playHttp, type Played } from "./play.ts";
import { readBody } from "./read-body.ts";
import type { PromptCache } from "./prompt-cache.ts";
import { readRequest } from "./read.ts";
import { badRequest, ownMistake, Refusal } from "./refusal.ts";
import { checkEnvelope, checkKey, routeOf, serviceOf } from "./route.ts";
import type { Script } from "./script.ts";
import type { SimulatorOptions } from "./server.ts";
import { errorStep } from "./service-error.ts";
import { isObject, type Api, type LoggedRequest, type SimulatedRequest } from "./types.ts";

/** What lasts from request to request. */
export interface State {
  readonly options: SimulatorOptions;
  readonly clock: SimulatorClock;
  readonly ids: Ids;
  readonly startedAt: number;
  readonly script: Script;
  readonly limiter: Limiter | undefined;
  readonly cache: PromptCache;
  readonly items: KeptItems;
  readonly requests: LoggedRequest[];
  /** Requests that a step was chosen for. */
  accepted: number;
  answered: number;
  awaited: number;
}

type Logged = { -readonly [key in keyof LoggedRequest]: LoggedRequest[key] };

/** One request, from its first byte until its answer is sent or its sender is gone. Never rejects. */
export async function serve(state: State, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const gone = new AbortController();
  state.awaited += 1;
  const closed = new Promise<void>((resolve) =>
    response.once("close", () => {
      state.awaited -= 1;
      gone.abort();
      resolve();
    }),
  );
  // A client that leaves while it is written to is no error of the simulator's.
  response.on("error", () => {});
  try {
    await exchange(state, request, response, gone.signal);
  } catch (error) {
    await sendMistake(state, pathOf(request), response, error, gone.signal).catch(() => response.destroy());
  }
  await closed;
}

async function sendMistake(
  state: State,
  path: string,
  response: ServerResponse,
  error: unknown,
  gone: AbortSignal,
): Promise<void> {
  if (response.headersSent) return void response.destroy();
  const api = serviceOf(path);
  const played = playHttp(errorStep(api, ownMistake(error, "simulator_failed")));
  await send(state, response, { api, played, durationMs: 0 }, gone);
}

function pathOf({ url = "" }: IncomingMessage): string {
  return url.split("?")[0] ?? "";
}

async function exchange(
  state: State,
  request: IncomingMessage,
  response: ServerResponse,
  gone: AbortSignal,
): Promise<void> {
  const { clock, options } = state;
  const arrivedAt = clock.now();
  const received = await readBody(request);
  if (received === undefined) return;
  const path = pathOf(request);
  const { body, played } = answerTo(state, request, path, received);
  await pause(clock, (options.latencyMs ?? 0) + played.afterMs, gone);
  const durationMs = clock.now() - arrivedAt;
  const logged: Logged = {
    index: state.answered++,
    api: routeOf(path)?.api,
    method: request.method ?? "",
    path,
    headers: headersOf(request),
    body,
    status: played.delivery.status,
    answer: played.answer,
    fault: played.delivery.fault,
    aborted: gone.aborted,
    atMs: arrivedAt - state.startedAt,
    durationMs,
  };
  if (options.keepRequests !== false) state.requests.push(logged);
  response.once("close", () => (logged.aborted = !response.writableFinished && !breaksOff(logged.fault)));
  const sent = mistakeOfListener(options, logged) ?? played;
  await send(state, response, { api: serviceOf(path), played: sent, durationMs }, gone);
}

/** What is sent instead when the listener throws: a test that is broken has to notice. */
function mistakeOfListener({ onRequest }: SimulatorOptions, logged: Logged): Played | undefined {
  try {
    onRequest?.(logged);
    return undefined;
  } catch (error) {
    const played = playHttp(errorStep(logged.api, ownMistake(error, "simulator_listener_failed")));
    logged.status = played.delivery.status;
    logged.answer = played.answer;
    return played;
  }
}

interface Sending {
  readonly api: Api | undefined;
  readonly played: Played;
  readonly durationMs: number;
}

function send(state: State, response: ServerResponse, sending: Sending, gone: AbortSignal): Promise<void> {
  const { api, played, durationMs } = sending;
  const headers = {
    ...serviceHeaders(api, state.ids.next("req"), Math.round(durationMs)),
    date: new Date(state.clock.now()).toUTCString(),
    ...state.limiter?.headers(api),
    ...played.delivery.headers,
  };
  return deliver(response, { ...played.delivery, headers }, state.clock, gone);
}

/** What each service names a request by, and the time that it took. */
function serviceHeaders(api: Api | undefined, id: string, ms: number): Readonly<Record<string, string>> {
  if (api === "anthropic") return { "request-id": id };
  if (api === "gemini") return { "server-timing": `gfet4t7; dur=${ms}` };
  return { "x-request-id": id, "openai-processing-ms": String(ms) };
}

const loggedHeaders = ["content-type", "content-length", "user-agent", "accept", "openai-organization"] as const;

function headersOf(request: IncomingMessage): Readonly<Record<string, string>> {
  const headers: Record<string, string> = {};
  for (const name of loggedHeaders) {
    const value = request.headers[name];
    if (value !== undefined) headers[name] = String(value);
  }
  return headers;
}

interface Answered {
  readonly body: unknown;
  readonly played: Played;
}

/** What the request was, and what is sent. */
function answerTo(
  state: State,
  request: IncomingMessage,
  path: string,
  received: { readonly text: string } | "too large",
): Answered {
  let body: unknown = null;
  const service = serviceOf(path);
  const query = new URLSearchParams((request.url ?? "").split("?")[1] ?? "");
  const envelope = { headers: request.headers, query };
  try {
    if (received === "too large") throw new Refusal(413, "The request is larger than the simulator takes.");
    body = received.text;
    checkKey(state.options.apiKey, service, envelope);
    if (path === "/v1/models" && request.method === "GET") return { body, played: playHttp(models) };
    const route = routeOf(path);
    if (route === undefined) throw new Refusal(404, `Invalid URL (${request.method} ${path})`);
    if (request.method !== "POST") throw methodNotAllowed(request.method, path);
    checkEnvelope(route, envelope);
    body = parseBody(received.text);
    if (!isObject(body)) throw badRequest("The body must be a JSON object.");
    const items = state.items.of(request.headers.authorization ?? "");
    const read = readRequest(route, body, state.accepted, items);
    const limited = state.limiter?.take(tokensAsked(received.text, read), read.api);
    if (limited !== undefined) return { body, played: playHttp(errorStep(service, limited)) };
    const scripted = state.script.next(read);
    state.accepted += 1;
    const played = play(read, scripted, playOptions(state));
    if (read.api === "responses") items.keep(body, played.answer);
    return { body, played };
  } catch (error) {
    const refused = error instanceof Refusal ? error.error : ownMistake(error, "simulator_rule_failed");
    return { body, played: playHttp(errorStep(service, refused)) };
  }
}

function playOptions({ options, ids, cache, clock }: State): Parameters<typeof play>[2] {
  const { chunkCharacters, eventMs } = options;
  return { ids, cache, now: clock.now(), chunkCharacters, eventMs };
}

/** Counts tokens as the service's limit does: those of what is sent, and the most that may be answered. */
function tokensAsked(text: string, request: SimulatedRequest): number {
  return Math.ceil(text.length / 4) + (outputLimit(request) ?? 0);
}

const models = {
  status: 200,
  body: { object: "list", data: [{ id: "simulated", object: "model", created: 0, owned_by: "proviso" }] },
} as const;

function methodNotAllowed(method: string | undefined, path: string): Refusal {
  const headers = { allow: "POST" };
  return new Refusal(405, `Not allowed to ${method} on ${path}.`, { code: "method_not_supported", headers });
}

function parseBody(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw badRequest("We could not parse the JSON body of your request.");
  }
}

import type { IncomingMessage, ServerResponse } from "node:http";
import type { Ids } from "./answer.ts";
import { pause, type SimulatorClock } from "./clock.ts";
import { breaksOff, deliver } from "./deliver.ts";
import type { Limiter } from "./limit.ts";
import { outputLimit } from "./output-limit.ts";
import { play, playHttp, type Played } from "./play.ts";
import { readBody } from "./read-body.ts";
import { readRequest } from "./read.ts";
import { badRequest, ownMistake, Refusal } from "./refusal.ts";
import type { Script } from "./script.ts";
import type { SimulatorOptions } from "./server.ts";
import { isObject, type Api, type LoggedRequest, type SimulatedRequest } from "./types.ts";

/** What lasts from request to request. */
export interface State {
  readonly options: SimulatorOptions;
  readonly clock: SimulatorClock;
  readonly ids: Ids;
  readonly startedAt: number;
  readonly script: Script;
  readonly limiter: Limiter | undefined;
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
    await sendMistake(state, response, error, gone.signal).catch(() => response.destroy());
  }
  await closed;
}

async function sendMistake(state: State, response: ServerResponse, error: unknown, gone: AbortSignal): Promise<void> {
  if (response.headersSent) response.destroy();
  else await send(state, response, playHttp(ownMistake(error, "simulator_failed")), 0, gone);
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
  const path = (request.url ?? "").split("?")[0] ?? "";
  const { body, played } = answerTo(state, request, path, received);
  await pause(clock, (options.latencyMs ?? 0) + played.afterMs, gone);
  const durationMs = clock.now() - arrivedAt;
  const logged: Logged = {
    index: state.answered++,
    api: apis.get(path),
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
  await send(state, response, mistakeOfListener(options, logged) ?? played, durationMs, gone);
}

/** What is sent instead when the listener throws: a test that is broken has to notice. */
function mistakeOfListener({ onRequest }: SimulatorOptions, logged: Logged): Played | undefined {
  try {
    onRequest?.(logged);
    return undefined;
  } catch (error) {
    const played = playHttp(ownMistake(error, "simulator_listener_failed"));
    logged.status = played.delivery.status;
    logged.answer = played.answer;
    return played;
  }
}

function send(
  state: State,
  response: ServerResponse,
  { delivery }: Played,
  durationMs: number,
  gone: AbortSignal,
): Promise<void> {
  const headers = {
    "x-request-id": state.ids.next("req"),
    "openai-processing-ms": String(Math.round(durationMs)),
    date: new Date(state.clock.now()).toUTCString(),
    ...state.limiter?.headers(),
    ...delivery.headers,
  };
  return deliver(response, { ...delivery, headers }, state.clock, gone);
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

const apis: ReadonlyMap<string, Api> = new Map([
  ["/v1/responses", "responses"],
  ["/v1/chat/completions", "chat"],
]);

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
  try {
    if (received === "too large") throw new Refusal(413, "The request is larger than the simulator takes.");
    body = received.text;
    checkKey(state.options.apiKey, request.headers.authorization);
    if (path === "/v1/models" && request.method === "GET") return { body, played: playHttp(models) };
    const api = apis.get(path);
    if (api === undefined) throw new Refusal(404, `Invalid URL (${request.method} ${path})`);
    if (request.method !== "POST") throw methodNotAllowed(request.method, path);
    body = parseBody(received.text);
    if (!isObject(body)) throw badRequest("The body must be a JSON object.");
    const read = readRequest(api, body, state.accepted);
    const limited = state.limiter?.take(tokensAsked(received.text, read));
    if (limited !== undefined) return { body, played: playHttp(limited) };
    const scripted = state.script.next(read);
    state.accepted += 1;
    return { body, played: play(read, scripted, playOptions(state)) };
  } catch (error) {
    const step = error instanceof Refusal ? error.step : ownMistake(error, "simulator_rule_failed");
    return { body, played: playHttp(step) };
  }
}

function playOptions({ options: { chunkCharacters, eventMs }, ids, clock }: State): Parameters<typeof play>[2] {
  return { ids, now: clock.now(), chunkCharacters, eventMs };
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

function checkKey(wanted: string | undefined, authorization: string | undefined): void {
  const key = /^Bearer (.+)$/.exec(authorization ?? "")?.[1];
  if (key === undefined) throw new Refusal(401, "You didn't provide an API key.");
  if (wanted === undefined || key === wanted) return;
  const masked =
    key.length > 8 ? `${key.slice(0, 3)}${"*".repeat(key.length - 7)}${key.slice(-4)}` : "*".repeat(key.length);
  throw new Refusal(401, `Incorrect API key provided: ${masked}.`, { code: "invalid_api_key" });
}

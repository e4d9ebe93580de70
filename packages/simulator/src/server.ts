import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { countingIds, type Ids } from "./answer.ts";
import { chaosOf, type Chaos } from "./chaos.ts";
import { now, pause } from "./clock.ts";
import { deliver, type Delivery } from "./deliver.ts";
import { fallbackRule } from "./fallback-rule.ts";
import { checkFault, faults, type FaultName } from "./faults.ts";
import { rateLimiter, type Limiter, type RateLimit } from "./limit.ts";
import { play } from "./play.ts";
import { readRequest } from "./read.ts";
import { badRequest, Refusal } from "./refusal.ts";
import {
  isObject,
  type AnswerStep,
  type Api,
  type HttpStep,
  type LoggedRequest,
  type SimulatedRequest,
  type SimulatorRule,
  type SimulatorStep,
} from "./types.ts";

export interface SimulatorOptions {
  /** Answers in order, one a request; a request beyond the last is refused. Not together with `rules`. */
  readonly steps?: readonly SimulatorStep[] | undefined;
  /** Asked in order; the first that answers wins; none: `fallbackRule`. */
  readonly rules?: readonly SimulatorRule[] | undefined;
  /** Milliseconds before every answer. Default 0. */
  readonly latencyMs?: number | undefined;
  /** Default 0: any free one. */
  readonly port?: number | undefined;
  /** The only key that is accepted; left out: any. */
  readonly apiKey?: string | undefined;
  /** Faults by the number of the request, from 0; without a number on every one. */
  readonly faults?: readonly { readonly fault: FaultName; readonly at?: number | undefined }[] | undefined;
  /** Random faults from a seed. */
  readonly chaos?: Chaos | undefined;
  /** Buckets of requests and tokens; 429 with Retry-After when one is empty. */
  readonly rateLimit?: RateLimit | undefined;
  /** false: `requests` stays empty, for runs of many thousands. Default true. */
  readonly keepRequests?: boolean | undefined;
  /** Told of each request when it was answered. */
  readonly onRequest?: ((request: LoggedRequest) => void) | undefined;
}

export interface Simulator extends AsyncDisposable {
  /** `http://127.0.0.1:<port>/v1` */
  readonly baseURL: string;
  readonly port: number;
  /** Grows with every request that was answered. */
  readonly requests: readonly LoggedRequest[];
  /** Requests that are neither answered to their end nor given up by who sent them. */
  readonly awaited: number;
  /** Cuts what is open; can be called twice. */
  close(): Promise<void>;
}

interface State {
  readonly options: SimulatorOptions;
  readonly requests: LoggedRequest[];
  readonly ids: Ids;
  readonly startedAt: number;
  readonly chaos: ((request: SimulatedRequest) => FaultName | undefined) | undefined;
  readonly limiter: Limiter | undefined;
  accepted: number;
  /** The step that is played next. */
  step: number;
  /** Whether that step's own fault has come already. */
  faulted: boolean;
  awaited: number;
}

/**
 * An OpenAI-compatible server on 127.0.0.1.
 * @throws {TypeError} when steps and rules are both given, for a fault that is none, or a limit that cannot be.
 * @throws {Error} when the port is taken.
 */
export async function startSimulator(options: SimulatorOptions = {}): Promise<Simulator> {
  if (options.steps !== undefined && options.rules !== undefined) {
    throw new TypeError("Give the simulator steps or rules, not both.");
  }
  for (const { fault } of options.faults ?? []) checkFault(fault);
  const state: State = {
    options,
    requests: [],
    ids: countingIds(),
    startedAt: now(),
    chaos: options.chaos && chaosOf(options.chaos),
    limiter: options.rateLimit && rateLimiter(options.rateLimit),
    accepted: 0,
    step: 0,
    faulted: false,
    awaited: 0,
  };
  const server = createServer((request, response) => void serve(state, request, response));
  await listen(server, options.port ?? 0);
  const { port } = server.address() as AddressInfo;
  let closing: Promise<void> | undefined;
  const close = (): Promise<void> => {
    closing ??= new Promise<void>((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
    return closing;
  };
  return {
    baseURL: `http://127.0.0.1:${port}/v1`,
    port,
    requests: state.requests,
    get awaited() {
      return state.awaited;
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

function listen(server: Server, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, "127.0.0.1", () => {
      server.off("error", reject);
      resolve();
    });
  });
}

const loggedHeaders = new Set(["content-type", "content-length", "user-agent", "accept", "openai-organization"]);
const apis: Readonly<Record<string, Api>> = { "/v1/responses": "responses", "/v1/chat/completions": "chat" };

async function serve(state: State, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const atMs = now() - state.startedAt;
  const gone = new AbortController();
  state.awaited += 1;
  response.once("close", () => {
    state.awaited -= 1;
    gone.abort();
  });
  const path = (request.url ?? "").split("?")[0] ?? "";
  const received = await readBody(request).catch(() => undefined);
  if (received === undefined) return;
  const { body, delivery, answer } = answerTo(state, request, path, received);
  await pause((state.options.latencyMs ?? 0) + (delivery.afterMs ?? 0), gone.signal);
  const headers = Object.fromEntries(
    Object.entries(request.headers).flatMap(([name, value]) =>
      loggedHeaders.has(name) ? [[name, String(value)]] : [],
    ),
  );
  const durationMs = now() - state.startedAt - atMs;
  const logged: LoggedRequest = {
    index: state.requests.length,
    api: apis[path],
    method: request.method ?? "",
    path,
    headers,
    body,
    status: delivery.status,
    answer,
    fault: delivery.fault,
    atMs,
    durationMs,
  };
  if (state.options.keepRequests !== false) state.requests.push(logged);
  state.options.onRequest?.(logged);
  const own = {
    "x-request-id": state.ids.next("req"),
    "openai-processing-ms": String(durationMs),
    ...state.limiter?.headers(),
  };
  await deliver(response, delivery, own, gone.signal);
}

const largestBody = 64 * 1024 * 1024;

/** undefined when the body is too large. */
async function readBody(request: IncomingMessage): Promise<string | null> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request) {
    size += (chunk as Buffer).length;
    if (size <= largestBody) chunks.push(chunk as Buffer);
  }
  return size > largestBody ? null : Buffer.concat(chunks).toString("utf8");
}

interface Answered {
  readonly body: unknown;
  readonly delivery: Delivery;
  /** For the log. */
  readonly answer: unknown;
}

/** What the request was, and what is sent. */
function answerTo(state: State, request: IncomingMessage, path: string, received: string | null): Answered {
  let body: unknown = received;
  const refused = (step: HttpStep): Answered => ({ body, delivery: step, answer: step.body });
  try {
    if (received === null) throw new Refusal(413, "The request is larger than the simulator takes.");
    checkKey(state.options.apiKey, request.headers.authorization);
    if (path === "/v1/models" && request.method === "GET") return refused({ status: 200, body: models });
    const api = apis[path];
    if (api === undefined) throw new Refusal(404, `Invalid URL (${request.method} ${path})`);
    if (request.method !== "POST") throw new Refusal(405, `Not allowed to ${request.method} on ${path}.`);
    body = parseBody(received);
    if (!isObject(body)) throw badRequest("The body must be a JSON object.");
    const read = readRequest(api, body, state.accepted);
    const limited = state.limiter?.take(Math.ceil(received.length / 4));
    if (limited !== undefined) return refused(limited);
    const step = nextStep(state, read);
    const fault = faultFor(state, read, step);
    state.accepted += 1;
    return { body, ...play(read, step, fault, state.ids) };
  } catch (error) {
    if (error instanceof Refusal) return refused(error.step);
    const message = error instanceof Error ? error.message : String(error);
    return refused({
      status: 500,
      body: { error: { message, type: "server_error", param: null, code: "simulator_rule_failed" } },
    });
  }
}

const models = {
  object: "list",
  data: [{ id: "simulated", object: "model", created: 0, owned_by: "proviso" }],
} as const;

function parseBody(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw badRequest("We could not parse the JSON body of your request.");
  }
}

function checkKey(wanted: string | undefined, authorization: string | undefined): void {
  const key = /^Bearer (.+)$/.exec(authorization ?? "")?.[1];
  if (key === undefined) throw new Refusal(401, "You didn't provide an API key.", { code: "invalid_api_key" });
  if (wanted === undefined || key === wanted) return;
  const masked =
    key.length > 8 ? `${key.slice(0, 3)}${"*".repeat(key.length - 7)}${key.slice(-4)}` : "*".repeat(key.length);
  throw new Refusal(401, `Incorrect API key provided: ${masked}.`, { code: "invalid_api_key" });
}

function nextStep({ options, step: at }: State, request: SimulatedRequest): AnswerStep | HttpStep {
  const { steps, rules = [] } = options;
  let step: SimulatorStep | undefined = steps?.[at];
  if (steps !== undefined && step === undefined) {
    const message = `The simulator's script is used up: it has ${steps.length} steps, and this is request ${request.index + 1}.`;
    throw badRequest(message, undefined, "simulator_script_exhausted");
  }
  for (const rule of rules) step ??= rule(request);
  step ??= fallbackRule(request);
  return typeof step === "function" ? step(request) : step;
}

/** The step's own, the options', or chance's. A passing one leaves the step for the next request. */
function faultFor(state: State, request: SimulatedRequest, step: AnswerStep | HttpStep): FaultName | undefined {
  const own = "status" in step || state.faulted || step.fault === undefined ? undefined : checkFault(step.fault);
  const asked = state.options.faults?.find(({ at }) => at === undefined || at === request.index)?.fault;
  const fault = own ?? asked ?? state.chaos?.(request);
  const passes = fault !== undefined && faults[fault].passing;
  state.faulted = passes && own !== undefined;
  if (!passes) state.step += 1;
  return fault;
}

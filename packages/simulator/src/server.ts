import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { chatAnswer, countingIds, responsesAnswer, type Ids } from "./answer.ts";
import { now, pause } from "./clock.ts";
import { fallbackRule } from "./fallback-rule.ts";
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
  /** Told of each request when it was answered. */
  readonly onRequest?: ((request: LoggedRequest) => void) | undefined;
}

export interface Simulator extends AsyncDisposable {
  /** `http://127.0.0.1:<port>/v1` */
  readonly baseURL: string;
  readonly port: number;
  /** Grows with every request that was answered. */
  readonly requests: readonly LoggedRequest[];
  /** Cuts what is open; can be called twice. */
  close(): Promise<void>;
}

interface State {
  readonly options: SimulatorOptions;
  readonly requests: LoggedRequest[];
  readonly ids: Ids;
  readonly startedAt: number;
  accepted: number;
}

/**
 * An OpenAI-compatible server on 127.0.0.1.
 * @throws {TypeError} when steps and rules are both given.
 * @throws {Error} when the port is taken.
 */
export async function startSimulator(options: SimulatorOptions = {}): Promise<Simulator> {
  if (options.steps !== undefined && options.rules !== undefined) {
    throw new TypeError("Give the simulator steps or rules, not both.");
  }
  const state: State = { options, requests: [], ids: countingIds(), startedAt: now(), accepted: 0 };
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
  response.once("close", () => gone.abort());
  const path = (request.url ?? "").split("?")[0] ?? "";
  const received = await readBody(request).catch(() => undefined);
  if (received === undefined) return;
  const { body, step } = await answer(state, request, path, received);
  await pause((state.options.latencyMs ?? 0) + (step.afterMs ?? 0), gone.signal);
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
    status: step.status,
    answer: step.body,
    atMs,
    durationMs,
  };
  state.requests.push(logged);
  state.options.onRequest?.(logged);
  if (!gone.signal.aborted) send(response, step, state.ids.next("req"), durationMs);
}

function send(
  response: ServerResponse,
  { status, headers, body }: HttpStep,
  requestId: string,
  durationMs: number,
): void {
  const isText = typeof body === "string";
  response.writeHead(status, {
    "content-type": isText ? "text/plain; charset=utf-8" : "application/json",
    "x-request-id": requestId,
    "openai-processing-ms": String(durationMs),
    ...headers,
  });
  response.end(isText ? body : JSON.stringify(body ?? {}));
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

/** What the request was, and what is sent. */
async function answer(
  state: State,
  request: IncomingMessage,
  path: string,
  received: string | null,
): Promise<{ readonly body: unknown; readonly step: HttpStep }> {
  let body: unknown = received;
  try {
    if (received === null) throw new Refusal(413, "The request is larger than the simulator takes.");
    checkKey(state.options.apiKey, request.headers.authorization);
    if (path === "/v1/models" && request.method === "GET") {
      return {
        body,
        step: {
          status: 200,
          body: { object: "list", data: [{ id: "simulated", object: "model", created: 0, owned_by: "proviso" }] },
        },
      };
    }
    const api = apis[path];
    if (api === undefined) throw new Refusal(404, `Invalid URL (${request.method} ${path})`);
    if (request.method !== "POST") throw new Refusal(405, `Not allowed to ${request.method} on ${path}.`);
    body = parseBody(received);
    if (!isObject(body)) throw badRequest("The body must be a JSON object.");
    const read = readRequest(api, body, state.accepted);
    state.accepted += 1;
    return { body, step: played(state, read, nextStep(state.options, read)) };
  } catch (error) {
    if (error instanceof Refusal) return { body, step: error.step };
    const message = error instanceof Error ? error.message : String(error);
    return {
      body,
      step: {
        status: 500,
        body: { error: { message, type: "server_error", param: null, code: "simulator_rule_failed" } },
      },
    };
  }
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
  if (key === undefined) throw new Refusal(401, "You didn't provide an API key.", { code: "invalid_api_key" });
  if (wanted === undefined || key === wanted) return;
  const masked =
    key.length > 8 ? `${key.slice(0, 3)}${"*".repeat(key.length - 7)}${key.slice(-4)}` : "*".repeat(key.length);
  throw new Refusal(401, `Incorrect API key provided: ${masked}.`, { code: "invalid_api_key" });
}

function nextStep({ steps, rules = [] }: SimulatorOptions, request: SimulatedRequest): AnswerStep | HttpStep {
  let step: SimulatorStep | undefined = steps?.[request.index];
  if (steps !== undefined && step === undefined) {
    const message = `The simulator's script is used up: it has ${steps.length} steps, and this is request ${request.index + 1}.`;
    throw badRequest(message, undefined, "simulator_script_exhausted");
  }
  for (const rule of rules) step ??= rule(request);
  step ??= fallbackRule(request);
  return typeof step === "function" ? step(request) : step;
}

function played(state: State, request: SimulatedRequest, step: AnswerStep | HttpStep): HttpStep {
  if ("status" in step) return step;
  const createdAt = Math.floor(now() / 1_000);
  const body = (request.api === "responses" ? responsesAnswer : chatAnswer)(request, step, state.ids, createdAt);
  return { status: 200, body, afterMs: step.afterMs };
}

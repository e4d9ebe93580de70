import type { Message } from "@proviso/core";
import type {
  ConformanceAnswer,
  ConformanceFault,
  ConformanceRequest,
  ConformanceScript,
} from "@proviso/adapter-kit/conformance";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as pause } from "node:timers/promises";

interface Turn {
  readonly role: Message["role"];
  readonly text: string;
  readonly calls?: { id: string; name: string; arguments: string }[];
  readonly callId?: string;
}
interface Asked {
  readonly turns: readonly Turn[];
  readonly toolChoice?: unknown;
  readonly schema?: unknown;
  readonly stream?: boolean;
  readonly most?: number;
}

export interface ToyService {
  readonly baseURL: string;
  requests(): readonly ConformanceRequest[];
  awaited(): number;
  close(): Promise<void>;
}

/** The service that the toy adapter speaks to: lines of JSON, the last with the answer. */
export async function startToyService(script: ConformanceScript): Promise<ToyService> {
  const requests: ConformanceRequest[] = [];
  let at = 0;
  let faulted = false;
  let awaited = 0;
  const server = createServer((request, response) => void serve(request, response));
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const asked = (await bodyOf(request)) as Asked;
    requests.push(requestOf(asked));
    awaited += 1;
    response.once("close", () => (awaited -= 1));
    const step = script[at];
    if (step === undefined) return send(response, 400, { error: { message: "The script is used up." } });
    if ("status" in step) {
      at += 1;
      return send(response, step.status, step.body ?? {}, step.headers);
    }
    const lasts = step.fault !== undefined && lasting.has(step.fault);
    const fails = step.fault !== undefined && !lasts && !faulted;
    faulted = fails;
    if (!fails) at += 1;
    await answer(response, fails || lasts ? step : { ...step, fault: undefined }, asked);
  };
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  return {
    baseURL: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests: () => requests,
    awaited: () => awaited,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** Faults of an answer, which do not come in its place. */
const lasting: ReadonlySet<string> = new Set<ConformanceFault>(["missing_call_id", "unknown_fields", "stream_split"]);

async function bodyOf(request: IncomingMessage): Promise<unknown> {
  let text = "";
  for await (const chunk of request.setEncoding("utf8")) text += String(chunk);
  return JSON.parse(text);
}

function requestOf(asked: Asked): ConformanceRequest {
  const messages = asked.turns.map(({ calls, ...turn }) => ({ ...turn, toolCalls: calls }));
  return { messages, toolChoice: asked.toolChoice, output: asked.schema, body: asked };
}

function send(response: ServerResponse, status: number, body: unknown, headers = {}): void {
  response.writeHead(status, { "content-type": "application/json", ...headers });
  response.end(typeof body === "string" ? body : JSON.stringify(body));
}

async function answer(response: ServerResponse, step: ConformanceAnswer, asked: Asked): Promise<void> {
  const { fault, eventMs } = step;
  if (fault === "hang") return;
  if (fault === "reset_before_headers") return void response.destroy();
  if (fault === "html") {
    response.writeHead(200, { "content-type": "text/html" });
    return void response.end("<!doctype html>");
  }
  response.writeHead(200, { "content-type": "application/x-ndjson" });
  if (fault === "malformed_json") return void response.end("{bad}\n");
  if (fault === "wrong_shape") return void response.end('{"answer":{"object":"list","data":[]}}\n');
  const lines = linesOf(step, asked);
  if (fault === "reset_in_body" || fault === "cut_body" || fault === "stream_cut") {
    response.write(lines.join("").slice(0, -10));
    await pause(5);
    return void (fault === "reset_in_body" ? response.destroy() : response.end());
  }
  if (fault === "stream_split") return writeBytes(response, Buffer.from(lines.join("")));
  for (const line of lines) {
    response.write(line);
    if (eventMs !== undefined) await pause(eventMs);
  }
  response.end();
}

/** Five at a time, which cuts characters too. */
async function writeBytes(response: ServerResponse, bytes: Buffer): Promise<void> {
  for (let from = 0; from < bytes.length; from += 5) {
    response.write(bytes.subarray(from, from + 5));
    await pause(0);
  }
  response.end();
}

function linesOf(step: ConformanceAnswer, { stream = false, most = Infinity }: Asked): readonly string[] {
  const { refusal, reasoning: thought, usage } = step;
  const whole = step.text ?? (step.output === undefined ? "" : JSON.stringify(step.output));
  const text = whole.slice(0, 4 * most);
  const finish = text.length < whole.length ? "length" : step.finishReason;
  const calls = (step.toolCalls ?? []).map(({ id, name, arguments: given = {} }) => ({
    ...(step.fault === "missing_call_id" ? {} : { id }),
    name,
    arguments: typeof given === "string" ? given : JSON.stringify(given),
  }));
  const deltas = stream ? (text.match(/[^]{1,15}/g) ?? []).map((delta) => ({ delta })) : [];
  const unknown = step.fault === "unknown_fields" ? { brandNew: [{ kind: "thing" }] } : {};
  const last = { answer: { model: "toy-1", text, calls, refusal, thought, finish, usage, ...unknown }, ...unknown };
  return [...deltas, unknown, last].map((line) => `${JSON.stringify(line)}\n`);
}

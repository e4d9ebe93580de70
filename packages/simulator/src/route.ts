import type { IncomingHttpHeaders } from "node:http";
import { badRequest, notSupported, Refusal } from "./refusal.ts";
import type { Api } from "./types.ts";

/** Where a request goes. */
export interface Route {
  readonly api: Api;
  /** Where the path names the model; otherwise the body does. */
  readonly model?: string;
  /** Where the path says whether a stream is asked for; otherwise the body does. */
  readonly stream?: boolean;
}

const paths: ReadonlyMap<string, Route> = new Map([
  ["/v1/responses", { api: "responses" }],
  ["/v1/chat/completions", { api: "chat" }],
  ["/v1/messages", { api: "anthropic" }],
]);

const geminiPath = /^\/v1(?:beta)?\/(?:models|tunedModels)\/([^/:]+):(generateContent|streamGenerateContent)$/;

/** undefined for a path that no service has here. */
export function routeOf(path: string): Route | undefined {
  const [, model, method] = geminiPath.exec(path) ?? [];
  if (model === undefined) return paths.get(path);
  return { api: "gemini", model: decodeURIComponent(model), stream: method === "streamGenerateContent" };
}

/** The service in whose shape a path is answered, also where the path is unknown. */
export function serviceOf(path: string): Api | undefined {
  if (path.startsWith("/v1/messages")) return "anthropic";
  if (path.startsWith("/v1beta/") || /^\/v1\/models\/[^/]+:/.test(path)) return "gemini";
  return paths.get(path)?.api;
}

/** What a request says beside its body. */
export interface Envelope {
  readonly headers: IncomingHttpHeaders;
  readonly query: URLSearchParams;
}

/** @throws {Refusal} for a header or a query that the service would refuse. */
export function checkEnvelope({ api, stream }: Route, { headers, query }: Envelope): void {
  if (api === "anthropic" && headers["anthropic-version"] === undefined) {
    throw badRequest("anthropic-version: header is required");
  }
  if (api === "gemini" && stream === true && query.get("alt") !== "sse") {
    throw notSupported("streamGenerateContent without alt=sse");
  }
}

/** @throws {Refusal} for a missing key, and for another one than is wanted. */
export function checkKey(wanted: string | undefined, api: Api | undefined, envelope: Envelope): void {
  const key = keyOf(api, envelope);
  if (key === undefined) throw noKey(api);
  if (wanted === undefined || key === wanted) return;
  if (api === "anthropic") throw new Refusal(401, "invalid x-api-key", { code: "invalid_api_key" });
  if (api === "gemini") throw badRequest("API key not valid. Please pass a valid API key.", "key", "invalid_api_key");
  throw new Refusal(401, `Incorrect API key provided: ${masked(key)}.`, { code: "invalid_api_key" });
}

function keyOf(api: Api | undefined, { headers, query }: Envelope): string | undefined {
  const bearer = /^Bearer (.+)$/.exec(headers.authorization ?? "")?.[1];
  if (api === "anthropic") return text(headers["x-api-key"]) ?? bearer;
  if (api === "gemini") return text(headers["x-goog-api-key"]) ?? query.get("key") ?? bearer;
  return bearer;
}

function text(header: string | readonly string[] | undefined): string | undefined {
  return typeof header === "string" && header !== "" ? header : undefined;
}

function noKey(api: Api | undefined): Refusal {
  if (api === "anthropic") return new Refusal(401, "x-api-key header is required");
  if (api !== "gemini") return new Refusal(401, "You didn't provide an API key.");
  const callers = "Method doesn't allow unregistered callers (callers without established identity).";
  return new Refusal(403, `${callers} Please use API Key or other form of API consumer identity to call this API.`);
}

function masked(key: string): string {
  return key.length > 8 ? `${key.slice(0, 3)}${"*".repeat(key.length - 7)}${key.slice(-4)}` : "*".repeat(key.length);
}

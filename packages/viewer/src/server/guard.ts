// What is refused before anything is looked at.
import type { IncomingMessage, ServerResponse } from "node:http";

/** Every answer has them, refusals included. */
export const headers: Readonly<Record<string, string>> = Object.freeze({
  "Content-Security-Policy":
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
  "X-Content-Type-Options": "nosniff",
  "Referrer-Policy": "no-referrer",
  "Cache-Control": "no-store",
  "Cross-Origin-Opener-Policy": "same-origin",
  "Cross-Origin-Resource-Policy": "same-origin",
});

/** Why a request is refused, as a status; undefined: it is not. */
export function refusal(
  { method, rawHeaders, headers: given, url }: IncomingMessage,
  port: number,
): number | undefined {
  const hosts = rawHeaders.filter((name, at) => at % 2 === 0 && name.toLowerCase() === "host");
  const isOurs = given.host === `127.0.0.1:${port}` || given.host === `localhost:${port}`;
  if (!isOurs || hosts.length !== 1) return 421;
  if (method !== "GET") return 405;
  const site = given["sec-fetch-site"];
  if (site !== undefined && site !== "same-origin" && site !== "none") return 403;
  // A target with a host of its own is for proxies.
  return url?.startsWith("/") === true && !url.startsWith("//") ? undefined : 400;
}

/** Ends a request with a text, or with JSON. */
export function answer(
  response: ServerResponse,
  status: number,
  body: string | Buffer = "",
  type = "text/plain; charset=utf-8",
): void {
  const allow = status === 405 ? { Allow: "GET" } : {};
  response.writeHead(status, { ...headers, ...allow, "Content-Type": type, "Content-Length": Buffer.byteLength(body) });
  response.end(body);
}

export function answerJson(response: ServerResponse, value: unknown): void {
  answer(response, 200, JSON.stringify(value ?? null), "application/json; charset=utf-8");
}

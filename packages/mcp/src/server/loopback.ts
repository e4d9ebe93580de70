import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { DefinitionError } from "@proviso/core";
import { messageOf } from "@proviso/core/internal";
import type { ListenOptions } from "./options.ts";
import { isSameSecret, newSecret } from "./secret.ts";

/** A web server on the loopback interface. */
export interface Loopback {
  readonly url: string;
  /** What every request has to show. */
  readonly headers: Readonly<Record<string, string>>;
  /** Whether a request with the secret has arrived. */
  asked(): boolean;
  /** Ends every request under way; nothing listens then. */
  close(): Promise<void>;
}

const hosts = ["127.0.0.1", "localhost", "[::1]"];

/**
 * Listens on the loopback interface alone. A request without the secret is answered with 404, one that a page of another
 * site has sent (by its Origin), or that came by another name (by its Host), with 403. A client that leaves aborts its
 * request.
 * @throws {DefinitionError} for a port that it cannot listen on: it is taken, for example.
 */
export async function listenOnLoopback(
  handle: (request: Request) => Promise<Response>,
  { port = 0, secret = newSecret() }: ListenOptions = {},
): Promise<Loopback> {
  const authorization = `Bearer ${secret}`;
  let hasAsked = false;
  let bound = port;
  const http = createServer((incoming, outgoing) => {
    if (!isSameSecret(incoming.headers.authorization, authorization)) return void outgoing.writeHead(404).end();
    if (!isFromHere(incoming, bound)) return void outgoing.writeHead(403).end();
    hasAsked = true;
    relay(handle, incoming, outgoing).catch(() => outgoing.destroy());
  });
  bound = await listening(http, port);
  return {
    url: `http://127.0.0.1:${bound}/mcp`,
    headers: { Authorization: authorization },
    asked: () => hasAsked,
    async close() {
      const closed = new Promise((resolve) => http.close(resolve));
      http.closeAllConnections();
      await closed;
    },
  };
}

function listening(http: Server, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    http.once("error", (cause) =>
      reject(new DefinitionError(`The service cannot listen on port ${port}: ${messageOf(cause)}`, { cause })),
    );
    http.listen(port, "127.0.0.1", () => resolve((http.address() as AddressInfo).port));
  });
}

/** A page in a browser can reach the loopback interface, also by a name of its own. */
function isFromHere({ headers: { host, origin } }: IncomingMessage, port: number): boolean {
  const names = hosts.map((name) => `${name}:${port}`);
  if (host === undefined || !names.includes(host.toLowerCase())) return false;
  return origin === undefined || names.some((name) => origin.toLowerCase() === `http://${name}`);
}

async function relay(
  handle: (request: Request) => Promise<Response>,
  incoming: IncomingMessage,
  outgoing: ServerResponse,
): Promise<void> {
  const left = new AbortController();
  outgoing.once("close", () => left.abort());
  const answer = await handle(requestOf(incoming, left.signal));
  outgoing.writeHead(answer.status, Object.fromEntries(answer.headers));
  if (answer.body === null) outgoing.end();
  else await pipeline(Readable.fromWeb(answer.body), outgoing);
}

function requestOf(incoming: IncomingMessage, signal: AbortSignal): Request {
  const { method = "GET", url = "/", headers } = incoming;
  const fields = Object.entries(headers).flatMap(([name, value]) => (typeof value === "string" ? [[name, value]] : []));
  const body = method === "GET" || method === "HEAD" ? null : Readable.toWeb(incoming);
  const init = { method, headers: Object.fromEntries(fields), body, duplex: "half", signal };
  return new Request(`http://127.0.0.1${url}`, init as RequestInit);
}

import { isA } from "@proviso/core/internal";
import type { ModelFailure } from "@proviso/core";
import { shownAddress, withShownAddresses } from "./shown-address.ts";

const timeoutCodes = new Set([
  "ETIMEDOUT",
  "UND_ERR_BODY_TIMEOUT",
  "UND_ERR_HEADERS_TIMEOUT",
  "UND_ERR_CONNECT_TIMEOUT",
]);

/** Recognises a timeout by name (`TimeoutError`) or code, of the error or of one of its causes. */
export function isTimeoutError(error: unknown): boolean {
  return chainOf(error).some((at) => at.name === "TimeoutError" || timeoutCodes.has(codeOf(at)));
}

/** The codes of sockets, name servers, undici and a cut compressed body; files have codes of the same form. */
const networkCode =
  /^(ECONN[A-Z]+|EHOST[A-Z]+|ENET[A-Z]+|ENOT(FOUND|CONN)|EADDR[A-Z]+|EPIPE|EPROTO|ETIMEDOUT|E[MN]FILE|ENOBUFS|EAI_[A-Z]+|UND_ERR_\w+|Z_\w+)$/;

/**
 * What `fetch` says of a broken connection where its error has no code: undici, Chromium, Firefox, Safari and Deno. Each has
 * words of its own for an answer that did not come, and for a body that broke.
 */
const brokenFetch =
  /^(?:fetch failed|terminated|Failed to fetch|network error|NetworkError when attempting to fetch resource\.|Error in input stream|Load failed|The network connection was lost\.|error sending request .*|error reading a body from connection.*)$/s;

/** What workers of Cloudflare say; their errors are plain ones. */
const brokenInWorker = /^(?:Network connection lost\.|internal error; reference = \w+)$/;

function isBrokenFetch(error: Error): boolean {
  return (isA(error, TypeError) && brokenFetch.test(error.message)) || brokenInWorker.test(error.message);
}

/** A mistake in a program, or a file that is not there, is none. */
export function isNetworkError(error: unknown): boolean {
  return isUnreachable(error) || chainOf(error).some((at) => networkCode.test(codeOf(at)) || isBrokenFetch(at));
}

/** The codes of a connection that could not be made, as Node, undici, Bun and Deno write them. */
const unreachable =
  /^(ECONNREFUSED|EHOST(UNREACH|DOWN)|ENET(UNREACH|DOWN)|ENOTFOUND|EADDRNOTAVAIL|EAI_[A-Z]+|ConnectionRefused|FailedToOpenSocket)$/;

/** There is no server at the address, or no way to it: nothing was sent. */
export function isUnreachable(error: unknown): boolean {
  return chainOf(error).some((at) => unreachable.test(codeOf(at)) || isBlockedPort(at) || isUnconnected(at));
}

/** `fetch` connects to no port that another protocol is known for; its error has these words, in Node and Deno, and no code. */
function isBlockedPort({ message }: Error): boolean {
  return message === "bad port" || /^Fetch failed: Requests to port \d+ are blocked$/.test(message);
}

/** Deno says in words alone that no connection could be made, in the cause of its error. */
function isUnconnected({ message }: Error): boolean {
  return /^error sending request .*: client error \(Connect\)/s.test(message);
}

/** The failure of a request that met the network: kind "network" where no server could be reached, else "unknown". */
export function networkFailure(error: unknown, address?: string): ModelFailure {
  const isBlocked = chainOf(error).some(isBlockedPort);
  const why = isBlocked ? "bad port: fetch never connects to it, whatever listens there" : deepestMessage(error);
  if (!isUnreachable(error)) return { failure: "throttle", kind: "unknown", message: why };
  const where = address === undefined ? "The server" : `The server at ${shownAddress(address)}`;
  const message = `${where} could not be reached: ${why}`;
  return { failure: "throttle", kind: "network", message, ...(isBlocked ? { retry: false } : {}) };
}

/** "Connection error." says less than the socket's own error below it. Addresses in it are shown without credentials. */
export function deepestMessage(error: unknown): string {
  const deepest = chainOf(error).findLast(({ message }) => message !== "")?.message;
  return withShownAddresses(deepest ?? (typeof error === "string" && error !== "" ? error : "The request failed."));
}

function codeOf(error: Error): string {
  const { code } = error as { readonly code?: unknown };
  return typeof code === "string" ? code : "";
}

/** The error and its causes, outermost first; a chain that is longer, or a circle, is cut. */
function chainOf(error: unknown): readonly Error[] {
  const chain: Error[] = [];
  let at = error;
  while (isA(at, Error) && chain.length < 8) {
    chain.push(at);
    at = at instanceof AggregateError ? at.errors[0] : at.cause;
  }
  return chain;
}

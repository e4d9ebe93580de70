// 1. Only for a client that `newClient` made: nobody else holds it, and its options are known.
// 2. What is sent, and what is thrown, is what the SDK itself would send and throw.
// 3. Where somebody has changed the SDK, to trace it for example, the SDK's own way is taken.
import { isRecord, parseJson } from "@proviso/core/provider";
import { APIConnectionError, APIConnectionTimeoutError, APIError, OpenAI } from "openai";
import { takesRecords, type LeanFetch, type LeanResponse } from "./fetch.ts";

/** Sends bodies that are already written, without what the SDK does for each request. */
export interface DirectClient {
  /** Whether the SDK is as it was when this module was loaded. */
  isAvailable(): boolean;
  /**
   * A POST of JSON; resolves when the headers of an answer below 300 are there.
   * @throws {APIError} for every other answer, {APIConnectionError} where none came.
   */
  post(path: string, body: string, signal: AbortSignal): Promise<LeanResponse>;
}

/** What the SDK makes of each request; the same for all of them but for the body. */
interface Prepared {
  readonly url: string;
  readonly headers: Headers;
  readonly record: Readonly<Record<string, string>>;
}

const hooks = [
  "post",
  "methodRequest",
  "request",
  "makeRequest",
  "prepareOptions",
  "buildRequest",
  "buildHeaders",
  "prepareRequest",
  "fetchWithAuth",
  "fetchWithTimeout",
  "authHeaders",
] as const;
const prototype = OpenAI.prototype as unknown as Readonly<Record<string, unknown>>;
const originals = hooks.map((name) => prototype[name]);
/** Wrappers that were there before this module mark what they put there. */
const wereWrapped = originals.some((method) => typeof method === "function" && Object.hasOwn(method, "__wrapped"));

function isUnchanged(): boolean {
  return !wereWrapped && hooks.every((name, at) => prototype[name] === originals[at]);
}

/** What the client was made with. */
interface MadeWith {
  readonly fetch?: LeanFetch | undefined;
  readonly timeoutMs?: number | undefined;
}

export function directClient(client: OpenAI, { fetch: given, timeoutMs }: MadeWith): DirectClient {
  const preparing = new Map<string, Prepared | Promise<Prepared>>();
  const fetch = given ?? (globalThis.fetch as unknown as LeanFetch);
  const preparedFor = (path: string): Prepared | Promise<Prepared> => {
    const known = preparing.get(path);
    if (known !== undefined) return known;
    const made = prepare(client, path, timeoutMs).then((prepared) => {
      preparing.set(path, prepared);
      return prepared;
    });
    preparing.set(path, made);
    // One that failed is tried again.
    made.catch(() => preparing.delete(path));
    return made;
  };
  const headersFor = ({ headers, record }: Prepared): unknown => {
    if (given === undefined) return headers;
    // A fetch of somebody's own may change the headers that it is given.
    return takesRecords.has(given) ? record : new Headers(headers);
  };
  return {
    isAvailable: isUnchanged,
    async post(path, body, signal) {
      const known = preparedFor(path);
      const prepared = known instanceof Promise ? await known : known;
      let response: LeanResponse;
      try {
        response = await fetch(prepared.url, { method: "POST", headers: headersFor(prepared), body, signal });
      } catch (error) {
        throw signal.aborted ? error : connectionError(error);
      }
      if (response.ok) return response;
      throw await statusError(response);
    },
  };
}

async function prepare(client: OpenAI, path: string, timeoutMs: number | undefined): Promise<Prepared> {
  const headers = { "content-type": "application/json" };
  const timeout = timeoutMs === undefined ? {} : { timeout: timeoutMs };
  const { url, req } = await client.buildRequest({ method: "post", path, headers, body: "{}", ...timeout });
  return { url, headers: req.headers, record: Object.freeze(Object.fromEntries(req.headers)) };
}

/** As the SDK tells them apart: some systems say it in words only. */
function connectionError(thrown: unknown): APIConnectionError {
  const cause = thrown instanceof Error ? thrown : new Error(String(thrown));
  const { name, cause: behind } = cause;
  const isTimeout = name === "AbortError" || /timed? ?out/i.test([cause, behind].map(String).join(" "));
  if (isTimeout) return Object.assign(new APIConnectionTimeoutError(), { cause });
  return new APIConnectionError({ cause });
}

async function statusError(response: LeanResponse): Promise<APIError> {
  const text = await response
    .text()
    .catch((error: unknown) => (error instanceof Error ? error.message : String(error)));
  const body = jsonOf(text);
  // Some servers send the error itself.
  const wrapped = isRecord(body) && (body["error"] ?? undefined) === undefined ? { error: body } : body;
  const message = body ? undefined : text;
  return APIError.generate(response.status, wrapped as object | undefined, message, response.headers);
}

function jsonOf(text: string): unknown {
  const parsed = parseJson(text);
  return parsed.ok ? parsed.value : undefined;
}

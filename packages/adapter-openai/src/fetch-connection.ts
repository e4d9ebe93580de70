import type { ModelFailure } from "@proviso/core";
import { isRecord, parseJson } from "@proviso/core/provider";
import { defaultTimeoutMs, modelFailureFrom, withAddress, type RequestGuard } from "@proviso/adapter-kit";
import { sourceOf, textOf } from "./receive.ts";
import type { Connection, Opened } from "./connection.ts";
import { takesRecords, type LeanFetch, type LeanResponse } from "./fetch.ts";
import { formatOf } from "./format.ts";
import { requestHeaders } from "./headers.ts";
import type { CheckedOptions } from "./options.ts";
import { ConnectionError } from "./request-failure.ts";

/**
 * Requests over `fetch`, each of them JSON text that is written once. While one waits, nothing but the promise of its
 * answer is kept: address and headers are the same for all.
 * @throws {DefinitionError} for headers that HTTP does not allow.
 */
export function fetchConnection(options: CheckedOptions): Connection {
  const format = formatOf(options);
  const address = addressOf(options.baseURL, format.path);
  const headers = requestHeaders(options);
  const record = Object.freeze(Object.fromEntries(headers));
  return {
    address,
    timeoutMs: options.timeoutMs ?? defaultTimeoutMs,
    open(request, guard) {
      const { signal } = guard;
      // Looked up for each request: tests and tracers replace it later.
      const fetch = options.fetch ?? globalThis.fetch;
      const isGlobal = fetch === globalThis.fetch;
      // A foreign fetch may change the headers that it receives.
      const own = takesRecords.has(fetch) ? record : new Headers(headers);
      const body = format.json(options, request);
      const opening = begun(fetch, address, { method: "POST", headers: own, body, signal }).then(
        (response) => opened(response, isGlobal, address, guard),
        failed,
      );
      // Our own looks at the signal. Another may not: nothing waits for it then.
      return takesRecords.has(fetch) ? opening : Promise.race([opening, guard.ended]);
    },
  };
}

/** A fetch that throws at once is like one that rejects. */
function begun(fetch: LeanFetch, ...request: Parameters<LeanFetch>): Promise<LeanResponse> {
  try {
    return Promise.resolve(fetch(...request));
  } catch (error) {
    return Promise.reject(error);
  }
}

function failed(error: unknown): never {
  throw new ConnectionError(error);
}

const openAIAddress = "https://api.openai.com/v1";

/** What stands after "?" in a base URL stays behind the path. */
function addressOf(baseURL: string = openAIAddress, path: string): string {
  const url = new URL(baseURL);
  url.pathname = `${url.pathname.replace(/\/+$/, "")}${path}`;
  return url.href;
}

function opened(
  response: LeanResponse,
  isOfGlobalFetch: boolean,
  address: string,
  guard: RequestGuard,
): Opened | Promise<Opened | ModelFailure> {
  // An answer that comes when nothing waits for it any more: its body is ended.
  if (guard.signal.aborted) sourceOf(response.body, guard.signal);
  return response.ok ? { response, isOfGlobalFetch } : refusal(response, address, guard);
}

async function refusal(response: LeanResponse, address: string, guard: RequestGuard): Promise<ModelFailure> {
  // The status says enough where the body is cut, or does not end.
  const text = (await textOf({ response }, guard).catch(() => undefined)) ?? "";
  const parsed = parseJson(text);
  return withAddress(modelFailureFrom(response, parsed.ok ? errorIn(parsed.value) : undefined), address);
}

/** Some servers send the error itself. */
function errorIn(body: unknown): unknown {
  return isRecord(body) ? (body["error"] ?? body) : undefined;
}

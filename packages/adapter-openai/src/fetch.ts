/** What is used of a `fetch`; the global one will do. */
export type LeanFetch = (input: string | URL | Request, init?: LeanFetchInit) => Promise<LeanResponse>;

/** What is used of a `RequestInit`: no wider than that is anywhere, so that the global `fetch` takes it. */
export interface LeanFetchInit {
  /** The HTTP method. Default: GET. */
  readonly method?: string;
  /** The headers of the request. */
  readonly headers?: Headers | [string, string][] | Record<string, string>;
  /** The body of the request. */
  readonly body?: string | null;
  /** Aborting it ends the request. */
  readonly signal?: AbortSignal | null;
}

/** What is used of a `Response`. */
export interface LeanResponse {
  /** The HTTP status. */
  readonly status: number;
  /** The text beside the status. */
  readonly statusText: string;
  /** Whether the status is 200 to 299. */
  readonly ok: boolean;
  /** The address that answered. */
  readonly url: string;
  /** The headers of the answer. */
  readonly headers: Headers;
  /** The body as a stream of bytes. */
  readonly body: unknown;
  /** Reads the whole body as text. */
  text(): Promise<string>;
  /** Reads the whole body as JSON. */
  json(): Promise<unknown>;
}

/** The fetches that take headers as one object for every request, and do not change it. */
export const takesRecords = new WeakSet<LeanFetch>();

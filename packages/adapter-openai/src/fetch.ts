/** What is used of a `fetch`; the global one will do. */
export type LeanFetch = (input: string | URL | Request, init?: LeanFetchInit) => Promise<LeanResponse>;

/** What is used of a `RequestInit`. */
export interface LeanFetchInit {
  readonly method?: string | undefined;
  readonly headers?: unknown;
  readonly body?: string | Uint8Array | null | undefined;
  readonly signal?: AbortSignal | null | undefined;
}

/** What is used of a `Response`. */
export interface LeanResponse {
  readonly status: number;
  readonly statusText: string;
  readonly ok: boolean;
  readonly url: string;
  readonly headers: Headers;
  readonly body: unknown;
  text(): Promise<string>;
  json(): Promise<unknown>;
}

/** Those that take headers as an object that is the same for every request, and leave it as it is. */
export const takesRecords = new WeakSet<LeanFetch>();

// 1. Of a body no more is read than `longestBody`, whatever its headers say of it.
import { longestBody } from "@proviso/adapter-kit";

/** The pieces of a body. */
export interface Source {
  next(): Promise<{ readonly done?: boolean | undefined; readonly value?: Uint8Array | undefined }>;
  /** Ends the body, whatever is being read of it. */
  cancel(): void;
}

/** undefined: it cannot be read in pieces. The global fetch gives a web stream, others a stream of Node's. */
export function sourceOf(body: unknown): Source | undefined {
  if (typeof body !== "object" || body === null) return undefined;
  if ("getReader" in body) {
    const reader = (body as ReadableStream<Uint8Array>).getReader();
    return { next: () => reader.read(), cancel: () => void reader.cancel().catch(() => {}) };
  }
  const stream = body as AsyncIterable<Uint8Array> & { destroy?(): unknown };
  const pieces = stream[Symbol.asyncIterator]();
  return { next: () => pieces.next() as ReturnType<Source["next"]>, cancel: () => void stream.destroy?.() };
}

/** What is used of a `Response`. */
export interface ReadableAnswer {
  readonly headers: Headers;
  readonly body?: unknown;
  text(): Promise<string>;
  /**
   * Reads the text of an answer of our own `fetch`: at most so many bytes; a longer body gives undefined, and its rest
   * is not read.
   */
  textUpTo?(most: number): Promise<string | undefined>;
}

/** The whole text of an answer; undefined: it is too long, and the rest of it is given up. Throws what reading throws. */
export async function textOf(response: ReadableAnswer): Promise<string | undefined> {
  if (response.textUpTo !== undefined) return response.textUpTo(longestBody);
  const source = isKnownToFit(response.headers) ? undefined : sourceOf(response.body);
  // A stand-in for a response may have nothing but its text.
  if (source === undefined) return response.text();
  const decoder = new TextDecoder();
  let [text, length] = ["", 0];
  for (;;) {
    const { done, value } = await source.next();
    if (done === true) return text + decoder.decode();
    length += value?.length ?? 0;
    if (length > longestBody) {
      source.cancel();
      return undefined;
    }
    text += decoder.decode(value, { stream: true });
  }
}

/**
 * Whether the announced length fits; a body is never read past that length. The length of a compressed body says
 * nothing about its content.
 */
function isKnownToFit(headers: Headers): boolean {
  const length = headers.get("content-length");
  return length !== null && Number(length) <= longestBody && !headers.has("content-encoding");
}

import { parseJson, systemClock, type ModelFailure } from "@proviso/core";
import { invalidResponse } from "./wire.ts";

/** A body that was read, with what the headers say of its cost in US dollars. */
export interface Received {
  readonly failure?: undefined;
  readonly body: unknown;
  readonly costUsd: number | undefined;
}

/** What is used of the SDK's `APIPromise`. */
interface RawAnswer {
  asResponse(): Promise<Pick<Response, "headers" | "text">>;
}

/** What LiteLLM says a request cost. */
const costHeader = "x-litellm-response-cost";
const limits = { maxDepth: 256, maxLength: 64 * 1024 * 1024 };
/** Characters of an unreadable body that are kept. */
const keptLength = 4_096;

/**
 * The answer's body, read here: the SDK's own reading throws at a wrong shape and loses the body. A stand-in for the
 * client gives its body as it is. Throws what the SDK and the network throw.
 */
export async function receive(sent: unknown): Promise<Received | ModelFailure> {
  if (!isRaw(sent)) return { body: await sent, costUsd: undefined };
  const response = await sent.asResponse();
  const text = await response.text();
  const json = parseJson(text, limits);
  if (json.ok) return { body: json.value, costUsd: costIn(response.headers) };
  const payload = text.slice(0, keptLength);
  if (endsInside(text)) {
    return { failure: "throttle", kind: "unknown", message: "The provider's answer ends inside its JSON.", payload };
  }
  return invalidResponse(`The provider's answer cannot be read: ${json.error}.`, payload);
}

/** Runs a request that ends after `ms` milliseconds, its body included: the SDK's own timeout ends with the headers. */
export async function within<T>(
  ms: number,
  signal: AbortSignal,
  call: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const late = new AbortController();
  const settled = new AbortController();
  const timeout = new DOMException(`No answer within ${ms} ms.`, "TimeoutError");
  systemClock.sleep(ms, settled.signal).then(
    () => late.abort(timeout),
    () => {},
  );
  try {
    return await call(AbortSignal.any([signal, late.signal]));
  } catch (error) {
    throw late.signal.aborted ? timeout : error;
  } finally {
    settled.abort();
  }
}

function isRaw(sent: unknown): sent is RawAnswer {
  return typeof (sent as Partial<RawAnswer> | undefined)?.asResponse === "function";
}

function costIn(headers: Headers): number | undefined {
  const cost = Number.parseFloat(headers.get(costHeader) ?? "");
  return Number.isFinite(cost) && cost >= 0 ? cost : undefined;
}

/** Begins as JSON and was cut: a bracket or a string is still open at the end. */
function endsInside(text: string): boolean {
  if (!/^\s*[{[]/.test(text)) return false;
  let depth = 0;
  let inString = false;
  for (let i = 0; i < text.length; i++) {
    const char = text[i];
    if (inString) {
      if (char === "\\") i++;
      else if (char === '"') inString = false;
    } else if (char === '"') inString = true;
    else if (char === "{" || char === "[") depth++;
    else if (char === "}" || char === "]") depth--;
  }
  return inString || depth > 0;
}

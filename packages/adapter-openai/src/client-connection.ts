import { defaultTimeoutMs } from "@proviso/adapter-kit";
import type { Connection, Opened, OpenResponse } from "./connection.ts";
import { formatOf } from "./format.ts";
import type { CheckedOptions, OpenAIClient } from "./options.ts";
import { sourceOf } from "./receive.ts";

/** Requests through the `create` of a client that the caller made: it may be a subclass, traced, or a stand-in. */
export function clientConnection(options: CheckedOptions, client: OpenAIClient): Connection {
  const format = formatOf(options);
  const own = client as { readonly timeout?: unknown };
  const { baseURL = "", timeoutMs } = options;
  return {
    address: `${baseURL.replace(/\/+$/, "")}${format.path}`,
    timeoutMs: timeoutMs ?? (typeof own.timeout === "number" ? own.timeout : defaultTimeoutMs),
    async open(request, { signal, ended }) {
      // Only the runtime asks again, or retries would multiply.
      const settings = { maxRetries: 0, signal, ...(timeoutMs === undefined ? {} : { timeout: timeoutMs }) };
      const resource = options.api === "responses" ? client.responses : client.chat.completions;
      const answer = resource.create(format.object(options, request) as never, settings as never);
      const opening = request.onDelta === undefined ? openedBody(answer) : openedStream(answer);
      return Promise.race([opening.then((opened) => kept(opened, signal)), ended]);
    },
  };
}

/** An answer that comes when nothing waits for it any more: its body is ended. */
function kept(opened: Opened, signal: AbortSignal): Opened {
  if (signal.aborted) sourceOf(opened.response?.body, signal);
  return opened;
}

/**
 * The SDK's own reading throws at a wrong shape and loses the body, so the bytes are read here, unless other code, such
 * as a tracer, has read them already. A stand-in for a response gives its body as it is.
 */
async function openedBody(answer: unknown): Promise<Opened> {
  if (!has<{ asResponse(): Promise<Response> }>(answer, "asResponse")) return { data: await answer };
  const response = await answer.asResponse();
  return response.bodyUsed ? { data: await (answer as unknown), response } : { response };
}

/** The SDK's own events are read, because something that was put around them may follow them. */
async function openedStream(answer: unknown): Promise<Opened> {
  if (!has<{ withResponse(): Promise<{ data: unknown; response: OpenResponse }> }>(answer, "withResponse"))
    return { data: await answer };
  const { data, response } = await answer.withResponse();
  return { data, response };
}

/** Whether it is what the SDK's `create` returns, an `APIPromise`. */
function has<Method>(answer: unknown, method: keyof Method): answer is Method {
  return typeof (answer as Partial<Method> | undefined)?.[method] === "function";
}

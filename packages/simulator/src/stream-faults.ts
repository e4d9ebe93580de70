import type { StreamedEvent } from "./pieces.ts";
import { errorStep } from "./service-error.ts";
import { written } from "./sse.ts";
import type { Api, JsonObject } from "./types.ts";

type Pieces = readonly (string | Buffer)[];

/** The events as a "stream" fault has them on the wire; without one as they are. */
export function wireStream(api: Api, events: readonly StreamedEvent[], name: string | undefined): Pieces {
  const middle = Math.floor(events.length / 2);
  const plain = (all: readonly StreamedEvent[]): Pieces => all.map(written);
  switch (name) {
    case "stream_cut":
    case "stream_stalls":
      return plain(events.slice(0, middle));
    case "stream_error_first":
      return plain([failing(api, "server_error", "The server had an error.", 0)]);
    case "stream_error_midway":
      return plain([...events.slice(0, middle), failing(api, "server_error", "The server had an error.", middle)]);
    case "stream_overloaded":
      return plain([
        ...events.slice(0, middle),
        failing(api, "overloaded_error", "Overloaded, try again later.", middle),
      ]);
    case "stream_duplicates":
      return plain(events.flatMap((event) => [event, event]));
    case "stream_out_of_order":
      return plain(swappedDeltas(events));
    case "stream_after_end":
      return plain([...events, ...events.filter(isDelta).slice(0, 2)]);
    case "stream_unknown_events":
      return plain(events.flatMap((event) => [strange(api), event]));
    case "stream_comments":
      return events.flatMap((event) => [": keep-alive\n\n", written(event)]);
    case "stream_crlf":
      return events.map((event) => written(event).replaceAll("\n", "\r\n"));
    case "stream_bom":
      return ["\uFEFF", ...events.map(written)];
    case "stream_split":
      return splitBytes(Buffer.from(events.map(written).join("")));
    case "stream_no_done":
      return plain(events.filter(({ data }) => data !== "[DONE]"));
    case undefined:
    default:
      return plain(events);
  }
}

function failing(api: Api, code: string, message: string, sequence_number: number): StreamedEvent {
  if (api === "anthropic" || api === "gemini") {
    const status = code !== "overloaded_error" ? 500 : api === "anthropic" ? 529 : 503;
    const data = errorStep(api, { status, message }).body as JsonObject;
    return api === "anthropic" ? { name: "error", data } : { data };
  }
  if (api === "responses")
    return { name: "error", data: { type: "error", code, message, param: null, sequence_number } };
  return { data: { error: { message, type: code, code, param: null } } };
}

function strange(api: Api): StreamedEvent {
  if (api === "anthropic") return { name: "brand_new", data: { type: "brand_new", delta: "x" } };
  if (api === "gemini") return { data: { brandNew: true } };
  if (api === "responses")
    return { name: "response.brand_new.delta", data: { type: "response.brand_new.delta", delta: "x" } };
  return { data: { object: "chat.completion.brand_new", choices: [], brand_new: true } };
}

function isDelta({ name, data }: StreamedEvent): boolean {
  if (name !== undefined) return name === "response.output_text.delta" || name === "content_block_delta";
  const [choice] = typeof data === "string" ? [] : ((data["choices"] ?? []) as readonly { readonly delta?: object }[]);
  if (choice !== undefined) return choice.delta !== undefined && "content" in choice.delta;
  return typeof data !== "string" && data["candidates"] !== undefined;
}

/** The second delta of the text before the first. */
function swappedDeltas(events: readonly StreamedEvent[]): readonly StreamedEvent[] {
  const at = events.findIndex((event, index) => isDelta(event) && isDelta(events[index + 1] ?? { data: "" }));
  if (at === -1) return events;
  const [first, second] = [events[at] as StreamedEvent, events[at + 1] as StreamedEvent];
  return [...events.slice(0, at), second, first, ...events.slice(at + 2)];
}

function splitBytes(bytes: Buffer): readonly Buffer[] {
  const all: Buffer[] = [];
  // Primes, so that cuts fall anywhere.
  const sizes = [1, 2, 3, 5, 7, 11, 97, 211, 997];
  for (let from = 0, turn = 0; from < bytes.length; turn++) {
    const size = sizes[turn % sizes.length] as number;
    all.push(bytes.subarray(from, from + size));
    from += size;
  }
  return all;
}

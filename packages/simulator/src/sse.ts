import { pieces, type StreamedEvent, type Streaming } from "./pieces.ts";
import { anthropicEvents } from "./sse-anthropic.ts";
import { geminiEvents } from "./sse-gemini.ts";
import { isObject, itemsOf, type Api, type JsonObject } from "./types.ts";

/** The answer as the service streams it. Sources: OpenAI API reference, "Streaming events" and "The chat completion chunk object". */
export function streamOf(api: Api, body: JsonObject, streaming: Streaming): readonly StreamedEvent[] {
  return streams[api](body, streaming);
}

const streams: { readonly [api in Api]: (body: JsonObject, streaming: Streaming) => readonly StreamedEvent[] } = {
  responses: responsesEvents,
  chat: chatChunks,
  anthropic: anthropicEvents,
  gemini: geminiEvents,
};

/** One event on the wire. */
export function written({ name, data }: StreamedEvent): string {
  const text = typeof data === "string" ? data : JSON.stringify(data);
  return `${name === undefined ? "" : `event: ${name}\n`}data: ${text}\n\n`;
}

function responsesEvents(body: JsonObject, { chunkCharacters }: Streaming): readonly StreamedEvent[] {
  const events: StreamedEvent[] = [];
  const add = (type: string, fields: JsonObject): void =>
    void events.push({ name: type, data: { type, sequence_number: events.length, ...fields } });
  const begun = { ...body, status: "in_progress", output: [], usage: null, incomplete_details: null, error: null };
  add("response.created", { response: begun });
  add("response.in_progress", { response: begun });
  const output = itemsOf(body["output"]);
  for (const [output_index, item] of output.entries()) {
    const at = { item_id: item["id"], output_index };
    add("response.output_item.added", { output_index, item: begunItem(item) });
    if (item["type"] === "message") addParts(item, at, chunkCharacters, add);
    if (item["type"] === "web_search_call") {
      for (const state of ["in_progress", "searching", "completed"]) add(`response.web_search_call.${state}`, at);
    }
    if (item["type"] === "reasoning") addSummary(item, at, chunkCharacters, add);
    if (item["type"] === "function_call" && typeof item["arguments"] === "string") {
      for (const delta of pieces(item["arguments"], chunkCharacters)) {
        add("response.function_call_arguments.delta", { ...at, delta });
      }
      add("response.function_call_arguments.done", { ...at, arguments: item["arguments"] });
    }
    add("response.output_item.done", { output_index, item });
  }
  const status = String(body["status"]);
  // A status that is none for an end comes with an event that says so.
  add(`response.${endings.has(status) ? status : "completed"}`, { response: body });
  return events;
}

const endings = new Set(["completed", "incomplete", "failed", "cancelled"]);

function addParts(
  item: JsonObject,
  at: JsonObject,
  chunkCharacters: number,
  add: (type: string, fields: JsonObject) => void,
): void {
  const parts = itemsOf(item["content"]);
  for (const [content_index, part] of parts.entries()) {
    const [key, kind] = part["type"] === "refusal" ? ["refusal", "refusal"] : ["text", "output_text"];
    const text = part[key];
    add("response.content_part.added", {
      ...at,
      content_index,
      part: { ...part, [key]: "", ...(key === "text" ? { annotations: [] } : {}) },
    });
    if (typeof text === "string") {
      const here = { ...at, content_index, ...(kind === "output_text" ? { logprobs: [] } : {}) };
      for (const delta of pieces(text, chunkCharacters)) add(`response.${kind}.delta`, { ...here, delta });
      const cited = Array.isArray(part["annotations"]) ? (part["annotations"] as readonly unknown[]) : [];
      for (const [annotation_index, annotation] of cited.entries()) {
        add("response.output_text.annotation.added", { ...at, content_index, annotation_index, annotation });
      }
      add(`response.${kind}.done`, { ...here, [key]: text });
    }
    add("response.content_part.done", { ...at, content_index, part });
  }
}

function addSummary(
  item: JsonObject,
  at: JsonObject,
  chunkCharacters: number,
  add: (type: string, fields: JsonObject) => void,
): void {
  const parts = itemsOf(item["summary"]);
  for (const [summary_index, part] of parts.entries()) {
    const here = { ...at, summary_index };
    const text = typeof part["text"] === "string" ? part["text"] : "";
    add("response.reasoning_summary_part.added", { ...here, part: { ...part, text: "" } });
    for (const delta of pieces(text, chunkCharacters)) add("response.reasoning_summary_text.delta", { ...here, delta });
    add("response.reasoning_summary_text.done", { ...here, text });
    add("response.reasoning_summary_part.done", { ...here, part });
  }
}

function begunItem(item: JsonObject): JsonObject {
  if (item["type"] === "reasoning") return { ...item, summary: [] };
  if (item["type"] === "message") return { ...item, status: "in_progress", content: [] };
  if (item["type"] === "web_search_call") return { id: item["id"], type: item["type"], status: "in_progress" };
  return item["type"] === "function_call" ? { ...item, status: "in_progress", arguments: "" } : item;
}

function chatChunks(body: JsonObject, { chunkCharacters, includeUsage }: Streaming): readonly StreamedEvent[] {
  const { choices, usage, object: _, ...base } = body;
  const chunk = (fields: JsonObject): StreamedEvent => ({
    data: {
      ...base,
      object: "chat.completion.chunk",
      ...fields,
      ...(includeUsage ? { usage: fields["usage"] ?? null } : {}),
    },
  });
  const given = itemsOf(choices);
  const events = given.flatMap((choice) => {
    const { message, finish_reason = null, index = 0 } = choice;
    const delta = (fields: JsonObject): StreamedEvent =>
      chunk({ choices: [{ index, delta: fields, logprobs: null, finish_reason: null }] });
    return [
      ...messageDeltas(isObject(message) ? message : {}, chunkCharacters).map(delta),
      chunk({ choices: [{ index, delta: {}, logprobs: null, finish_reason }] }),
    ];
  });
  const counted = includeUsage && usage !== undefined ? [chunk({ choices: [], usage })] : [];
  return [...events, ...counted, { data: "[DONE]" }];
}

function messageDeltas(message: JsonObject, chunkCharacters: number): readonly JsonObject[] {
  const texts = (["content", "refusal"] as const).flatMap((key) => {
    const text = message[key];
    return typeof text === "string" ? pieces(text, chunkCharacters).map((piece) => ({ [key]: piece })) : [];
  });
  const calls = itemsOf(message["tool_calls"]);
  const callDeltas = calls.flatMap((call, index): readonly JsonObject[] => {
    const { function: given, ...rest } = call;
    const { arguments: text, ...named } = isObject(given) ? given : {};
    if (typeof text !== "string")
      return [{ tool_calls: [{ index, ...rest, function: { ...named, arguments: text } }] }];
    const first = { tool_calls: [{ index, ...rest, function: { ...named, arguments: "" } }] };
    const more = pieces(text, chunkCharacters).map((piece) => ({
      tool_calls: [{ index, function: { arguments: piece } }],
    }));
    return [first, ...more];
  });
  const { content, refusal: _, tool_calls: __, annotations: ___, ...more } = message;
  return [
    { ...more, role: "assistant", content: content === null ? null : "", refusal: null },
    ...texts,
    ...callDeltas,
  ];
}

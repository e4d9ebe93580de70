import { checkKeys, objectAt, readArguments, words } from "./check.ts";
import type { ItemsOfAccount } from "./kept-items.ts";
import { readAnthropic } from "./read-anthropic.ts";
import { readChat } from "./read-chat.ts";
import { readGemini } from "./read-gemini.ts";
import { readResponses } from "./read-responses.ts";
import { badRequest, invalidType } from "./refusal.ts";
import type { Route } from "./route.ts";
import type { Api, JsonObject, SimulatedRequest } from "./types.ts";

/** The content of a body, in one form for all APIs. */
export type ReadRequest = Pick<SimulatedRequest, "system" | "messages" | "tools" | "toolChoice" | "output">;

/** @throws {Refusal} for what the real service would refuse. */
export function readRequest(route: Route, body: JsonObject, index: number, kept: ItemsOfAccount): SimulatedRequest {
  const { api } = route;
  if (api === "responses" || api === "chat") checkStream(api, body);
  const read = readers[api](body, kept);
  const calls = new Map(read.messages.flatMap(({ toolCalls }) => toolCalls).map((call) => [call.id, call]));
  return {
    ...read,
    api,
    index,
    stream: route.stream ?? body["stream"] === true,
    model: route.model ?? String(body["model"]),
    body,
    toolResults: () =>
      read.messages.flatMap(({ role, callId = "", text }) => {
        if (role !== "tool") return [];
        const call = calls.get(callId);
        return [{ callId, name: call?.name ?? "", arguments: readArguments(call), text }];
      }),
  };
}

const readers: { readonly [api in Api]: (body: JsonObject, kept: ItemsOfAccount) => ReadRequest } = {
  responses: readResponses,
  chat: readChat,
  anthropic: readAnthropic,
  gemini: readGemini,
};

const streamOptionKeys = {
  responses: words("include_obfuscation"),
  chat: words("include_obfuscation include_usage"),
} as const;

function checkStream(
  api: keyof typeof streamOptionKeys,
  { stream = null, stream_options: options = null }: JsonObject,
): void {
  if (stream !== null && typeof stream !== "boolean") throw invalidType("stream", "a boolean", stream);
  if (options === null) return;
  if (stream !== true) {
    const message = "The 'stream_options' parameter is only allowed when 'stream' is enabled.";
    throw badRequest(message, "stream_options");
  }
  checkKeys(objectAt(options, "stream_options"), streamOptionKeys[api], "stream_options.");
}

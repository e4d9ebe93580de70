import { checkKeys, objectAt, readArguments, words } from "./check.ts";
import { readChat } from "./read-chat.ts";
import { readResponses } from "./read-responses.ts";
import { badRequest, invalidType } from "./refusal.ts";
import type { Api, JsonObject, SimulatedRequest } from "./types.ts";

/** The content of a body, in one form for both APIs. */
export type ReadRequest = Pick<SimulatedRequest, "system" | "messages" | "tools" | "toolChoice" | "output">;

/** @throws {Refusal} for what the real service would refuse. */
export function readRequest(api: Api, body: JsonObject, index: number): SimulatedRequest {
  checkStream(api, body);
  const read = api === "responses" ? readResponses(body) : readChat(body);
  const calls = new Map(read.messages.flatMap(({ toolCalls }) => toolCalls).map((call) => [call.id, call]));
  return {
    ...read,
    api,
    index,
    model: String(body["model"]),
    body,
    toolResults: () =>
      read.messages.flatMap(({ role, callId = "", text }) => {
        if (role !== "tool") return [];
        const call = calls.get(callId);
        return [{ callId, name: call?.name ?? "", arguments: readArguments(call), text }];
      }),
  };
}

const streamOptionKeys = {
  responses: words("include_obfuscation"),
  chat: words("include_obfuscation include_usage"),
} as const;

function checkStream(api: Api, { stream = null, stream_options: options = null }: JsonObject): void {
  if (stream !== null && typeof stream !== "boolean") throw invalidType("stream", "a boolean", stream);
  if (options === null) return;
  if (stream !== true) {
    const message = "The 'stream_options' parameter is only allowed when 'stream' is enabled.";
    throw badRequest(message, "stream_options");
  }
  checkKeys(objectAt(options, "stream_options"), streamOptionKeys[api], "stream_options.");
}

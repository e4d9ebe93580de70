import { readArguments } from "./check.ts";
import { readChat } from "./read-chat.ts";
import { readResponses } from "./read-responses.ts";
import { invalidType } from "./refusal.ts";
import type { Api, JsonObject, SimulatedRequest } from "./types.ts";

/** What a body says, in one form for both APIs. */
export type ReadRequest = Pick<SimulatedRequest, "system" | "messages" | "tools" | "toolChoice" | "output">;

/** @throws {Refusal} for what the real service would refuse. */
export function readRequest(api: Api, body: JsonObject, index: number): SimulatedRequest {
  if (body["stream"] !== undefined && typeof body["stream"] !== "boolean" && body["stream"] !== null) {
    throw invalidType("stream", "a boolean", body["stream"]);
  }
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

import { chatFormat } from "../../src/to-chat.ts";
import { responsesFormat } from "../../src/to-responses.ts";

export const toChat = chatFormat().object;
export const toResponses = responsesFormat().object;

/** A body as its JSON, which is what a server sees. */
export function asSent(body: unknown): Record<string, unknown> {
  return JSON.parse(JSON.stringify(body)) as Record<string, unknown>;
}

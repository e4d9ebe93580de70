// Thoughts over Chat Completions, which OpenAI's own service does not have: compatible services write them beside the text.
import type { AssistantMessage } from "@proviso/core";
import { isRecord } from "@proviso/core/provider";
import { textAt, type Json } from "@proviso/adapter-kit";

/**
 * The name under which a service gives thoughts that it wants back: with the calls that it made after them, in each later
 * request, which it refuses else. Source: DeepSeek's API docs, "Thinking Mode", "Tool Calls".
 */
const wantedBack = "reasoning_content";

/** Thoughts of a message or of a piece of it; empty where it has none. */
export function chatThoughts(message: Json): string {
  return textAt(message, wantedBack) || textAt(message, "reasoning");
}

/** The thoughts of an answer as JSON has them, under the name that they came with. */
export function asThoughts(thoughts: string, isWantedBack: boolean): Json {
  return thoughts === "" ? {} : { [isWantedBack ? wantedBack : "reasoning"]: thoughts };
}

/** Whether the thoughts of a piece have the name of those that are wanted back. */
export function areWantedBack(delta: Json): boolean {
  return textAt(delta, wantedBack) !== "";
}

const api = "chat-thoughts";

/** Says in a message that the service which is named wants its thoughts back; nothing where it does not. */
export function keptThoughts(
  message: Json,
  { service, hasCalls }: { readonly service: string | undefined; readonly hasCalls: boolean },
): { readonly providerItems?: unknown } {
  if (service === undefined || !hasCalls || !areWantedBack(message)) return {};
  return { providerItems: { api, service } };
}

/** The thoughts of a message for the service that wants them back, and for no other. */
export function thoughtsFor({ reasoning, providerItems }: AssistantMessage, service: string | undefined): Json {
  if (service === undefined || reasoning === undefined || !isRecord(providerItems)) return {};
  return providerItems["api"] === api && providerItems["service"] === service ? { [wantedBack]: reasoning } : {};
}

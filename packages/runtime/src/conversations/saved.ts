// 1. What was saved can be restored: what could not be is refused when it is saved.
// 2. No error quotes the text of a message.
import { DefinitionError, parseMessages, type Message, type Session, type Slice } from "@proviso/core";
import { checkOptionNames, isRecord, parseJson } from "@proviso/core/provider";
import { describeValue, messageOf } from "@proviso/core/internal";
import { frozenMessages } from "../history.ts";
import { isNewerSession } from "../session/session-json.ts";
import { restoreSession } from "../session/session.ts";
import { ConversationError } from "./conversation-error.ts";

/** The two halves of a conversation. */
export interface ConversationState {
  /** The state. */
  readonly session: Session;
  /** What the model has read and written so far; the next evaluation takes it as `messages`. */
  readonly messages: readonly Message[];
}

/** A conversation as plain JSON. */
export interface SavedConversation {
  /** Names what it is. */
  readonly format: "proviso.conversation";
  /** The version of the format. */
  readonly version: 1;
  /** What `session.toJSON()` returned. */
  readonly session: unknown;
  /** The messages, without the system text: that is the prompt's. */
  readonly messages: readonly Message[];
}

const format = "proviso.conversation";
const version = 1;

/**
 * Makes one plain JSON value of a session and its messages, for `restoreConversation`. Files in messages are references:
 * their bytes stay in the `Blobs`.
 * @throws {DefinitionError} for a state that is not plain JSON, and messages that could not be restored.
 */
export function saveConversation({ session, messages }: ConversationState): SavedConversation {
  if (typeof (session as Partial<Session> | undefined)?.toJSON !== "function")
    throw new DefinitionError(`saveConversation takes { session, messages }; session is ${describeValue(session)}.`);
  return { format, version, session: session.toJSON(), messages: frozenMessages(parseMessages(messages)) };
}

/**
 * Brings both halves back from what JSON.parse made of a saved conversation. Slices that it does not name begin anew.
 * @throws {ConversationError} "newer", or "unreadable" with the path of the fault; nothing exists then.
 * {DefinitionError} without slices.
 */
export function restoreConversation(json: unknown, options: { readonly slices: readonly Slice[] }): ConversationState {
  const slices: unknown = options?.slices;
  if (!Array.isArray(slices))
    throw new DefinitionError("restoreConversation needs the slices: { slices: prompt.slices }.");
  checkOptionNames("restoreConversation", options, { slices: true });
  if (typeof json === "string") throw unreadable("it is a text: give what JSON.parse makes of it");
  if (!isRecord(json) || json["format"] !== format) throw unreadable(`format must be "${format}"`);
  if (isNewer(json["version"])) throw newer();
  if (json["version"] !== version) throw unreadable(`version must be ${version}`);
  const unknown = Object.keys(json).find((key) => !["format", "version", "session", "messages"].includes(key));
  if (unknown !== undefined) throw unreadable("it has a key that is not known");
  if (isNewerSession(json["session"])) throw newer();
  try {
    const messages = frozenMessages(parseMessages(json["messages"]));
    return { messages, session: restoreSession(json["session"], { slices: options.slices }) };
  } catch (cause) {
    throw new ConversationError(messageOf(cause), { reason: "unreadable", cause });
  }
}

/** No limit: what is read was saved here. */
const anySize = { maxLength: Number.POSITIVE_INFINITY, maxDepth: Number.POSITIVE_INFINITY };

/**
 * The text of a saved conversation.
 * @throws {DefinitionError} for one that `conversationOf` would refuse: a provider's own items may have any keys.
 */
export function conversationText(saved: SavedConversation): string {
  const text = JSON.stringify(saved);
  const checked = /"(?:__proto__|constructor|prototype)":/.test(text) ? parseJson(text, anySize) : undefined;
  if (checked?.ok === false) throw new DefinitionError(`The conversation cannot be saved: ${checked.error}.`);
  return text;
}

/**
 * What the text of a saved conversation holds.
 * @throws {ConversationError} as `restoreConversation`.
 */
export function conversationOf(text: string, options: { readonly slices: readonly Slice[] }): ConversationState {
  const parsed = parseJson(text, anySize);
  // What JSON.parse says of a damaged text quotes it.
  if (!parsed.ok) throw unreadable("it is no JSON text, or has a key that is not allowed");
  return restoreConversation(parsed.value, options);
}

function isNewer(found: unknown): boolean {
  return typeof found === "number" && found > version;
}

function newer(): ConversationError {
  return new ConversationError("This conversation was saved by a newer release of this framework.", {
    reason: "newer",
  });
}

function unreadable(problem: string): ConversationError {
  return new ConversationError(`This is not a conversation's JSON: ${problem}.`, { reason: "unreadable" });
}

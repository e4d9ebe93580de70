import type { ServerResponse } from "node:http";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { deadlineIn, isEvaluationFailure, type ProviderAdapter, type StreamEvent } from "@proviso/core";
import {
  ConversationError,
  readConversation,
  serverSentEvents,
  withConversation,
  type ConversationState,
  type ConversationStore,
  type ServerSentEvent,
} from "@proviso/runtime";
import { chat, facts } from "./chat.ts";

/** All requests and tools of a turn together. */
const turnMs = 120_000;
/** How long a second window waits for the turn of the first. */
const waitMs = 10_000;
/** Tokens of the model; older turns give way before they are more. */
const window = 32_000;
const { slices } = chat;

/** A conversation of a user. */
export interface ConversationPlace {
  readonly store: ConversationStore;
  readonly id: string;
}

/** A turn to be taken, and where its answer goes. */
export interface Turn extends ConversationPlace {
  readonly adapter: ProviderAdapter;
  readonly said: string;
  readonly response: ServerResponse;
  readonly onError?: ((error: unknown) => void) | undefined;
}

/**
 * One turn: the answer goes to the browser while it is made, and "saved" when the conversation is in the store. A browser
 * that leaves ends the evaluation; then nothing of the turn is saved.
 */
export async function takeTurn({ store, id, adapter, said, response, onError }: Turn): Promise<void> {
  const leaving = new AbortController();
  response.once("close", () => leaving.abort(new DOMException("The browser left.", "AbortError")));
  const { signal } = leaving;
  const options = { signal, deadline: deadlineIn(turnMs), budget: { maxTotalTokens: 100_000 }, context: { window } };
  try {
    const saved = await withConversation(
      store,
      id,
      async (conversation) => {
        const stream = conversation.stream(adapter, chat.bind({ said }), options);
        response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-cache" });
        // The last word is ours: "saved", when it is.
        await pipeline(Readable.fromWeb(serverSentEvents(stream, { show })), response, { end: false });
        await stream.response;
        return shown(conversation);
      },
      { slices, waitMs, signal },
    );
    response.end(`event: saved\ndata: ${JSON.stringify(saved)}\n\n`);
  } catch (error) {
    if (signal.aborted || !response.headersSent) throw error;
    // `failed` was sent where the evaluation failed; what else fails is the store's.
    if (isEvaluationFailure(error)) {
      onError?.(error);
      response.end();
      return;
    }
    const code = error instanceof ConversationError ? error.reason : "internal";
    if (code === "internal") onError?.(error);
    response.end(`event: failed\ndata: ${JSON.stringify({ code })}\n\n`);
  }
}

/** Chooses what a browser may see: prompts, arguments and results are events, too. */
function show(event: StreamEvent<string>): ServerSentEvent | undefined {
  if (event.type === "provider.requested") return event.attempt === 1 ? { event: "turn" } : undefined;
  if (event.type === "text.delta") return { event: "text", data: event.text };
  if (event.type === "tool.invoked") return { event: "tool", data: { name: event.name, ok: event.result.success } };
  return event.type === "text.reset" ? { event: "reset" } : undefined;
}

/** A conversation as the page shows it. */
export interface ShownConversation {
  readonly messages: readonly { readonly role: string; readonly text: string }[];
  readonly facts: readonly string[];
}

function shown({ session, messages }: ConversationState): ShownConversation {
  const said = messages.filter(({ role, text }) => role !== "tool" && text !== "");
  return { messages: said.map(({ role, text }) => ({ role, text })), facts: session.get(facts) };
}

/** Reads a conversation, also while a turn of it is taken. */
export async function conversationOf({ store, id }: ConversationPlace): Promise<ShownConversation> {
  const found = await readConversation(store, id, { slices });
  return found === undefined ? { messages: [], facts: [] } : shown(found);
}

/** The conversations of a user, newest first. */
export async function conversationsOf(
  store: ConversationStore,
  user: string,
): Promise<readonly { readonly id: string; readonly savedAt: string }[]> {
  const all = await store.list({ prefix: `${user}/`, limit: 1_000 });
  return all
    .toSorted((a, b) => b.savedAt.getTime() - a.savedAt.getTime())
    .map(({ id, savedAt }) => ({ id: id.slice(user.length + 1), savedAt: savedAt.toISOString() }));
}

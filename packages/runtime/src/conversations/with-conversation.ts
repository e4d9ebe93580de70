import { DefinitionError, type Slice } from "@proviso/core";
import { checkOptionNames } from "@proviso/core/provider";
import { describeValue } from "@proviso/core/internal";
import { resolveEnvironment, systemId, type Environment } from "../environment.ts";
import type { Secrets } from "../secrets.ts";
import { createSession } from "../session/session.ts";
import { ConversationError } from "./conversation-error.ts";
import { openConversation, type Conversation } from "./conversation.ts";
import { withoutSecrets } from "./hide.ts";
import { acquireLease, type HeldLease } from "./lease.ts";
import { conversationOf, conversationText, saveConversation, type ConversationState } from "./saved.ts";
import { checkGiven } from "./slices.ts";
import { conversationId, type ConversationStore, type StoredConversation } from "./store.ts";

/** How a conversation is opened, and for how long it is held. */
export interface ConversationOptions extends Pick<Environment, "clock" | "random"> {
  /**
   * The slices of the session: `prompt.slices` of each prompt that the conversation uses, also inside calls, and those of
   * the policies in evaluate's options. A turn that brings others is a DefinitionError. Default: none.
   */
  readonly slices?: readonly Slice[] | undefined;
  /**
   * How long another writer is waited for, in milliseconds. Default 0: a conversation that another one has is a
   * ConversationError "busy" at once.
   */
  readonly waitMs?: number | undefined;
  /**
   * How long others wait for a writer that died, in milliseconds; a living one renews its lease. Default 30,000, and at
   * least 100.
   */
  readonly leaseMs?: number | undefined;
  /** Ends the wait for another writer with its reason, and aborts evaluations. */
  readonly signal?: AbortSignal | undefined;
  /**
   * Texts that are not saved, however they are written: "[secret]" stands in their place, also for the model that goes on
   * from what was saved. What an adapter hides in events is in messages as it came, so name its key here where a tool
   * could print it. Default: none.
   */
  readonly secrets?: readonly string[] | undefined;
}

const optionNames = {
  slices: true,
  waitMs: true,
  leaseMs: true,
  signal: true,
  secrets: true,
  clock: true,
  random: true,
} as const satisfies Record<keyof ConversationOptions, true>;

const usualLeaseMs = 30_000;
/** Shorter leases would be renewed more often than a timer fires. */
const shortestLeaseMs = 100;

/**
 * Opens a conversation as its only writer, calls the function with it, saves it, and lets others write it again. One that
 * is not stored yet begins anew; its session has the conversation's id. A function that throws saves nothing: what is
 * stored stays as it was, or as the last `conversation.save()` left it.
 * @example
 * ```ts
 * import { memoryConversations, modelAdapter, withConversation } from "@proviso/runtime";
 * import { scriptedModel } from "@proviso/runtime/testing";
 *
 * const adapter = modelAdapter(scriptedModel([{ text: "Hello, Ada." }, { text: "You are Ada." }]));
 * const store = memoryConversations();
 * await withConversation(store, "ada", (conversation) => conversation.evaluate(adapter, "I am Ada."));
 * const who = await withConversation(store, "ada", (conversation) => conversation.evaluate(adapter, "Who am I?"));
 * console.log(who.output, who.messages.length); // You are Ada. 4
 * ```
 * @throws {ConversationError} "busy", where another writer has it; "newer" and "unreadable", where it cannot be restored
 * (it is left as it is); "lost", where another writer took it over meanwhile, or it was deleted. The reason of `signal`,
 * where that ends the wait. What the function throws. What the store throws.
 */
export async function withConversation<T>(
  store: ConversationStore,
  id: string,
  use: (conversation: Conversation) => Promise<T> | T,
  options: ConversationOptions = {},
): Promise<T> {
  const { slices, secrets, wish } = checked(store, id, use, options);
  const lease = await acquireLease(store, id, { ...wish, token: systemId() });
  try {
    const { state, body } = begin(id, lease, slices);
    const save = saver(store, id, { lease, slices, secrets, body });
    const open = openConversation({
      id,
      ...state,
      revision: save.revision(),
      signal: lease.signal,
      slices,
      save: save.save,
    });
    try {
      const result = await use(open.conversation);
      await open.settled();
      await open.saveLast();
      return result;
    } catch (error) {
      await open.abort();
      throw lease.lost() ?? error;
    }
  } finally {
    await lease.release();
  }
}

/** A conversation as it was saved last. */
export interface ReadConversation extends ConversationState, Pick<StoredConversation, "revision" | "savedAt"> {}

/**
 * Reads a conversation as it was saved last, also while a writer has it; undefined where nothing was saved. What is done
 * with its session is not saved.
 * @throws {ConversationError} "newer" or "unreadable". What the store throws.
 */
export async function readConversation(
  store: ConversationStore,
  id: string,
  options: { readonly slices: readonly Slice[] },
): Promise<ReadConversation | undefined> {
  checkOptionNames("readConversation", options, { slices: true });
  const stored = await store.load(conversationId(id));
  if (stored === undefined) return undefined;
  const { revision, savedAt, body } = stored;
  return { ...restored(id, body, options.slices), revision, savedAt };
}

/** The state to go on from, and the text that need not be saved again. */
function begin(
  id: string,
  { stored }: HeldLease,
  slices: readonly Slice[],
): { readonly state: ConversationState; readonly body: string } {
  if (stored !== undefined) return { state: restored(id, stored.body, slices), body: stored.body };
  const state: ConversationState = { session: createSession({ id, slices }), messages: [] };
  return { state, body: conversationText(saveConversation(state)) };
}

function restored(id: string, body: string, slices: readonly Slice[]): ConversationState {
  try {
    return conversationOf(body, { slices });
  } catch (error) {
    if (!(error instanceof ConversationError)) throw error;
    const { reason, message, cause } = error;
    const text = `The conversation ${JSON.stringify(id)} cannot be restored: ${message}`;
    throw new ConversationError(text, { reason, conversationId: id, cause });
  }
}

interface Saver {
  readonly revision: () => number;
  readonly save: (state: ConversationState) => Promise<number>;
}

interface SaverParts {
  readonly lease: HeldLease;
  readonly slices: readonly Slice[];
  readonly secrets: Secrets | undefined;
  readonly body: string;
}

/** Saves what has changed, in order. */
function saver(store: ConversationStore, id: string, { lease, slices, secrets, body }: SaverParts): Saver {
  let revision = lease.stored?.revision ?? 0;
  let saved = body;
  let before: Promise<unknown> = Promise.resolve();
  const write = async (next: string): Promise<number> => {
    if (next === saved) return revision;
    const isKept = await store.save(id, { token: lease.token, revision: revision + 1, body: next });
    if (!isKept) throw lease.lose();
    saved = next;
    return ++revision;
  };
  return {
    revision: () => revision,
    async save(state) {
      // Slices of an evaluation inside a call were not known when the turn began.
      checkGiven(id, state.session.slices(), slices);
      const next = conversationText(withoutSecrets(saveConversation(state), secrets, state.session.slices()));
      const writing = afterwards(before, () => write(next));
      before = writing.catch(() => {});
      return writing;
    },
  };
}

async function afterwards<T>(before: Promise<unknown>, work: () => Promise<T>): Promise<T> {
  await before;
  return work();
}

interface Checked {
  readonly slices: readonly Slice[];
  readonly secrets: Secrets | undefined;
  readonly wish: Omit<Parameters<typeof acquireLease>[2], "token">;
}

function checked(store: ConversationStore, id: string, use: unknown, options: ConversationOptions): Checked {
  checkOptionNames("withConversation", options, optionNames);
  const { slices = [], waitMs = 0, leaseMs = usualLeaseMs, signal } = options;
  if (typeof (store as Partial<ConversationStore> | undefined)?.acquire !== "function")
    throw new DefinitionError(
      `withConversation needs a store, memoryConversations() for example, not ${describeValue(store)}.`,
    );
  conversationId(id);
  if (typeof use !== "function")
    throw new DefinitionError(`withConversation needs a function to call with the conversation.`);
  if (!(waitMs >= 0)) throw wrong("waitMs", "0 or more milliseconds", waitMs);
  if (!(leaseMs >= shortestLeaseMs && leaseMs < Infinity))
    throw wrong("leaseMs", `at least ${shortestLeaseMs} milliseconds`, leaseMs);
  const { clock, random, secrets } = resolveEnvironment(options);
  return { slices, secrets, wish: { waitMs, leaseMs, clock, random, signal } };
}

function wrong(option: string, mustBe: string, given: unknown): DefinitionError {
  return new DefinitionError(`withConversation: ${option} must be ${mustBe}, not ${describeValue(given)}.`);
}

// 1. What is in it has no half surrogate pair: this is the one door to the wire for texts, results and histories.
// 2. Only grows, at its end; a message in it never changes, but for the prompt's own texts when sections open. Where the
//    evaluation has a context policy, all of it may be replaced by a shorter one.
// 3. A turn's calls and the answers to all of them are appended as one: no call is ever without its answer.
import {
  isFileRef,
  type AssistantMessage,
  type Message,
  type PromptMessage,
  type RenderedPrompt,
  type ToolMessage,
} from "@proviso/core";
import { frozenInDepth } from "@proviso/core/internal";
import type { FileBound } from "./content/file-tokens.ts";
import { tokensOf } from "./usage.ts";
import { wellFormedMessage } from "./well-formed.ts";

/** A history that an evaluation goes on with. */
export interface Continued {
  readonly messages: readonly Message[];
  /** Where the prompt's question stands in it, where that is known: its text changes when sections open. */
  readonly question: number | undefined;
  /** What the user says next; undefined: the model's turn has come. */
  readonly next: string | undefined;
}

/** What comes before a prompt's question. */
export interface Beginning {
  /** Earlier turns. Default: none. */
  readonly earlier?: readonly Message[];
  /** A history that holds the question already, in place of `earlier`. */
  readonly continued?: Continued | undefined;
  /** Whether the prompt's texts keep the marks of their cached sections. Default false. */
  readonly isMarked?: boolean;
}

export interface Conversation {
  /** What is sent: the system text, then all messages. */
  request(): readonly Message[];
  /** What can be given to the next evaluation. */
  messages(): readonly Message[];
  /** Where the prompt's own question stands in `messages`; undefined: it is not known. */
  question: number | undefined;
  /** How many messages came before this evaluation. */
  earlier: number;
  /** What `say` has added since the last request; undefined: nothing. */
  added: readonly string[] | undefined;
  /** The adapter's bound of a file's tokens; undefined: the table counts. */
  bound: FileBound | undefined;
  /** Tokens of what is sent, from that message on; an estimate. */
  tokensFrom(index: number): number;
  /** A turn that is over. */
  append(message: AssistantMessage, answers: readonly ToolMessage[]): void;
  /** The prompt's own texts as they are now, in place of what they were. */
  rerender(rendered: RenderedPrompt): void;
  /** The user's next word. */
  say(text: string): void;
  /** Other messages in place of all, and where the prompt's own question stands in them. */
  replace(by: Pick<Continued, "messages" | "question">): void;
  /** The history that a recorded evaluation was given. */
  recall(history: RecordedHistory): void;
}

/** The history that an evaluation was given, as the record of its run has it. */
export interface RecordedHistory {
  readonly messages: readonly Message[];
  readonly question?: number | undefined;
  /** How many came before this evaluation. Left out by records of before: all but the prompt's question. */
  readonly earlier?: number | undefined;
  /** What the user said next. */
  readonly added?: readonly string[] | undefined;
}

/** Starts a conversation after earlier turns, or goes on with a history that holds the prompt's question. */
export function startConversation(rendered: RenderedPrompt, begins: Beginning = {}): Conversation {
  const { earlier = [], continued, isMarked = false } = begins;
  let system = systemOf(rendered, isMarked);
  const messages: Message[] = [...frozenMessages(continued?.messages ?? earlier)];
  const placeOfQuestion = continued === undefined ? messages.length : continued.question;
  const before = messages.length;
  // What renders to nothing was refused, and without a user section all of it is the user's.
  if (continued === undefined) messages.push(questionOf(rendered, isMarked));
  else if (continued.next !== undefined) messages.push(freeze({ role: "user", text: continued.next }));
  /** The estimated tokens of all messages up to each. */
  let tokens: number[] = [0];

  const add = (message: Message): void => {
    messages.push(freeze(message));
  };
  const conversation: Conversation = {
    request: () => [...system, ...messages],
    messages: () => Object.freeze([...messages]),
    question: placeOfQuestion,
    earlier: before,
    added: continued?.next === undefined ? undefined : [continued.next],
    bound: undefined,
    tokensFrom(index) {
      const all = system.length + messages.length;
      for (let i = tokens.length - 1; i < all; i++) {
        const message = (system[i] ?? messages[i - system.length]) as Message;
        tokens.push((tokens[i] ?? 0) + tokensOf(message, conversation.bound));
      }
      return (tokens[all] ?? 0) - (tokens[index] ?? 0);
    },
    append(message, answers) {
      add(message);
      for (const answer of answers) add(answer);
    },
    rerender(now) {
      system = systemOf(now, isMarked);
      if (conversation.question !== undefined) messages[conversation.question] = questionOf(now, isMarked);
      tokens = [0];
    },
    say(text) {
      add({ role: "user", text });
      conversation.added = [...(conversation.added ?? []), text];
    },
    replace(by) {
      messages.splice(0, messages.length, ...by.messages.map(freeze));
      conversation.question = by.question;
      conversation.added = undefined;
      tokens = [0];
    },
    recall({ messages: all, question, earlier: count, added }) {
      conversation.replace({ messages: all, question });
      conversation.earlier = count ?? (question === all.length - 1 ? question : all.length);
      conversation.added = added;
    },
  };
  return conversation;
}

/** Freezes the messages and leaves out the system text, which is the prompt's own. */
export function frozenMessages(messages: readonly Message[]): readonly Message[] {
  return Object.freeze(messages.filter(({ role }) => role !== "system").map(freeze));
}

function systemOf({ system, cacheAt }: RenderedPrompt, isMarked: boolean): readonly Message[] {
  if (system === "") return [];
  const marks = isMarked ? marksOf(cacheAt?.system) : undefined;
  return [freeze(marks === undefined ? { role: "system", text: system } : { ...marks, role: "system", text: system })];
}

function questionOf({ user, cacheAt, files }: RenderedPrompt, isMarked: boolean): Message {
  const marks = isMarked ? marksOf(cacheAt?.user) : undefined;
  if (marks === undefined && files === undefined) return freeze({ role: "user", text: user });
  return freeze({ ...marks, ...(files && placedIn(files)), role: "user", text: user });
}

/** The files that are stored; the others are, before anything is sent. */
function placedIn(files: NonNullable<RenderedPrompt["files"]>): Pick<PromptMessage, "files"> | undefined {
  const placed = files.flatMap(({ at, file }) => (isFileRef(file) ? [{ at, file }] : []));
  return placed.length === 0 ? undefined : { files: Object.freeze(placed) };
}

function marksOf(offsets: readonly number[] | undefined): Pick<PromptMessage, "cacheAt"> | undefined {
  return offsets === undefined || offsets.length === 0 ? undefined : { cacheAt: offsets };
}

function freeze(given: Message): Message {
  const message = wellFormedMessage(given);
  if (message.role !== "assistant") return Object.freeze(message);
  try {
    return frozenInDepth(message);
  } catch {
    // A provider's own items may be anything; what cannot be frozen is left as it came.
    return message;
  }
}

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
  DefinitionError,
  parseMessages,
  type ContinueFrom,
  type EvaluateOptions,
  type EvaluationFailure,
  type Prompt,
  type SchemaIssue,
  type EvaluationSettings,
} from "@proviso/core";
import { frozenInDepth, completedMessages, describeIssues, emptyQuestion } from "@proviso/core/internal";
import { type FileBound, type SentBeside, tokensBeside, tokensOf } from "./tokens.ts";
import { wellFormedMessage } from "./well-formed.ts";
import { failureBehind, readOption } from "./failures.ts";

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
  readonly earlier?: readonly Message[] | undefined;
  /** A history that holds the question already, in place of `earlier`. */
  readonly continued?: Continued | undefined;
  /** Whether the prompt's texts keep the marks of their cached sections. Default false. */
  readonly isMarked?: boolean;
}

/** The messages of one evaluation, as they go to its model. */
export interface History {
  /** What is sent: the system text, then all messages. Observers, models and the record have the same list. */
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
  /** Tokens of what is sent beside the messages; an estimate, made again when the tools or the output are others. */
  tokensBeside(request: SentBeside): number;
  /** A turn that is over; the message is one that `frozenMessage` made. */
  append(message: AssistantMessage, answers: readonly ToolMessage[]): void;
  /** The prompt's own texts as they are now, in place of what they were. */
  rerender(rendered: RenderedPrompt): void;
  /** Adds a user message. */
  say(text: string): void;
  /** Other messages in place of all, and where the prompt's own question stands in them. */
  replace(by: Pick<Continued, "messages" | "question">): void;
}

/** Starts a history after earlier turns, or goes on with a history that holds the prompt's question. */
function startHistory(rendered: RenderedPrompt, begins: Beginning = {}): History {
  const { earlier = [], continued, isMarked = false } = begins;
  let system = systemOf(rendered, isMarked);
  const messages: Message[] = [...frozenMessages(continued?.messages ?? earlier)];
  const placeOfQuestion = continued === undefined ? messages.length : continued.question;
  const before = messages.length;
  if (continued === undefined) messages.push(questionOf(rendered, isMarked));
  else if (continued.next !== undefined) messages.push(frozenMessage({ role: "user", text: continued.next }));
  /** The estimated tokens of all messages up to each. */
  let tokens: number[] = [0];
  let beside: { readonly tools: unknown; readonly schema: unknown; readonly tokens: number } | undefined;

  const own: History = {
    request: () => Object.freeze([...system, ...messages]),
    messages: () => Object.freeze([...messages]),
    question: placeOfQuestion,
    earlier: before,
    added: continued?.next === undefined ? undefined : [continued.next],
    bound: undefined,
    tokensFrom(index) {
      const all = system.length + messages.length;
      for (let i = tokens.length - 1; i < all; i++) {
        const message = (system[i] ?? messages[i - system.length]) as Message;
        tokens.push((tokens[i] ?? 0) + tokensOf(message, own.bound));
      }
      return (tokens[all] ?? 0) - (tokens[index] ?? 0);
    },
    tokensBeside(request) {
      const { tools, output } = request;
      if (beside?.tools !== tools || beside.schema !== output?.schema)
        beside = { tools, schema: output?.schema, tokens: tokensBeside(request) };
      return beside.tokens;
    },
    append(message, answers) {
      messages.push(message);
      for (const answer of answers) messages.push(frozenMessage(answer));
    },
    rerender(now) {
      system = systemOf(now, isMarked);
      // A prompt that asks nothing leaves the question of the history that it goes on with.
      if (own.question !== undefined && now.user.trim() !== "") messages[own.question] = questionOf(now, isMarked);
      tokens = [0];
    },
    say(text) {
      messages.push(frozenMessage({ role: "user", text }));
      own.added = [...(own.added ?? []), text];
    },
    replace(by) {
      messages.splice(0, messages.length, ...by.messages.map((message) => frozenMessage(message)));
      own.question = by.question;
      own.added = undefined;
      tokens = [0];
    },
  };
  return own;
}

/** Freezes the messages and leaves out the system text, which is the prompt's own. */
export function frozenMessages(messages: readonly Message[]): readonly Message[] {
  return Object.freeze(messages.filter(({ role }) => role !== "system").map((message) => frozenMessage(message)));
}

function systemOf({ system, cacheAt }: RenderedPrompt, isMarked: boolean): readonly Message[] {
  if (system === "") return [];
  const marks = isMarked ? marksOf(cacheAt?.system) : undefined;
  return [
    frozenMessage(marks === undefined ? { role: "system", text: system } : { ...marks, role: "system", text: system }),
  ];
}

function questionOf({ user, cacheAt, files }: RenderedPrompt, isMarked: boolean): Message {
  const marks = isMarked ? marksOf(cacheAt?.user) : undefined;
  if (marks === undefined && files === undefined) return frozenMessage({ role: "user", text: user });
  return frozenMessage({ ...marks, ...(files && placedIn(files)), role: "user", text: user });
}

/** The files that are stored; the others are, before anything is sent. */
function placedIn(files: NonNullable<RenderedPrompt["files"]>): Pick<PromptMessage, "files"> | undefined {
  const placed = files.flatMap(({ at, file }) => (isFileRef(file) ? [{ at, file }] : []));
  return placed.length === 0 ? undefined : { files: Object.freeze(placed) };
}

function marksOf(offsets: readonly number[] | undefined): Pick<PromptMessage, "cacheAt"> | undefined {
  return offsets === undefined || offsets.length === 0 ? undefined : { cacheAt: offsets };
}

/** A message as it is kept and sent: well-formed, and frozen at every depth. */
export function frozenMessage<M extends Message>(given: M): M {
  const message = wellFormedMessage(given);
  if (message.role !== "assistant") return Object.freeze(message);
  try {
    return frozenInDepth(message);
  } catch {
    // A provider's own items may be anything; what cannot be frozen is left as it came.
    return message;
  }
}

/** A history, and what is known of where it comes from. */
interface KnownHistory extends Continued {
  /** undefined: it was not rendered here, so the question is looked for. */
  readonly template: Prompt["template"] | undefined;
  /** false: the prompt's question comes after it. */
  readonly isAsked: boolean;
}

/** The histories as they were sent; an error shows them without secrets. */
const histories = new WeakMap<object, KnownHistory>();

export function rememberHistory(error: EvaluationFailure, { template }: Prompt, history: History): void {
  const messages = history.messages();
  rememberGiven(error, { messages, question: history.question, template, isAsked: true, next: wordAfter(error) });
}

/**
 * Remembers the history of an evaluation that could not begin: `continueFrom` its error goes on from what it was given.
 */
export function rememberGiven(error: EvaluationFailure, history: KnownHistory): void {
  histories.set(error, history);
}

/** What an evaluation was given to begin with; undefined: nothing, or nothing that can be read. */
export function givenHistory(options: EvaluateOptions): KnownHistory | undefined {
  try {
    const { continueFrom, messages } = options;
    if (continueFrom !== undefined) return knownHistory(continueFrom);
    return messages && storedHistory(parseMessages(messages), { isAsked: false, next: undefined });
  } catch {
    // The options may be why the evaluation could not begin.
    return undefined;
  }
}

/** Checks what is given of a history, without the prompt. @throws {OptionFault} */
export function checkGivenHistory({ messages, continueFrom }: EvaluateOptions): void {
  readOption("messages", () => messages && parseMessages(messages));
  readOption("continueFrom", () => continueFrom && knownHistory(continueFrom));
}

/** @throws {DefinitionError} for messages that are none. */
function knownHistory(from: ContinueFrom): KnownHistory {
  const stored = (): KnownHistory =>
    storedHistory(completedMessages("messages" in from ? from.messages : from), {
      isAsked: true,
      next: wordAfter(from),
    });
  return histories.get(from) ?? stored();
}

function storedHistory(messages: readonly Message[], more: Pick<KnownHistory, "isAsked" | "next">): KnownHistory {
  return { messages: frozenMessages(messages), question: undefined, template: undefined, ...more };
}

const goOn = "Go on.";

/** The history that an evaluation begins with. @throws {DefinitionError} where nothing is asked, of the prompt. */
export function historyOf(
  { messages, continueFrom, settings }: EvaluateOptions,
  prompt: Prompt,
  rendered: RenderedPrompt,
): History {
  const isMarked = setsMarks(settings);
  const begins =
    continueFrom === undefined
      ? { earlier: messages && readOption("messages", () => parseMessages(messages)) }
      : readOption("continueFrom", () => beginningOf(knownHistory(continueFrom), prompt, rendered));
  const fault = begins.continued === undefined ? emptyQuestion(prompt.template.name, rendered) : undefined;
  if (fault !== undefined) throw new DefinitionError(fault);
  return startHistory(rendered, { ...begins, isMarked });
}

function beginningOf(history: KnownHistory, prompt: Prompt, { user }: RenderedPrompt): Beginning {
  return history.isAsked ? { continued: continued(history, prompt, user) } : { earlier: history.messages };
}

/**
 * The history to go on with; undefined where nothing was asked yet.
 * @throws {DefinitionError} for a history without a question.
 */
function continued(history: KnownHistory, prompt: Prompt, user: string): Continued | undefined {
  const { messages, template, next } = history;
  if (messages.length === 0) return undefined;
  if (messages.every(({ role }) => role !== "user")) {
    throw new DefinitionError("continueFrom holds no question: there is no message of the user's in it.");
  }
  const asked = messages.findLastIndex(({ role, text }) => role === "user" && text === user.toWellFormed());
  const question = template === prompt.template ? history.question : asked === -1 ? undefined : asked;
  return { messages, question, next: messages.at(-1)?.role === "assistant" ? next : undefined };
}

/**
 * Returns the user message that follows an answer: some services refuse a history that ends with the model's own words.
 */
function wordAfter(from: object): string {
  const { code, issues } = from as { readonly code?: unknown; readonly issues?: unknown };
  // What was stored of an error does not say how many more issues there were.
  const { unlisted } = (failureBehind(from) ?? {}) as { readonly unlisted?: number };
  return code === "output" && Array.isArray(issues)
    ? repairText(describeIssues(issues as readonly SchemaIssue[], unlisted))
    : goOn;
}

/** The message to a model whose answer does not fit. */
export function repairText(issues: string): string {
  return `Your answer does not fit the output that was asked for: ${issues}. Answer again, whole and with these mended.`;
}

/** Whether the requests mark where a cache may begin a new stretch. */
function setsMarks(settings: EvaluationSettings = {}): boolean {
  const { cache } = settings;
  return cache !== undefined && (cache === "auto" || cache.breakpoints !== false);
}

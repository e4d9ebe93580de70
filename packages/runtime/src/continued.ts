import {
  DefinitionError,
  parseMessages,
  type ContinueFrom,
  type EvaluateOptions,
  type EvaluationFailure,
  type Message,
  type Prompt,
  type RenderedPrompt,
  type SchemaIssue,
} from "@proviso/core";
import { completedMessages, describeIssues } from "@proviso/core/internal";
import { startConversation, type Continued, type Conversation, frozenMessages } from "./conversation.ts";
import { readOption } from "./failures.ts";
import { setsMarks } from "./request/settings.ts";

interface History extends Continued {
  /** undefined: it was not rendered here, so the question is looked for. */
  readonly template: Prompt["template"] | undefined;
  /** false: the prompt's question comes after it. */
  readonly isAsked: boolean;
}

/** The histories as they were sent; an error shows them without secrets. */
const histories = new WeakMap<object, History>();

export function rememberHistory(error: EvaluationFailure, { template }: Prompt, conversation: Conversation): void {
  const messages = conversation.messages();
  rememberGiven(error, { messages, question: conversation.question, template, isAsked: true, next: wordAfter(error) });
}

/**
 * Remembers the history of an evaluation that could not begin: `continueFrom` its error goes on from what it was given.
 */
export function rememberGiven(error: EvaluationFailure, history: History): void {
  histories.set(error, history);
}

/** What an evaluation was given to begin with; undefined: nothing, or nothing that can be read. */
export function givenHistory(options: EvaluateOptions): History | undefined {
  try {
    const { continueFrom, messages } = options;
    if (continueFrom !== undefined) return historyOf(continueFrom);
    return messages && storedHistory(parseMessages(messages), { isAsked: false, next: undefined });
  } catch {
    // The options may be why the evaluation could not begin.
    return undefined;
  }
}

/** @throws {DefinitionError} for messages that are none. */
function historyOf(from: ContinueFrom): History {
  const stored = (): History =>
    storedHistory(completedMessages("messages" in from ? from.messages : from), {
      isAsked: true,
      next: wordAfter(from),
    });
  return histories.get(from) ?? stored();
}

function storedHistory(messages: readonly Message[], more: Pick<History, "isAsked" | "next">): History {
  return { messages: frozenMessages(messages), question: undefined, template: undefined, ...more };
}

const goOn = "Go on.";

/** The conversation that an evaluation begins with. */
export function conversationOf(
  { messages, continueFrom, settings }: EvaluateOptions,
  prompt: Prompt,
  rendered: RenderedPrompt,
): Conversation {
  const isMarked = setsMarks(settings);
  if (continueFrom === undefined) {
    const earlier = messages && readOption("messages", () => parseMessages(messages));
    return startConversation(rendered, { earlier: earlier ?? [], isMarked });
  }
  return readOption("continueFrom", () => {
    const history = historyOf(continueFrom);
    if (!history.isAsked) return startConversation(rendered, { earlier: history.messages, isMarked });
    return startConversation(rendered, { continued: continued(history, prompt, rendered.user), isMarked });
  });
}

/**
 * The history to go on with; undefined where nothing was asked yet.
 * @throws {DefinitionError} for a history without a question.
 */
function continued(history: History, prompt: Prompt, user: string): Continued | undefined {
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
  return code === "output" && Array.isArray(issues)
    ? repairText(describeIssues(issues as readonly SchemaIssue[]))
    : goOn;
}

/** The message to a model whose answer does not fit. */
export function repairText(issues: string): string {
  return `Your answer does not fit the output that was asked for: ${issues}. Answer again, whole and with these mended.`;
}

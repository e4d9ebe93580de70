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
import { startConversation, type Conversation } from "./conversation.ts";
import { readOption } from "./failures.ts";

/** A history that an evaluation goes on with. */
export interface Continued {
  readonly messages: readonly Message[];
  /** Where the prompt's question stands in it, where that is known: its text changes when sections open. */
  readonly question: number | undefined;
  /** What the user says next; undefined: the model's turn has come. */
  readonly next: string | undefined;
}

interface History extends Pick<Continued, "messages" | "question"> {
  readonly template: Prompt["template"];
}

/** As they were sent: what an error shows of them lacks the secrets. */
const histories = new WeakMap<object, History>();

export function rememberHistory(error: EvaluationFailure, { template }: Prompt, conversation: Conversation): void {
  histories.set(error, { messages: conversation.messages(), question: conversation.question, template });
}

const goOn = "Go on.";

/** The conversation that an evaluation begins with. */
export function conversationOf(
  { messages = [], continueFrom }: EvaluateOptions,
  prompt: Prompt,
  rendered: RenderedPrompt,
): Conversation {
  const continued =
    continueFrom && readOption("continueFrom", () => continuedFrom(continueFrom, prompt, rendered.user));
  const earlier = readOption("messages", () => parseMessages(messages));
  return startConversation(rendered, earlier, continued);
}

/**
 * The history to go on with; undefined where nothing was asked yet.
 * @throws {DefinitionError} for messages that are none, and for a history without a question.
 */
function continuedFrom(from: ContinueFrom, { template }: Prompt, user: string): Continued | undefined {
  const known = histories.get(from);
  const given = known?.messages ?? ("messages" in from ? from.messages : from);
  const messages = completedMessages(given).filter(({ role }) => role !== "system");
  if (messages.length === 0) return undefined;
  if (messages.every(({ role }) => role !== "user")) {
    throw new DefinitionError("continueFrom holds no question: there is no message of the user's in it.");
  }
  const asked = messages.findLastIndex(({ role, text }) => role === "user" && text === user.toWellFormed());
  const question = known?.template === template ? known.question : asked === -1 ? undefined : asked;
  return { messages, question, next: messages.at(-1)?.role === "assistant" ? nextWord(from) : undefined };
}

/** After an answer somebody has to speak: some services refuse a history that ends with the model's own words. */
function nextWord(from: object): string {
  const { code, issues } = from as { readonly code?: unknown; readonly issues?: unknown };
  return code === "output" && Array.isArray(issues)
    ? repairText(describeIssues(issues as readonly SchemaIssue[]))
    : goOn;
}

/** What the model is told when its answer does not fit. */
export function repairText(issues: string): string {
  return `Your answer does not fit the output that was asked for: ${issues}. Answer again, whole and with these mended.`;
}

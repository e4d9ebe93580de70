// A run that has ended and is asked again in its own conversation, which has its turn already: a client's second try.
import type { AssistantMessage, EvaluateOptions, FrameworkEvent, Message } from "@proviso/core";
import { isSaved, markAnsweredAgain } from "../content/saved-sessions.ts";
import { lastGiven } from "./begun.ts";
import { isSameJson } from "./compare.ts";
import type { EntryOf, JournalEntry, RecordedHistory } from "./entries.ts";
import { messageHash, textHash } from "./hashes.ts";
import { earlierOf } from "./recorded-history.ts";
import type { OpenedSource } from "./run-source.ts";

/**
 * Where the conversation that asks has the turn of the run, the options with what the run began with: the history before
 * it, and the run's own session. The conversation is marked then, and stays as it is. Else the options as they are.
 */
export function optionsToAnswerAgain(opened: OpenedSource, given: EvaluateOptions): EvaluateOptions {
  const { session, messages } = given;
  const begun = opened.isEnded ? lastGiven(opened.entries) : undefined;
  if (begun?.history === undefined) return given;
  if (session === undefined || messages === undefined || !isSaved(session) || session.id !== begun.session.id)
    return given;
  const earlier = earlierOf(begun.history);
  const isWhole = hasTurn(messages, earlier, begun.history, answersIn(opened.entries));
  if (!isWhole && !hasWhatIsLeft(messages, opened.entries)) return given;
  markAnsweredAgain(session);
  return { ...given, session: undefined, messages: (isWhole ? messages : begun.history.messages).slice(0, earlier) };
}

/** What a turn leaves of a conversation, for the end of its run. */
export function messagesLeft(messages: readonly Message[]): NonNullable<EntryOf<"ended">["leaves"]> {
  const hashes = messages.map((message) => messageHash(message, undefined, (id) => id));
  return { count: messages.length, hash: textHash(hashes.join(" ")) };
}

/** Whether the conversation has what a turn that shortened it has left. */
function hasWhatIsLeft(messages: readonly Message[], entries: readonly JournalEntry[]): boolean {
  const end = entries.findLast((entry) => entry.kind === "ended");
  if (end?.leaves === undefined) return false;
  return messagesLeft(messages.slice(0, end.leaves.count)).hash === end.leaves.hash;
}

/** Compares the messages before the turn, and in it the answers of the model; of a turn without any, the question. */
function hasTurn(
  messages: readonly Message[],
  earlier: number,
  history: RecordedHistory,
  answers: readonly Answer[],
): boolean {
  const same = answers.length === 0 ? history.messages.length : earlier;
  if (messages.length <= earlier || messages.length < same) return false;
  for (let place = 0; place < same; place++) if (!isSameJson(history.messages[place], messages[place])) return false;
  const given = messages.slice(earlier).filter((message) => message.role === "assistant");
  return answers.every((answer, place) => isAnswer(given[place], answer));
}

type Answer = Pick<Extract<FrameworkEvent, { readonly type: "provider.responded" }>, "text" | "toolCalls">;

/** The answers of a run's own evaluation, and the calls of an agent; of one that began again, those of its last attempt. */
function answersIn(entries: readonly JournalEntry[]): readonly Answer[] {
  const own = entries[0]?.evaluationId;
  let answers: Answer[] = [];
  for (const entry of entries) {
    if (entry.evaluationId !== own) continue;
    if (entry.kind === "called") answers.push({ text: "", toolCalls: [entry.call] });
    if (entry.kind !== "event") continue;
    if (entry.event.type === "evaluation.restarted") answers = [];
    if (entry.event.type === "provider.responded") answers.push(entry.event);
  }
  return answers;
}

function isAnswer(message: AssistantMessage | undefined, { text, toolCalls }: Answer): boolean {
  if (message?.text !== text || message.toolCalls.length !== toolCalls.length) return false;
  return message.toolCalls.every(({ id, name, arguments: given }, place) => {
    const call = toolCalls[place];
    return call?.id === id && call.name === name && call.arguments === given;
  });
}

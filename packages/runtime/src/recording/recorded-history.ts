import type { EvaluateOptions, Message } from "@proviso/core";

/** The history that an evaluation was given. */
export interface RecordedHistory {
  /** All messages, the prompt's question among them. */
  readonly messages: readonly Message[];
  /** The place of the prompt's question in them; left out: it is not known. */
  readonly question?: number | undefined;
  /** How many came before the evaluation. Left out by older records: all but a question that is the last. */
  readonly earlier?: number | undefined;
  /** The texts of the user after it. Left out: none. */
  readonly added?: readonly string[] | undefined;
}

/** The options of an evaluation that its loop depends on. */
export type RecordedOptions = Pick<EvaluateOptions, "maxTurns" | "maxRepairs" | "toolChoice" | "maxDepth">;

/** How many messages came before an evaluation. Older records do not say it: there all but the question did. */
export function earlierOf({ messages, question, earlier }: RecordedHistory): number {
  return earlier ?? (question === messages.length - 1 ? question : messages.length);
}

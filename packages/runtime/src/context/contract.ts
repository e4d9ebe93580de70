import type { Message, ModelFailure, ModelRequest, RenderedPrompt, ToolMessage } from "@proviso/core";
import type { Failure } from "../failures.ts";

/** Keeps the history of one evaluation inside its model's window. */
export interface Fitting {
  /** Adds the tool that reads what the history does not show, where there can be such results. */
  withTools(rendered: RenderedPrompt): RenderedPrompt;
  /** UTF-16 units of a result that are kept; of a longer one both ends are. */
  readonly longestResult: number;
  /** Stores what the model does not see at once, and shows both ends of it. */
  shownAnswers(answers: readonly ToolMessage[]): Promise<readonly ToolMessage[]>;
  /** The request, shortened where it would pass the policy's share; why it cannot be sent. */
  fit(request: ModelRequest): Promise<ModelRequest | Failure>;
  /** The request to send in place of one that was refused; undefined: the refusal stands. */
  afterRefusal(refused: ModelFailure, request: ModelRequest): Promise<ModelRequest | Failure | undefined>;
  /** Remembers this history's rate with its messages, for the evaluation that goes on from them. */
  remember(messages: readonly Message[]): void;
}

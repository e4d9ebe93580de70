/**
 * A piece of a message for a page, as `useChat` and `readUIMessageStream` of the AI SDK receive it. Plain JSON; a part of
 * the AI SDK's own `UIMessageChunk`, the same in its versions 5 to 7.
 * Source: AI SDK, "Stream Protocols", data stream protocol.
 */
export type UIMessageStreamChunk =
  | UIMessageStart
  | UIMessageMark
  | UIMessageText
  | UIMessageTextDelta
  | UIMessageToolInput
  | UIMessageToolInputError
  | UIMessageToolOutput
  | UIMessageToolOutputError
  | UIMessageOutput
  | UIMessageReset
  | UIMessageError;

/** A message begins. */
export interface UIMessageStart {
  readonly type: "start";
  /** The message's id, where one was given. */
  readonly messageId?: string;
}
/** A turn begins or ends, or the message ends: well, or by an abort. */
export interface UIMessageMark {
  readonly type: "start-step" | "finish-step" | "finish" | "abort";
}
/** A part of the text, or of the model's thoughts, begins or ends. */
export interface UIMessageText {
  readonly type: "text-start" | "text-end" | "reasoning-start" | "reasoning-end";
  /** The id of the part. */
  readonly id: string;
}
/** More of a part of the text, or of the model's thoughts. */
export interface UIMessageTextDelta {
  readonly type: "text-delta" | "reasoning-delta";
  /** The id of the part. */
  readonly id: string;
  /** What was added to the text. */
  readonly delta: string;
}
/** A tool call begins. */
export interface UIMessageToolInput {
  readonly type: "tool-input-available";
  /** The id of the call. */
  readonly toolCallId: string;
  /** The name of the tool. */
  readonly toolName: string;
  /** The arguments as the model gave them. */
  readonly input: unknown;
  /** The page does not know the types of the tool. */
  readonly dynamic: true;
}
/** A tool call never began: its arguments did not fit, or there is no such tool. */
export interface UIMessageToolInputError {
  readonly type: "tool-input-error";
  /** The id of the call. */
  readonly toolCallId: string;
  /** The name of the tool, as the model wrote it. */
  readonly toolName: string;
  /** What the event has of the arguments. */
  readonly input: unknown;
  /** What the model reads of it. */
  readonly errorText: string;
  /** The page does not know the types of the tool. */
  readonly dynamic: true;
}
/** A tool call succeeded, or reports its progress. */
export interface UIMessageToolOutput {
  readonly type: "tool-output-available";
  /** The id of the call. */
  readonly toolCallId: string;
  /** The tool's value, or its message where it has none; of progress `done`, `total` and `message`. */
  readonly output: unknown;
  /** If set, the output is the call's progress. */
  readonly preliminary?: true;
  /** The page does not know the types of the tool. */
  readonly dynamic: true;
}
/** A tool call failed; its changes were undone. */
export interface UIMessageToolOutputError {
  readonly type: "tool-output-error";
  /** The id of the call. */
  readonly toolCallId: string;
  /** What the model reads of it. */
  readonly errorText: string;
  /** The page does not know the types of the tool. */
  readonly dynamic: true;
}
/** A structured output as far as it is there, in place of the one before. */
export interface UIMessageOutput {
  readonly type: "data-output";
  /** The id of the part, always "output". */
  readonly id: string;
  /** The output so far, which is not validated. */
  readonly data: unknown;
}
/** The text of a part is not valid any more: its request is made again. */
export interface UIMessageReset {
  readonly type: "data-reset";
  /** The part that is not valid. */
  readonly data: {
    /** The id of the text part. */
    readonly id: string;
  };
  /** The page does not keep it. */
  readonly transient: true;
}
/** The evaluation failed. */
export interface UIMessageError {
  readonly type: "error";
  /** The text of `onError`, by default the error's code. */
  readonly errorText: string;
}

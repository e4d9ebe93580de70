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
  | UIMessageSourceUrl
  | UIMessageSourceDocument
  | UIMessageFile
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
  /** Set where the provider runs the call. */
  readonly providerExecuted?: true;
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
  /** Set where the provider ran the call. */
  readonly providerExecuted?: true;
  /** If set, the output is the call's progress. */
  readonly preliminary?: true;
  /** The page does not know the types of the tool. */
  readonly dynamic: true;
}
/** A tool call failed; its changes were undone, but for those of a call that the provider ran. */
export interface UIMessageToolOutputError {
  readonly type: "tool-output-error";
  /** The id of the call. */
  readonly toolCallId: string;
  /** What the model reads of it. */
  readonly errorText: string;
  /** Set where the provider ran the call. */
  readonly providerExecuted?: true;
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
/** A page that the answer rests on. */
export interface UIMessageSourceUrl {
  readonly type: "source-url";
  /** The number of the source in its message. */
  readonly sourceId: string;
  /** The address. */
  readonly url: string;
  /** What it is called; left out: the provider does not say. */
  readonly title?: string;
}
/** A document that the answer rests on. */
export interface UIMessageSourceDocument {
  readonly type: "source-document";
  /** The number of the source in its message. */
  readonly sourceId: string;
  /** Always "application/octet-stream": providers do not say it. */
  readonly mediaType: string;
  /** What it is called; "" where the provider does not say. */
  readonly title: string;
  /** The name of its file; left out: the provider does not say. */
  readonly filename?: string;
}
/** A file that the model made. */
export interface UIMessageFile {
  readonly type: "file";
  /** Where the page gets it: what `fileUrl` returned, or the file's own address. */
  readonly url: string;
  /** The media type of the file. */
  readonly mediaType: string;
}
/** The text of a part is not valid any more: its request, or the whole evaluation, is made again. */
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

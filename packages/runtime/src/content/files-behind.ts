import type { FileRef, PlacedFile, ToolMessage } from "@proviso/core";
import { labelOf } from "@proviso/core/internal";

/** The message with the files behind its text, each behind its label. */
export function withFilesBehind(message: ToolMessage, files: readonly FileRef[]): ToolMessage {
  if (files.length === 0) return message;
  let text = `${message.text}\n\n`;
  const placed: PlacedFile[] = [];
  for (const [index, file] of files.entries()) {
    text += index === 0 ? labelOf(file) : ` ${labelOf(file)}`;
    placed.push(Object.freeze({ at: text.length, file }));
  }
  return { ...message, text, files: Object.freeze(placed) };
}

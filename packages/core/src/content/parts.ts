import type { Message } from "../provider/message.ts";
import type { FileRef, PlacedFile } from "./file.ts";

/** One stretch of a message, as wires want it. */
export type MessagePart =
  | {
      readonly kind: "text";
      /** The text of the stretch; never empty beside other parts. */
      readonly text: string;
      /** Set where a breakpoint of the prompt cache stands behind it. */
      readonly cache?: true;
    }
  | {
      readonly kind: "file";
      /** The file that stands there. */
      readonly file: FileRef;
      /** Set where a breakpoint of the prompt cache stands behind it. */
      readonly cache?: true;
    };

const none: readonly never[] = Object.freeze([]);

/**
 * A message's text, files and breakpoints in order; for adapters. A message without files and breakpoints is one text. A
 * file stands behind the text up to its offset, and before a breakpoint at the same offset.
 */
export function partsOf(message: Message): readonly MessagePart[] {
  const { text } = message;
  const files: readonly PlacedFile[] = message.files ?? none;
  const marks: readonly number[] =
    message.role === "system" || message.role === "user" ? (message.cacheAt ?? none) : none;
  if (files.length === 0 && marks.length === 0) return [{ kind: "text", text }];
  const parts: MessagePart[] = [];
  let from = 0;
  const addText = (to: number): void => {
    if (to > from) parts.push({ kind: "text", text: text.slice(from, to) });
    from = Math.max(from, to);
  };
  const mark = (): void => {
    const last = parts.pop();
    if (last !== undefined) parts.push({ ...last, cache: true });
  };
  let nextMark = 0;
  const markUpTo = (end: number): void => {
    for (let at = marks[nextMark]; at !== undefined && at < end; at = marks[++nextMark]) {
      addText(at);
      mark();
    }
  };
  for (const { at, file } of files) {
    markUpTo(at);
    addText(at);
    parts.push({ kind: "file", file });
  }
  markUpTo(text.length + 1);
  addText(text.length);
  return parts;
}

import type { RenderedPrompt } from "./template.ts";

/**
 * Why there is no user message to send of the prompt of that name; undefined: there is one. Some providers refuse a
 * message without a text, or with blanks alone.
 */
export function emptyQuestion(name: string, { text, user }: Pick<RenderedPrompt, "text" | "user">): string | undefined {
  if (user.trim() !== "") return undefined;
  return text.trim() === ""
    ? `The prompt "${name}" renders to nothing.`
    : `The prompt "${name}" has no user message: its user sections are disabled, or render to nothing. Give the params that they show a text.`;
}

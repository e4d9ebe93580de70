import { messageOf } from "../failures.ts";

/** The message of whatever a handler or policy threw, even where it cannot be shown. */
export function thrownMessage(error: unknown): string {
  try {
    // A subclass may have made its message anything.
    return String(messageOf(error));
  } catch {
    return "Something was thrown that has no message.";
  }
}

/** UTF-16 units of a message that are kept. */
const longestMessage = 1024 * 1024;

/** The message of whatever was thrown, even where it cannot be shown; of a long one the beginning. */
export function messageOf(error: unknown): string {
  try {
    // A subclass may have made its message anything.
    const message = String(error instanceof Error ? error.message : error);
    return message.length <= longestMessage
      ? message
      : `${message.slice(0, longestMessage)}… (${message.length} characters)`;
  } catch {
    return "Something was thrown that has no message.";
  }
}

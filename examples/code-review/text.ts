/** Names and messages come from the folder and the model: what would steer the terminal shows as U+FFFD. */
export function printable(text: string): string {
  return text.replaceAll(/\p{Cc}|\p{Bidi_Control}/gu, "\u{fffd}");
}

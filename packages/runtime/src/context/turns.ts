import type { Message } from "@proviso/core";

/** Neighbouring messages, from `start` up to `end`: the user's, the model's answer, the results of its calls. */
export interface Turn {
  readonly start: number;
  readonly end: number;
}

/** The turns that the model has answered, in their order. What came from the user since belongs to none of them. */
export function answeredTurns(messages: readonly Message[]): readonly Turn[] {
  const turns: Turn[] = [];
  let start = 0;
  let isAnswered = false;
  for (const [place, { role }] of messages.entries()) {
    if (role === "tool") continue;
    if (isAnswered) {
      turns.push({ start, end: place });
      start = place;
    }
    isAnswered = role === "assistant";
  }
  if (isAnswered) turns.push({ start, end: messages.length });
  return turns;
}

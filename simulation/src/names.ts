import type { FrameworkEvent } from "@proviso/core";

export interface CallName {
  readonly evaluationId: string;
  readonly turn: number;
  readonly callId: string;
}
/** A call, among all of a run: an id may come again in a later turn. */
export const keyOf = ({ evaluationId, turn, callId }: CallName): string => `${evaluationId} ${turn} ${callId}`;

export const counted = [
  "prompt.rendered",
  "provider.requested",
  "provider.throttled",
  "provider.responded",
  "tool.requested",
  "tool.invoked",
  "feedback.given",
  "prompt.executed",
  "prompt.failed",
] as const;

/** What the census says of an event; nothing of those that it does not count. */
export function labelOf(event: FrameworkEvent): string {
  if (!(counted as readonly string[]).includes(event.type)) return "";
  const call = event.type === "tool.invoked" || event.type === "tool.requested" ? ` ${event.callId}` : "";
  const success = event.type === "tool.invoked" ? ` ${event.result.success}` : "";
  return `${event.evaluationId} ${event.type}${call}${success}`;
}

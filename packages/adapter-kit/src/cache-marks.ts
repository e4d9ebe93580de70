import type { Message, ModelRequest } from "@proviso/core";

/** Offsets in the texts of messages, behind which a cache may begin a new stretch. */
export type CacheMarks = ReadonlyMap<Message, readonly number[]>;

/** Services take no more in one request. */
const mostMarks = 4;

interface Mark {
  readonly message: Message;
  readonly at: number;
}

/**
 * The marks of a request: at the end of the system text, behind cached sections, and at the end of the last message that
 * is not the model's. Of more than four, the one of the system text counts, then the latest. undefined: none is asked for.
 */
export function cacheMarks({
  messages,
  settings,
}: Pick<ModelRequest, "messages" | "settings">): CacheMarks | undefined {
  const cache = settings?.cache;
  if (cache === undefined || (cache !== "auto" && cache.breakpoints === false)) return undefined;
  const system = messages.find(({ role, text }) => role === "system" && text !== "");
  const last = messages.findLast(({ role, text }) => role !== "assistant" && role !== "system" && text !== "");
  const marks: Mark[] = [];
  for (const message of messages) {
    const ends = message === system || message === last ? [message.text.length] : [];
    const places = message.role === "system" || message.role === "user" ? (message.cacheAt ?? []) : [];
    for (const at of new Set([...places, ...ends])) marks.push({ message, at });
  }
  return byMessage(chosen(marks, system));
}

function chosen(marks: readonly Mark[], system: Message | undefined): readonly Mark[] {
  if (marks.length <= mostMarks) return marks;
  const first = marks.filter(({ message, at }) => message === system && at === message.text.length);
  const latest = marks.filter((mark) => !first.includes(mark)).slice(first.length - mostMarks);
  return marks.filter((mark) => first.includes(mark) || latest.includes(mark));
}

function byMessage(marks: readonly Mark[]): CacheMarks {
  const found = new Map<Message, number[]>();
  for (const { message, at } of marks) found.set(message, [...(found.get(message) ?? []), at]);
  return found;
}

/** How many marks there are in all. */
export function countMarks(marks: CacheMarks | undefined): number {
  return [...(marks?.values() ?? [])].reduce((sum, { length }) => sum + length, 0);
}

// Events in frames, without what the frame and the answer before them say.
import type { ReportedUsage, Usage } from "@proviso/core";
import type { EntryOf, RecordedEvent } from "@proviso/runtime/recording";

type Fields = { readonly [name: string]: unknown };
type AnsweredEntry = Pick<EntryOf<"answered">, "evaluationId" | "answer">;
type AskedCall = { readonly id: string; readonly name: string; readonly arguments: string };

/** An event without the fields that stand at its end, unless they are others than its frame says. */
export type ShortEvent = Fields;

/** What the entries of a frame before an event say of it. */
export class FrameMemory {
  sessionId: string | undefined;
  /** The number that the next event has. */
  seq = -1;
  #answered: AnsweredEntry | undefined;

  /** undefined: the frame that is read says neither, or a frame is written. */
  constructor(sessionId?: string, firstSeq = -1) {
    this.sessionId = sessionId;
    this.seq = firstSeq;
  }

  answered(entry: AnsweredEntry): void {
    this.#answered = entry;
  }

  /** The last answer, where it is one of this evaluation. */
  answerOf(evaluationId: string): { readonly text: string; readonly toolCalls: readonly AskedCall[] } | undefined {
    const { evaluationId: of, answer } = this.#answered ?? {};
    return of === evaluationId && answer?.failure === undefined ? answer?.message : undefined;
  }
}

/** The fields that stand at the end of an event, in this order. */
export const lastFields = ["evaluationId", "at", "sessionId", "seq"] as const;

/** Returns the event as a frame has it; one that is not made as events are is written whole. */
export function shortEvent(
  { event, evaluationId, at }: Pick<EntryOf<"event">, "event" | "evaluationId" | "at">,
  memory: FrameMemory,
): ShortEvent {
  memory.sessionId ??= event.sessionId;
  const names = Object.keys(event);
  const isUsual =
    lastFields.every((name, place) => names[names.length - lastFields.length + place] === name) &&
    event.sessionId === memory.sessionId;
  if (!isUsual || event.evaluationId !== evaluationId || event.at !== at) return { whole: event };
  const expected = memory.seq;
  memory.seq = event.seq + 1;
  return {
    ...withoutAnswer(event, memory.answerOf(evaluationId)),
    ...("usage" in event ? { usage: shortUsage(event.usage) } : undefined),
    evaluationId: undefined,
    at: undefined,
    sessionId: undefined,
    seq: event.seq === expected ? undefined : event.seq,
  };
}

/** The opposite of `shortEvent`. */
export function longEvent(
  short: ShortEvent,
  { evaluationId, at }: Pick<EntryOf<"event">, "evaluationId" | "at">,
  memory: FrameMemory,
): Fields {
  if ("whole" in short) {
    const whole = short["whole"] as RecordedEvent | null;
    memory.sessionId ??= whole?.sessionId;
    return whole as unknown as Fields;
  }
  // No one else has what was just read: it is completed where it is.
  const { seq = memory.seq } = short;
  const fields = (short["seq"] === undefined ? short : withoutSeq(short)) as Record<string, unknown>;
  memory.seq = Number(seq) + 1;
  const answer = memory.answerOf(evaluationId);
  if (answer !== undefined) fillIn(fields, answer);
  if (fields["usage"] !== undefined) fields["usage"] = longUsage(fields["usage"]);
  fields["evaluationId"] = evaluationId;
  fields["at"] = at;
  fields["sessionId"] = memory.sessionId;
  fields["seq"] = seq;
  return fields;
}

/** A number that an event names itself stands elsewhere in it. */
function withoutSeq({ seq: _seq, ...others }: ShortEvent): Fields {
  return others;
}

/** What an event repeats of the answer is 0, or the place of the call. */
function withoutAnswer(event: RecordedEvent, answer: ReturnType<FrameMemory["answerOf"]>): object {
  if (answer === undefined) return event;
  if (event.type === "provider.responded") {
    const text = event.text === answer.text ? 0 : event.text;
    const toolCalls = isSame(event.toolCalls, answer.toolCalls) ? 0 : event.toolCalls;
    return { ...event, text, toolCalls };
  }
  if (event.type !== "tool.requested") return event;
  const place = answer.toolCalls.findIndex(({ id }) => id === event.callId);
  return answer.toolCalls[place]?.arguments === event.arguments ? { ...event, arguments: place } : event;
}

type Answer = NonNullable<ReturnType<FrameMemory["answerOf"]>>;

/** Puts in what an event says only by its answer: the fields stay where they are. */
function fillIn(fields: Record<string, unknown>, answer: Answer): void {
  if (fields["type"] === "provider.responded") {
    if (fields["text"] === 0) fields["text"] = answer.text;
    if (fields["toolCalls"] !== 0) return;
    fields["toolCalls"] = answer.toolCalls.map(({ id, name, arguments: given }) => ({ id, name, arguments: given }));
  } else if (fields["type"] === "tool.requested" && typeof fields["arguments"] === "number") {
    fields["arguments"] = answer.toolCalls[fields["arguments"]]?.arguments;
  }
}

/** Whether the event names exactly the calls of the answer, with id, name and arguments in this order and nothing else. */
export function isSame(calls: readonly AskedCall[], asked: readonly AskedCall[]): boolean {
  return (
    calls.length === asked.length &&
    calls.every((call, place) => {
      const other = asked[place];
      const isCall = Object.keys(call).join() === "id,name,arguments";
      return isCall && call.id === other?.id && call.name === other.name && call.arguments === other.arguments;
    })
  );
}

const usageNames = [
  "inputTokens",
  "outputTokens",
  "totalTokens",
  "cachedInputTokens",
  "cacheWriteTokens",
  "reasoningTokens",
  "estimated",
] as const satisfies readonly (keyof Usage)[];

/** The values of a usage that has the first of the usual fields in their order; any other one as it is. */
export function shortUsage<U extends ReportedUsage>(usage: U): readonly unknown[] | U {
  const values: unknown[] = [];
  for (const name in usage) {
    const value = (usage as Fields)[name];
    if (name !== usageNames[values.length] || value === undefined) return usage;
    values.push(value);
  }
  return values;
}

export function longUsage(written: unknown): unknown {
  if (!Array.isArray(written)) return written;
  const usage: Record<string, unknown> = {};
  for (const [place, value] of written.entries()) usage[usageNames[place] ?? ""] = value;
  return usage;
}

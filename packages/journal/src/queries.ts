// What can be asked of a journal: lists, descriptions, entries.
import { JournalError, systemClock } from "@proviso/core";
import { noUsage } from "@proviso/core/internal";
import {
  AttemptStops,
  endsNotKnown,
  recordedParams,
  standingEntries,
  StepCounter,
  type EntryOf,
  type JournalEntry,
} from "@proviso/runtime/recording";
import type { Effect, RunDescription, RunFilter, RunStep, RunSummary } from "./journal.ts";
import { isOtherRun, type ReadRun } from "./reading.ts";
import type { JournalStore } from "./store.ts";
import { readSummary, summaryOf } from "./summary.ts";

/** Lists runs, those changed last first. */
export async function* listRuns(store: JournalStore, filter: RunFilter): AsyncGenerator<RunSummary, void, undefined> {
  const states = filter.state === undefined ? undefined : new Set([filter.state].flat());
  for await (const { run, summary } of store.list()) {
    if (filter.prefix !== undefined && !run.startsWith(filter.prefix)) continue;
    const saved = readSummary(summary);
    if (saved === undefined) continue;
    if (states !== undefined && !states.has(saved.state)) continue;
    if (filter.prompt !== undefined && saved.prompt !== filter.prompt) continue;
    if (filter.since !== undefined && saved.updatedAt < filter.since.getTime()) continue;
    yield summaryOf(run, saved);
  }
}

/** Returns all entries; those that no attempt went on from are marked. */
export function markedEntries({ entries }: ReadRun): readonly JournalEntry[] {
  const standing = new Set(standingEntries(entries).map(({ index }) => index));
  return entries.map((entry) => (standing.has(entry.index) ? entry : { ...entry, isVoid: true }));
}

/** Milliseconds between two looks at what was kept. */
const followMs = 200;

/** Returns entries as they are kept, until the run ends. @throws {JournalError} "not_found" where it was removed. */
export async function* followEntries(
  id: string,
  { read, isAsRead }: { read(): Promise<ReadRun>; isAsRead(run: ReadRun): Promise<boolean> },
  after: number,
  signal: AbortSignal | undefined,
): AsyncGenerator<JournalEntry, void, undefined> {
  let last = after;
  let begunBy: string | undefined;
  const isOver = (): boolean => signal?.aborted === true;
  while (!isOver()) {
    const run = await read();
    if (isOtherRun(begunBy, run.begunBy)) {
      throw new JournalError(`The run "${id}" was removed while it was followed.`, { reason: "not_found", run: id });
    }
    ({ begunBy } = run);
    const marked = markedEntries(run);
    for (const entry of marked) {
      if (entry.index <= last) continue;
      last = entry.index;
      yield entry;
      if (isOver()) return;
    }
    const kind = marked.findLast(({ isVoid }) => !isVoid)?.kind;
    if (kind === "ended" || kind === "cancelled") return;
    do {
      // The wait ends early where the signal fires.
      await systemClock.sleep(followMs, signal).catch(() => {});
    } while (!isOver() && (await isAsRead(run)));
  }
}

/** Describes a run with its steps. */
export function describeRun(id: string, run: ReadRun, tornBytes: number): RunDescription {
  const standing = standingEntries(run.entries);
  const { saved } = run.summary();
  // An attempt of which nothing stands has changed the run all the same.
  const updatedAt = run.entries.at(-1)?.at ?? saved.updatedAt;
  return Object.freeze({
    ...summaryOf(id, { ...saved, updatedAt }),
    params: recordedParams(standing),
    timeline: Object.freeze(timelineOf(standing, endsNotKnown(run.entries))),
    tornBytes,
  });
}

function timelineOf(standing: readonly JournalEntry[], notKnown: ReadonlySet<number>): RunStep[] {
  const [own, counter, stops] = [standing[0]?.evaluationId, new StepCounter(), new AttemptStops()];
  const timeline: RunStep[] = [];
  let steps = 0;
  const inside = new Map<string, Set<string>>();
  const calls = new Map<string, { turn: number; name: string; input: unknown; at: number; isStarted: boolean }>();
  const effects = new Map<string, EntryOf<"event">>();
  const add = (callId: string, effect: Effect, entry: JournalEntry): void => {
    const call = calls.get(callId);
    const end = effects.get(callId)?.event;
    const result = end?.type === "tool.invoked" ? end.result : undefined;
    calls.delete(callId);
    effects.delete(callId);
    timeline.push({
      // The calls of an agent belong to the step that its answer ends.
      step: counter.isInTurn ? steps + 1 : ++steps,
      turn: call?.turn ?? (end !== undefined && "turn" in end ? end.turn : 0),
      at: new Date(entry.at),
      kind: "call",
      callId,
      name: call?.name ?? (end?.type === "tool.invoked" ? end.name : ""),
      input: end?.type === "tool.invoked" ? end.params : call?.input,
      result,
      effect,
      nested: inside.get(callId)?.size ?? 0,
    });
  };
  for (const [place, entry] of standing.entries()) {
    const isStep = counter.add(entry) > 0;
    stops.add(entry);
    if (entry.evaluationId !== own) {
      const parent = entry.kind === "event" ? entry.event.parent : undefined;
      if (parent !== undefined && parent.evaluationId === own) {
        const evaluations = inside.get(parent.callId) ?? new Set();
        inside.set(parent.callId, evaluations.add(entry.evaluationId));
      }
      continue;
    }
    if (entry.kind === "answered" && isStep) timeline.push(answerStep(entry, standing.slice(place), ++steps));
    const begun = entry.kind === "started" ? calls.get(entry.callId) : undefined;
    if (begun !== undefined) begun.isStarted = true;
    if (entry.kind === "committed") for (const callId of entry.callIds) add(callId, "committed", entry);
    if (entry.kind !== "event") continue;
    const { event } = entry;
    if (event.type === "tool.requested") {
      const { turn, name, callId, arguments: input } = event;
      inside.delete(callId);
      calls.set(callId, { turn, name, input, at: entry.at, isStarted: false });
    }
    if (event.type === "tool.invoked") {
      effects.set(event.callId, entry);
      const isStarted = calls.get(event.callId)?.isStarted === true;
      const effect = notKnown.has(entry.index) ? "unknown" : isStarted ? stops.effectOf(event) : "not-started";
      if (!event.result.success) add(event.callId, effect, entry);
    }
  }
  for (const [callId, { isStarted, at }] of Array.from(calls)) {
    if (isStarted) add(callId, "unknown", { ...(standing[0] as JournalEntry), at });
  }
  return timeline;
}

function answerStep(entry: EntryOf<"answered">, after: readonly JournalEntry[], step: number): RunStep {
  const { answer, turn, at, evaluationId } = entry;
  const event = after.find(
    (each) => each.kind === "event" && each.evaluationId === evaluationId && each.event.type === "provider.responded",
  );
  const responded = event?.kind === "event" && event.event.type === "provider.responded" ? event.event : undefined;
  const message = answer.failure === undefined ? answer.message : undefined;
  return {
    step,
    turn,
    at: new Date(at),
    kind: "answer",
    model: responded?.model ?? "",
    text: message?.text ?? "",
    calls: message?.toolCalls.map(({ id }) => id) ?? [],
    usage: responded?.usage ?? noUsage,
  };
}

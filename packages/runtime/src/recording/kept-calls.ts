// Calls that the record answers: no handler, policy or lock takes part. What they did to the session is reduced again, and
// what they did to resources in memory is done again.
import type { FrameworkEvent, ToolCall, ToolInvoked, ToolMessage, TransactionFailed } from "@proviso/core";
import { frozenInDepth, frozenJson, messageOf, type RestoreFault } from "@proviso/core/internal";
import { openResultFiles } from "../content/files-of.ts";
import type { Failure } from "../failures.ts";
import type { Run } from "../run.ts";
import { orderResults } from "../tools/order.ts";
import { toolMessage } from "../tools/result.ts";
import type { KeptCalls } from "./contract.ts";
import { Dispatches, reduceInLogs } from "./dispatches.ts";
import type { EntryOf, JournalEntry } from "./entries.ts";
import { keptFeedback } from "./kept-feedback.ts";
import type { Prefix } from "./prefix.ts";
import { restoredFailure, type Asked } from "./tape-limits.ts";
import { dispatchesUndone, undoneAmong, type Fate } from "./undone.ts";

/** How entries of the record reach session and listeners. */
export interface Delivery {
  readonly run: Pick<Run, "core" | "watch"> & Partial<Pick<Run, "attempt" | "observing">>;
  /** Whether listeners receive them. */
  readonly isEmitted: boolean;
  /** Events of the application that the record has, and that are delivered later. */
  readonly delivering: WeakSet<object>;
  timed(at: number): void;
  /** What calls among the entries had dispatched; left out: nothing. */
  readonly dispatches?: Dispatches;
  /** An agent streamed while its call ran, or a limit ended its turn. */
  passed?(entry: EntryOf<"delta"> | EntryOf<"stopped">): void;
}

/** Why calls cannot be brought back. */
export interface LostChanges {
  readonly fault: string;
}

/** Events of the run's own evaluation that belong to its calls. */
const ofCalls = new Set<FrameworkEvent["type"]>([
  "tool.requested",
  "tool.progress",
  "tool.invoked",
  "sections.opened",
  "feedback.given",
  "transaction.failed",
]);

/** What asks for limits before a request is sent, or keeps it from being sent. */
const ofRequests = new Set<string>(["checkRequest", "reserve", "unsent"] satisfies readonly (Asked | "unsent")[]);

/** Answers the calls whose end stands in the record; undefined: it has none of them. */
export async function keptCalls(
  run: Run,
  calls: readonly ToolCall[],
  prefix: Prefix,
  given: Delivery,
): Promise<KeptCalls | LostChanges | undefined> {
  const entries = entriesOf(run, calls, prefix);
  const ends = endsIn(entries, run, calls);
  if (ends.size === 0) return undefined;
  prefix.at += entries.length;
  const undone = undoneAmong(entries);
  const delivery = { ...given, dispatches: new Dispatches(entries, run.core, () => false) };
  const blocks = new Map<string, string[]>();
  let stop: Failure | undefined;
  for (const entry of entries) {
    if (entry.kind === "resumed") continue;
    delivery.timed(entry.at);
    const isOwn = entry.evaluationId === run.evaluationId;
    if (isOwn && (entry.kind === "delta" || entry.kind === "stopped")) delivery.passed?.(entry);
    if (entry.kind === "stopped") stop ??= restoredFailure(entry.failure);
    if (entry.kind === "lasting") await run.endAttempt?.();
    if (entry.kind === "changed" && isOwn) {
      const fault = await broughtBack(run, entry, delivery);
      if (fault !== undefined) return { fault };
    }
    if (entry.kind === "event") {
      const { event } = entry;
      if (event.type === "feedback.given" && isOwn) {
        const given = blocks.get(event.callId) ?? [];
        given.push(event.provider, event.text);
        blocks.set(event.callId, given);
      }
      // The answers of these calls say so, and no evaluation goes on from changes that were lost.
      if (event.type === "transaction.failed") run.faults.push(faultOf(event));
      const isEnd = event.type === "tool.invoked" && ends.get(event.callId) === event;
      emitAgain(event, delivery, undone.get(entry));
      if (isEnd) {
        run.toolResults.push(event);
        await openResultFiles(run, event.result);
      }
    }
    if (entry.kind === "dispatched" && entry.callId !== undefined) deliver(entry, delivery);
    else if (entry.kind === "dispatched") emitEntry(entry, delivery);
  }
  orderResults(run.toolResults, run.toolResults.length - ends.size, calls);
  const answers = calls.map((call): ToolMessage | undefined => {
    const end = ends.get(call.id);
    if (end === undefined) return undefined;
    const message = toolMessage(call, end.result, run.context?.longestResult, run.world.secrets);
    return run.rendered.feedback.length === 0 ? message : keptFeedback(run, message, blocks.get(call.id) ?? []);
  });
  return { answers, stop };
}

function faultOf({ operation, callIds, message }: TransactionFailed): RestoreFault {
  return { operation, callIds, message, cause: undefined };
}

/** Kinds of the run's own evaluation that come when its calls have ended. */
const afterCalls = new Set<JournalEntry["kind"]>(["asked", "called", "answered", "checked", "waited", "drew", "ended"]);

/** Whether the record ends within these calls: nothing of the run's own evaluation comes behind what they left. */
export function endsWithin(run: Run, calls: readonly ToolCall[], prefix: Prefix): boolean {
  return placesOf(run, calls, prefix).isLast;
}

/** The entries from here to the end of the calls: what their events, and evaluations inside them, left. */
function entriesOf(run: Run, calls: readonly ToolCall[], prefix: Prefix): readonly JournalEntry[] {
  return prefix.entries.slice(prefix.at, placesOf(run, calls, prefix).end);
}

/** Where what the calls left ends, and whether it is the last of the run's own evaluation. */
function placesOf(
  run: Run,
  calls: readonly ToolCall[],
  { entries, at }: Prefix,
): { readonly end: number; readonly isLast: boolean } {
  const ids = new Set(calls.map(({ id }) => id));
  let end = at;
  for (let place = at; place < entries.length; place++) {
    const entry = entries[place] as JournalEntry;
    if (entry.evaluationId !== run.evaluationId || entry.kind === "resumed") continue;
    if (afterCalls.has(entry.kind)) return { end, isLast: false };
    // A limit that the next request met is left for its turn.
    if (entry.kind === "stopped" && isOfRequest(entry, entries.slice(place), run, ids)) return { end, isLast: false };
    // So is one that later calls of the turn met, for these.
    if (entry.kind === "stopped" && isOfOthers(entries.slice(place), run, ids)) return { end, isLast: false };
    // A question that ended the attempt is left, for what comes to it.
    if (entry.kind === "suspended" && !entries.slice(place).some((later) => isEndOf(later, run, ids))) {
      return { end, isLast: false };
    }
    if (entry.kind === "started" && !ids.has(entry.callId)) return { end, isLast: false };
    if (entry.kind === "event" && entry.event.type === "run.resumed") continue;
    if (entry.kind !== "event") {
      end = place + 1;
      continue;
    }
    if (!ofCalls.has(entry.event.type)) return { end, isLast: false };
    if ("callId" in entry.event && !ids.has(entry.event.callId)) return { end, isLast: false };
    end = place + 1;
  }
  return { end, isLast: true };
}

/** Whether a limit ended what the next request waited for; the turn of an agent is a request whose calls may end behind it. */
function isOfRequest(
  { by, failure }: EntryOf<"stopped">,
  behind: readonly JournalEntry[],
  run: Run,
  ids: ReadonlySet<string>,
): boolean {
  if (ofRequests.has(by)) return true;
  return restoredFailure(failure).phase === "request" && !behind.some((later) => isEndOf(later, run, ids));
}

/** Whether the first call that ends behind a limit is none of these. */
function isOfOthers(behind: readonly JournalEntry[], { evaluationId }: Run, ids: ReadonlySet<string>): boolean {
  for (const entry of behind) {
    if (entry.kind !== "event" || entry.evaluationId !== evaluationId) continue;
    if (entry.event.type === "tool.invoked") return !ids.has(entry.event.callId);
  }
  return false;
}

function isEndOf(entry: JournalEntry, { evaluationId }: Run, ids: ReadonlySet<string>): boolean {
  if (entry.kind !== "event" || entry.evaluationId !== evaluationId) return false;
  return entry.event.type === "tool.invoked" && ids.has(entry.event.callId);
}

/** The last `tool.invoked` of each call. */
function endsIn(
  entries: readonly JournalEntry[],
  { evaluationId, turn }: Run,
  calls: readonly ToolCall[],
): Map<string, ToolInvoked> {
  const ids = new Set(calls.map(({ id }) => id));
  const ends = new Map<string, ToolInvoked>();
  for (const entry of entries) {
    if (entry.kind !== "event" || entry.evaluationId !== evaluationId) continue;
    const { event } = entry;
    if (event.type === "tool.invoked" && event.turn === turn && ids.has(event.callId)) {
      ends.set(event.callId, frozenJson(event));
    }
  }
  return ends;
}

/** What a successful call had dispatched was reduced before its end, and is delivered after it. */
function deliver(entry: EntryOf<"dispatched">, { run, dispatches, delivering, isEmitted }: Delivery): void {
  const { core, attempt, watch, observing } = run;
  const event = dispatches?.eventOf(entry);
  if (event === undefined) return;
  const { callId = "", isInside = false, before = 0, order = 0 } = entry;
  const by = isInside ? noReceivers : { watch, observing };
  // Listeners receive it when the attempt counts.
  if (attempt !== undefined) {
    delivering.add(event);
    attempt.pendingEvents.push({ event, by, callId, before, order });
  } else if (isEmitted) {
    core.notify(event);
    by.watch?.({ type: "app", event });
    by.observing?.app(event);
  }
}

/** A stream has the events of its own evaluation alone. */
const noReceivers = { watch: undefined, observing: undefined };

function emitAgain(event: FrameworkEvent, { run, isEmitted, dispatches }: Delivery, fate?: Fate): void {
  const { core, watch, observing } = run;
  dispatches?.reduceBefore(event.seq, Infinity);
  core.renumber(event.seq);
  core.passOver();
  const whole = frozenJson(event);
  if (fate === undefined) core.reduce(whole);
  else if (fate === "undone") reduceInLogs(core, whole, whole.evaluationId);
  if (!isEmitted) return;
  core.notify(whole);
  if (whole.parent === undefined) watch?.(whole as never);
  if (observing?.takesEvents === true) observing.event(whole);
}

/** An entry that stands apart from the calls: an event of the application, or of an evaluation that outlived its call. */
export function emitEntry(entry: JournalEntry, delivery: Delivery): void {
  if (entry.kind === "event") emitAgain(entry.event, delivery);
  if (entry.kind !== "dispatched" || entry.callId !== undefined) return;
  const event = frozenInDepth(entry.event);
  const { core } = delivery.run;
  if (entry.before !== undefined) delivery.dispatches?.reduceBefore(entry.before, entry.order ?? 0);
  core.reduceConcurrent(event);
  if (delivery.isEmitted) core.notify(event);
}

/** An event of a call that was undone, or of an evaluation inside it: logs alone have it. */
export function emitUndone({ event }: EntryOf<"event">, delivery: Delivery): void {
  emitAgain(event, delivery, "undone");
}

/** Reduces a whole record, or the beginning of one. */
export function reduceAll(entries: readonly JournalEntry[], core: Run["core"]): void {
  const undone = undoneAmong(entries);
  const delivery: Delivery = {
    run: { core, watch: undefined },
    isEmitted: false,
    delivering: new WeakSet(),
    timed: () => {},
    dispatches: new Dispatches(entries, core, dispatchesUndone(entries, undone)),
  };
  for (const entry of entries) {
    if (entry.kind === "event") emitAgain(entry.event, delivery, undone.get(entry));
    else emitEntry(entry, delivery);
  }
}

/** Does again what the call changed of a resource; a text: why that cannot be. */
async function broughtBack(
  run: Run,
  { resource: name, changes, callId }: EntryOf<"changed">,
  { isEmitted }: Delivery,
): Promise<string | undefined> {
  // A replay has no resources.
  if (isEmitted) return undefined;
  const of = `what the call ${callId} changed in "${name}" cannot be brought back`;
  if (changes === undefined) {
    return `${of}: the resource has neither changes and apply nor durable. Give it them, or declare what the tool uses.`;
  }
  const found = run.resources.participants().find((each) => each.name === name);
  if (found?.resource.apply === undefined) return `${of}: no such resource is there when the run goes on. Provide it.`;
  try {
    await found.resource.apply(changes);
    return undefined;
  } catch (error) {
    return `${of}: ${messageOf(error)}`;
  }
}

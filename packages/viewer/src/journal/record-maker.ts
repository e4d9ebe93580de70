// 1. A record of the state stands behind each entry that changed it, so the state is known after every entry.
// 2. What a call dispatched was reduced before its end, and is recorded behind it: an end is held back until it is whole.
import type { AppEvent, FrameworkEvent, RunRecord, Session, Slice, SlicePatch, TouchedResource } from "@proviso/core";
import { frozenInDepth, frozenJson, messageOf, openedSections } from "@proviso/core/internal";
import { statePatch } from "@proviso/runtime";
import { coreOf, joinSlices, type SessionCore } from "@proviso/runtime/internal";
import { sessionAfter, type EntryOf, type JournalEntry } from "@proviso/runtime/recording";
import { RunMarks } from "./run-marks.ts";

type Content = RunRecord extends infer R ? (R extends RunRecord ? Omit<R, "n" | "runId" | "at"> : never) : never;
interface CallEnd {
  readonly evaluationId: string;
  readonly callIds: readonly string[];
  readonly undone: boolean;
}

/** How much keyframes may weigh, by the weight of the patches. */
const mostOfPatches = 1.2;

/** Makes the records of a run from its entries that stand, as they come. */
export class RecordMaker {
  readonly records: RunRecord[] = [];
  readonly #runId: string;
  readonly #slices: readonly Slice[] | undefined;
  readonly #isWithStates: boolean;
  #session: Session | undefined;
  #core: SessionCore | undefined;
  #seq = 0;
  #sessionId = "";
  #marks: RunMarks | undefined;
  readonly #touched = new Map<string, TouchedResource[]>();
  /** The states of the last record of them. */
  #states: Readonly<Record<string, unknown>> = {};
  #weight = 0;
  /** The weight of patches from which on a keyframe may be due. */
  #due = 0;
  /** The end of a call, and what was dispatched behind it so far. */
  #held: JournalEntry[] = [];

  /** A maker without states costs little for each record; it reports slices that do not fit all the same. */
  constructor(runId: string, slices: readonly Slice[] | undefined, isWithStates: boolean) {
    this.#runId = runId;
    this.#slices = slices;
    this.#isWithStates = isWithStates;
  }

  /** Takes the next entry. */
  add(entry: JournalEntry): void {
    const [end] = this.#held;
    if (end !== undefined) {
      const callId = end.kind === "event" && end.event.type === "tool.invoked" ? end.event.callId : undefined;
      // A listener of the end, or of what the call dispatched, may have dispatched in between.
      const isBehind = entry.kind === "dispatched" && (entry.callId === callId || entry.callId === undefined);
      if (isBehind) return void this.#held.push(entry);
      this.flush();
    }
    if (entry.kind === "event" && entry.event.type === "tool.invoked" && entry.event.result.success) {
      this.#held.push(entry);
    } else this.#take(entry);
  }

  /** Makes records of what was held back: no more entries come. */
  flush(): void {
    const [end, ...behind] = this.#held;
    if (end?.kind !== "event") return;
    const dispatched = behind.filter((entry) => entry.kind === "dispatched");
    this.#held = [];
    const { event, evaluationId, at } = end;
    const apps = dispatched.filter(({ callId }) => callId !== undefined);
    this.#record(end.index, at, { kind: "event", event });
    const callId = "callId" in event ? event.callId : "";
    if (this.#core !== undefined) {
      for (const app of apps) this.#reduce(frozenInDepth(app.event), { evaluationId, callId });
      this.#marks?.openEnd(evaluationId, callId);
      this.#reduce(frozenJson(event));
      this.#state(end, { evaluationId, callIds: [callId], undone: false });
    }
    for (const app of dispatched) {
      if (app.callId === undefined) this.#take(app);
      else this.#record(app.index, app.at, { kind: "app", event: app.event, callId });
    }
  }

  #take(entry: JournalEntry): void {
    switch (entry.kind) {
      case "begun":
        return this.#begun(entry);
      case "event":
        return this.#event(entry);
      case "dispatched":
        this.#record(entry.index, entry.at, { kind: "app", event: entry.event, callId: entry.callId });
        this.#core?.reduceConcurrent(frozenInDepth(entry.event) as never);
        return this.#state(entry);
      case "delta":
        return this.#delta(entry);
      case "changed": {
        const key = keyOf(entry.evaluationId, entry.callId);
        const touched = this.#touched.get(key) ?? [];
        this.#touched.set(key, [...touched, { name: entry.resource }]);
        return;
      }
      case "committed":
        for (const callId of entry.callIds) this.#committed(entry, callId);
        return;
      case "attempt":
        return this.#marks?.beginAttempt(entry.evaluationId);
      case "lasting":
        return this.#marks?.endAttempt(entry.evaluationId);
      case "resumed":
      case "adopted":
      case "given":
      case "asked":
      case "called":
      case "answered":
      case "waited":
      case "drew":
      case "fixed":
      case "undone":
      case "started":
      case "finished":
      case "checked":
      case "stopped":
      case "suspended":
      case "resolved":
      case "cancelled":
      case "ended":
        return;
    }
  }

  #begun(entry: EntryOf<"begun">): void {
    const { id, seq } = entry.session;
    this.#sessionId = id;
    this.#seq = seq;
    if (this.#slices === undefined) return;
    try {
      const session = sessionAfter([entry], this.#slices);
      if (!this.#isWithStates) return;
      this.#session = session;
      this.#core = coreOf(session);
      this.#marks = new RunMarks(this.#core);
    } catch (error) {
      const problem = `The slices do not fit this run, so its states are not shown: ${messageOf(error)}`;
      this.#record(entry.index, entry.at, { kind: "unreadable", problem });
      return;
    }
    this.#states = statesOf(this.#session);
    this.#due = weightOf(this.#states) / mostOfPatches;
    const content = { kind: "state", slices: [], keyframe: this.#states } as const;
    this.records.push({ n: 2 * entry.index + 1, runId: this.#runId, at: entry.at, ...content });
  }

  #event(entry: EntryOf<"event">): void {
    const { event, evaluationId } = entry;
    this.#seq = event.seq + 1;
    this.#record(entry.index, entry.at, { kind: "event", event });
    if (this.#core === undefined || this.#session === undefined) return;
    if (event.type === "sections.opened") joinSlices(this.#session, [openedSections]);
    if (event.type === "tool.requested") this.#marks?.openCall(evaluationId, event.callId);
    const isFailure = event.type === "tool.invoked" && !event.result.success;
    if (isFailure) this.#marks?.undoCall(evaluationId, event.callId);
    if (event.type === "evaluation.restarted") this.#marks?.undoAttempt(evaluationId);
    this.#reduce(frozenJson(event));
    // The record does not have where an attempt of an evaluation inside a call begins.
    const isBegun = event.type === "prompt.rendered" || event.type === "evaluation.restarted";
    if (isBegun && event.parent !== undefined) this.#marks?.beginAttempt(evaluationId);
    const { callId } = event as { readonly callId?: string };
    const end = { evaluationId, callIds: [callId ?? ""], undone: true };
    this.#state(entry, isFailure && event.ran ? end : undefined);
    if (event.type === "prompt.executed" || event.type === "prompt.failed") this.#marks?.closeAll(evaluationId);
  }

  #reduce(event: AppEvent | FrameworkEvent, by?: { readonly evaluationId: string; readonly callId: string }): void {
    if (by === undefined) this.#core?.reduce(event as never);
    else this.#core?.reduce(event as never, by);
  }

  #committed(entry: EntryOf<"committed">, callId: string): void {
    this.#marks?.closeCall(entry.evaluationId, callId);
    const key = keyOf(entry.evaluationId, callId);
    const touched = this.#touched.get(key);
    this.#touched.delete(key);
    if (touched === undefined) return;
    // What it changed of resources is recorded behind its end.
    this.#state(entry, { evaluationId: entry.evaluationId, callIds: [callId], undone: false }, touched);
  }

  /** Text that was streamed: the event is made again from what was recorded. Its `seq` is that of the event before, plus one. */
  #delta({ index, at, evaluationId, turn, text, of }: EntryOf<"delta">): void {
    const base = { sessionId: this.#sessionId, evaluationId, seq: this.#seq, at, turn };
    if (of === "reset") this.#record(index, at, { kind: "event", event: { ...base, type: "text.reset" } });
    else {
      const type = of === "reasoning" ? "reasoning.delta" : "text.delta";
      this.#record(index, at, { kind: "event", event: { ...base, type, text } });
    }
  }

  #state({ index, at }: JournalEntry, call?: CallEnd, touched?: readonly TouchedResource[]): void {
    if (this.#session === undefined) return;
    const slices: SlicePatch[] = [];
    let states = this.#states;
    for (const slice of this.#session.slices()) {
      const { name, kind } = slice;
      const now = this.#session.get(slice);
      if (Object.is(now, states[name])) continue;
      const patch = Object.hasOwn(states, name)
        ? statePatch(states[name], now)
        : [{ op: "add", path: "", value: now } as const];
      states = { ...states, [name]: now };
      if (patch.length > 0) slices.push({ name, kind, patch });
    }
    if (slices.length === 0 && call === undefined) return;
    this.#states = states;
    this.#weight += slices.length === 0 ? 0 : weightOf(slices);
    const content = { kind: "state", slices, ...(call && { call }), ...(touched && { touched }) } as const;
    const record = { n: 2 * index + 1, runId: this.#runId, at, ...content };
    this.records.push(this.#isKeyframeDue() ? { ...record, keyframe: states } : record);
  }

  /** Keyframes weigh at most 1.2 times what the patches before them do. Weighing the states is put off in proportion. */
  #isKeyframeDue(): boolean {
    if (this.#weight <= this.#due) return false;
    const least = weightOf(this.#states) / mostOfPatches;
    const isDue = this.#weight >= least;
    this.#due = Math.max(least, isDue ? 0 : this.#weight * mostOfPatches);
    if (isDue) this.#weight = 0;
    return isDue;
  }

  #record(index: number, at: number, content: Content): void {
    this.records.push({ n: 2 * index, runId: this.#runId, at, ...content } as RunRecord);
  }
}

function statesOf(session: Session): Readonly<Record<string, unknown>> {
  return Object.fromEntries(session.slices().map((slice) => [slice.name, session.get(slice)]));
}

function weightOf(value: unknown): number {
  return JSON.stringify(value)?.length ?? 0;
}

function keyOf(evaluationId: string, callId: string): string {
  return `${evaluationId} ${callId}`;
}

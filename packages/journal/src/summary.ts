// What a list shows of a run; kept with each frame, so that no record has to be read for it.
import type { SavedFork } from "./forking.ts";
import type { Usage } from "@proviso/core";
import { isRecord } from "@proviso/core/provider";
import { noUsage, parseOwnJson, SpentByRun } from "@proviso/core/internal";
import {
  knownContent,
  pendingOf,
  StepCounter,
  type EntryContent,
  type EntryOf,
  type JournalEntry,
  type KeptEntry,
  type RecordedEvent,
} from "@proviso/runtime/recording";
import { longUsage, shortUsage } from "./format-events.ts";
import type { RunState, RunSummary } from "./journal.ts";

/** A summary as it is written. Times are epoch milliseconds. */
export interface SavedSummary {
  readonly prompt: string;
  readonly model: string;
  readonly state: RunState;
  readonly attempts: number;
  readonly steps: number;
  readonly startedAt: number;
  readonly updatedAt: number;
  readonly usage: Usage;
  readonly forkOf?: SavedFork | undefined;
  /** What a suspended run waits for. */
  readonly pending?: EntryOf<"suspended">["pending"] | undefined;
}

/** Follows the entries of a run. */
export class Summary {
  /** What they come to so far. The number of attempts is not among them: a reader or a writer of the run says it. */
  readonly saved: { -readonly [K in keyof SavedSummary]: SavedSummary[K] };
  #own: string | undefined;
  readonly #steps = new StepCounter();
  readonly #spent = new SpentByRun();
  /** What it was before the attempt that it follows. */
  readonly #before: SavedSummary | undefined;

  constructor(forkOf?: SavedSummary["forkOf"], before?: SavedSummary) {
    this.#before = before;
    this.saved = {
      prompt: "",
      model: "",
      state: "open",
      attempts: 1,
      steps: 0,
      startedAt: 0,
      updatedAt: 0,
      usage: noUsage,
      ...(forkOf === undefined ? {} : { forkOf }),
    };
  }

  add(entry: JournalEntry | KeptEntry): void {
    const { saved } = this;
    saved.updatedAt = entry.at;
    saved.steps += this.#steps.add(entry);
    const content = knownContent(entry);
    // What has to be made yet says nothing more to a summary.
    if (content === undefined) return;
    if (content.kind === "event") this.#addSpent(content.event, entry.evaluationId);
    if (content.kind === "begun") {
      this.#own ??= entry.evaluationId;
      saved.prompt = content.prompt;
      saved.model = content.model;
      // The first entries of a fork are older than it is.
      saved.startedAt = saved.forkOf?.begunAt ?? entry.at;
    } else if (content.kind === "resumed" || content.kind === "resolved") this.#standsAs("open");
    else if (content.kind === "cancelled") this.#standsAs("cancelled");
    else if (entry.evaluationId === this.#own) this.#addOwn(content);
  }

  #standsAs(state: RunState, pending?: SavedSummary["pending"]): void {
    this.saved.state = state;
    // A field that is not there is not written.
    this.saved.pending = pending;
  }

  #addOwn(entry: EntryContent): void {
    const { saved } = this;
    if (entry.kind === "given") saved.model = entry.model ?? saved.model;
    if (entry.kind === "suspended") return this.#standsAs("suspended", entry.pending);
    // Nothing comes after a run was cancelled: its writer is refused.
    if (entry.kind !== "ended") return;
    if (entry.isEmpty === true)
      Object.assign(saved, this.#before, { attempts: saved.attempts, updatedAt: saved.updatedAt });
    else saved.state = entry.staysOpen === true ? "open" : entry.outcome;
  }

  /** Evaluations inside calls spend for the run, too. */
  #addSpent(event: RecordedEvent, evaluationId: string): void {
    if (this.#spent.add(event, evaluationId)) this.saved.usage = this.#spent.total();
  }
}

const states: Readonly<Record<RunState, true>> = {
  open: true,
  executed: true,
  failed: true,
  suspended: true,
  cancelled: true,
};

/** Returns a summary as it is kept with a frame. */
export function writtenSummary(saved: SavedSummary): string {
  return JSON.stringify({ ...saved, usage: shortUsage(saved.usage) });
}

/**
 * Reads a summary, which no sum protects. undefined: it is not one, and is passed over; `describe` makes another one of its
 * run.
 */
export function readSummary(text: string): SavedSummary | undefined {
  const read = parseOwnJson(text);
  if (!read.ok || !isRecord(read.value)) return undefined;
  const saved: Record<string, unknown> = { ...read.value, usage: longUsage(read.value["usage"]) };
  const { prompt, model, state, attempts, steps, startedAt, updatedAt, usage, forkOf, pending } = saved;
  const isWhole =
    [prompt, model].every((each) => typeof each === "string") &&
    typeof state === "string" &&
    Object.hasOwn(states, state) &&
    [attempts, steps].every((each) => Number.isSafeInteger(each)) &&
    [startedAt, updatedAt].every(isTime) &&
    isUsage(usage) &&
    (forkOf === undefined || isFork(forkOf)) &&
    (pending === undefined || isPending(pending));
  return isWhole ? (saved as unknown as SavedSummary) : undefined;
}

function isFork(forkOf: unknown): boolean {
  if (!isRecord(forkOf)) return false;
  const { id, begunAt } = forkOf;
  return typeof id === "string" && (begunAt === undefined || isTime(begunAt));
}

function isUsage(usage: unknown): boolean {
  if (!isRecord(usage)) return false;
  return Object.entries(noUsage).every(([name, value]) => typeof usage[name] === typeof value);
}

function isPending(pending: unknown): boolean {
  if (!isRecord(pending)) return false;
  const { callId, tool, question, expiresAt } = pending;
  const areTexts = [callId, tool, question].every((each) => typeof each === "string");
  return areTexts && (expiresAt === undefined || isTime(expiresAt));
}

/** Whether it is a time that a Date can have, in epoch milliseconds. */
function isTime(value: unknown): boolean {
  return typeof value === "number" && !Number.isNaN(new Date(value).getTime());
}

/** A summary for users. What else was saved does not reach them: the id is that of the run. */
export function summaryOf(id: string, saved: SavedSummary): RunSummary {
  const { prompt, model, state, attempts, steps, startedAt, updatedAt, usage, forkOf, pending } = saved;
  return Object.freeze({
    id,
    prompt,
    model,
    state,
    attempts,
    steps,
    usage,
    startedAt: new Date(startedAt),
    updatedAt: new Date(updatedAt),
    pending: pending && pendingOf(pending, ""),
    forkOf: forkOf && { id: forkOf.id, at: forkOf.at },
  });
}

// What a list shows of a run; kept with each frame, so that no record has to be read for it.
import type { Usage } from "@proviso/core";
import { addUsage, noUsage } from "@proviso/core/internal";
import type { JournalEntry } from "@proviso/runtime/recording";
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
  readonly forkOf?: { readonly id: string; readonly at: number } | undefined;
}

/** Follows the entries of a run. */
export class Summary {
  #saved: SavedSummary;
  #own: string | undefined;

  constructor(forkOf?: SavedSummary["forkOf"]) {
    this.#saved = {
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

  get saved(): SavedSummary {
    return this.#saved;
  }

  /** Begins again with what stands: an attempt goes on from there. */
  restart(entries: readonly JournalEntry[]): void {
    const { attempts, startedAt, forkOf } = this.#saved;
    const fresh = new Summary(forkOf);
    for (const entry of entries) fresh.add(entry);
    this.#own ??= fresh.#own;
    this.#saved = { ...fresh.#saved, attempts, startedAt: startedAt === 0 ? fresh.#saved.startedAt : startedAt };
  }

  add(entry: JournalEntry): void {
    const saved = this.#saved;
    const base = { ...saved, updatedAt: entry.at, attempts: Math.max(saved.attempts, entry.attempt) };
    if (entry.kind === "begun") {
      this.#own ??= entry.evaluationId;
      this.#saved = { ...base, prompt: entry.prompt, model: entry.model, startedAt: entry.at };
      return;
    }
    const isOwn = entry.evaluationId === this.#own;
    this.#saved = { ...base, state: stateAfter(entry, isOwn, saved.state), ...added(entry, isOwn, saved) };
  }
}

function stateAfter(entry: JournalEntry, isOwn: boolean, state: RunState): RunState {
  if (entry.kind === "resumed") return "open";
  if (entry.kind === "cancelled") return "cancelled";
  if (entry.kind === "ended" && isOwn && state !== "cancelled") return entry.outcome;
  return state;
}

function added(
  entry: JournalEntry,
  isOwn: boolean,
  { steps, usage }: SavedSummary,
): Pick<SavedSummary, "steps" | "usage"> {
  if (!isOwn) return { steps, usage };
  if (entry.kind === "answered") return { steps: entry.answer.failure === undefined ? steps + 1 : steps, usage };
  if (entry.kind === "committed") return { steps: steps + entry.callIds.length, usage };
  if (entry.kind !== "event") return { steps, usage };
  const { event } = entry;
  if (event.type === "tool.invoked" && !event.result.success) return { steps: steps + 1, usage };
  if (event.type === "provider.responded") return { steps, usage: addUsage(usage, event.usage) };
  if (event.type === "prompt.executed" || event.type === "prompt.failed") return { steps, usage: event.usage };
  return { steps, usage };
}

/** A summary for users. */
export function summaryOf(id: string, { startedAt, updatedAt, forkOf, ...saved }: SavedSummary): RunSummary {
  return Object.freeze({
    id,
    ...saved,
    startedAt: new Date(startedAt),
    updatedAt: new Date(updatedAt),
    pending: undefined,
    forkOf,
  });
}

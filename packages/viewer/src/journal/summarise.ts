import type { FrameworkEvent, RunRecord, RunSummary } from "@proviso/core";
import { CallEnds, messageOf, SpentByRun } from "@proviso/core/internal";
import { runRows } from "../runs/rows.ts";
import type { ListedRun } from "./entry-source.ts";

/** A summary, with what a search looks at. */
export interface Summarised {
  readonly summary: RunSummary;
  /** The names of the tools that were called. */
  readonly tools: ReadonlySet<string>;
  /** What a search for a text looks at, in small letters. */
  readonly text: string;
}

/** Makes the summary of a run while its records come: each is looked at once. */
export class Summariser {
  readonly #rows = runRows();
  readonly #tools = new Set<string>();
  readonly #spent = new SpentByRun();
  readonly #callEnds = new CallEnds();
  #turns = 0;
  #toolCalls = 0;
  #waits = 0;
  /** undefined: nothing of the run has begun. */
  #own:
    | { readonly sessionId: string; readonly provider: string; readonly model: string; readonly id: string }
    | undefined;
  #answer = "";
  #error: RunSummary["error"];
  #endedAt: number | undefined;

  /** A record that is of another form, since a journal of one's own gave it, makes a row that says so, and hides no other run. */
  add(record: RunRecord): void {
    try {
      this.#add(record);
    } catch (error) {
      const message = `The record of the run "${record.runId}" cannot be shown: ${messageOf(error)}`;
      this.#error ??= { code: "journal", message };
    }
  }

  #add(record: RunRecord): void {
    this.#rows.add(record);
    if (record.kind === "unreadable") this.#error ??= { code: "journal", message: record.problem };
    if (record.kind === "event") this.#addEvent(record.event);
  }

  #addEvent(event: FrameworkEvent): void {
    if (event.type === "prompt.rendered" && this.#own === undefined) {
      const { sessionId, adapter: provider, model, evaluationId: id } = event;
      this.#own = { sessionId, provider, model, id };
    }
    const isOwn = event.evaluationId === (this.#own?.id ?? "");
    if (event.type === "provider.requested" && isOwn) this.#turns = Math.max(this.#turns, event.turn);
    if (event.type === "provider.throttled" && event.delayMs !== undefined) this.#waits += 1;
    this.#spent.add(event);
    if (this.#callEnds.isFirst(event)) this.#toolCalls += 1;
    if (event.type === "tool.invoked") this.#tools.add(event.name);
    // A run that goes on has an end before it.
    if (event.type === "run.resumed") [this.#error, this.#endedAt, this.#answer] = [undefined, undefined, ""];
    if (!isOwn) return;
    if (event.type === "prompt.failed") this.#error = { code: event.code, message: event.message };
    if (event.type === "prompt.executed") this.#answer = event.text ?? JSON.stringify(event.output) ?? "";
    if (["prompt.failed", "prompt.executed", "run.suspended"].includes(event.type)) this.#endedAt = event.at;
  }

  /** The summary of what came so far. */
  summary(listed: ListedRun, isGone: boolean): Summarised {
    const { id, prompt, startedAt, forkOf } = listed;
    const own = this.#own ?? { sessionId: "", provider: "", model: "", id: "" };
    const error = this.#error;
    const summary: RunSummary = {
      runId: id,
      sessionId: own.sessionId,
      promptName: prompt,
      provider: own.provider,
      model: own.model === "" ? listed.model : own.model,
      startedAt,
      endedAt: this.#endedAt,
      status: statusOf(listed, isGone),
      ...(error === undefined ? {} : { error }),
      turns: this.#turns,
      toolCalls: this.#toolCalls,
      undone: this.#rows.rows.filter(({ kind, status }) => kind === "call" && status === "undone").length,
      waits: this.#waits,
      usage: this.#spent.total(),
      ...(forkOf === undefined ? {} : { origin: { runId: forkOf.id, at: forkOf.at, kind: "fork" as const } }),
    };
    const texts = [prompt, id, own.sessionId, own.id, error?.code, error?.message, this.#answer, ...this.#tools];
    return { summary, tools: new Set(this.#tools), text: texts.join("\n").toLowerCase() };
  }
}

function statusOf({ state }: ListedRun, isGone: boolean): RunSummary["status"] {
  if (state === "executed" || state === "failed" || state === "suspended") return state;
  return state === "open" && !isGone ? "running" : "stopped";
}

import type { RunRecord, RunSummary } from "@proviso/core";
import { messageOf, SpentByRun } from "@proviso/core/internal";
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

/**
 * Makes the summary of a run from its records. One whose records are not what they should be, since a journal of one's own
 * gives others, is a row that says so: the other runs of a list are shown.
 */
export function summarise(listed: ListedRun, records: readonly RunRecord[], isGone: boolean): Summarised {
  try {
    return summaryFrom(listed, records, isGone);
  } catch (error) {
    const problem = `The record of the run "${listed.id}" cannot be shown: ${messageOf(error)}`;
    return summaryFrom(listed, [{ n: 0, runId: listed.id, at: 0, kind: "unreadable", problem }], isGone);
  }
}

function summaryFrom(listed: ListedRun, records: readonly RunRecord[], isGone: boolean): Summarised {
  const rows = runRows();
  const tools = new Set<string>();
  const spent = new SpentByRun();
  let [turns, toolCalls, waits] = [0, 0, 0];
  let [sessionId, provider, model, own, answer] = ["", "", listed.model, "", ""];
  let error: RunSummary["error"];
  let endedAt: number | undefined;
  for (const record of records) {
    rows.add(record);
    if (record.kind === "unreadable") error ??= { code: "journal", message: record.problem };
    if (record.kind !== "event") continue;
    const { event } = record;
    if (event.type === "prompt.rendered" && own === "") {
      [sessionId, provider, own] = [event.sessionId, event.adapter, event.evaluationId];
      model = event.model === "" ? model : event.model;
    }
    const isOwn = event.evaluationId === own;
    if (event.type === "provider.requested" && isOwn) turns = Math.max(turns, event.turn);
    if (event.type === "provider.throttled" && event.delayMs !== undefined) waits += 1;
    spent.add(event);
    if (event.type === "tool.invoked") {
      toolCalls += 1;
      tools.add(event.name);
    }
    // A run that goes on has an end before it.
    if (event.type === "run.resumed") [error, endedAt, answer] = [undefined, undefined, ""];
    if (!isOwn) continue;
    if (event.type === "prompt.failed") error = { code: event.code, message: event.message };
    if (event.type === "prompt.executed") answer = event.text ?? JSON.stringify(event.output) ?? "";
    if (["prompt.failed", "prompt.executed", "run.suspended"].includes(event.type)) endedAt = event.at;
  }
  const undone = rows.rows.filter(({ kind, status }) => kind === "call" && status === "undone").length;
  const { id, prompt, startedAt, forkOf } = listed;
  const summary: RunSummary = {
    runId: id,
    sessionId,
    promptName: prompt,
    provider,
    model,
    startedAt,
    endedAt,
    status: statusOf(listed, isGone),
    ...(error === undefined ? {} : { error }),
    turns,
    toolCalls,
    undone,
    waits,
    usage: spent.total(),
    ...(forkOf === undefined ? {} : { origin: { runId: forkOf.id, at: forkOf.at, kind: "fork" as const } }),
  };
  const text = [prompt, id, sessionId, own, error?.code, error?.message, answer, ...tools].join("\n").toLowerCase();
  return { summary, tools, text };
}

function statusOf({ state }: ListedRun, isGone: boolean): RunSummary["status"] {
  if (state === "executed" || state === "failed" || state === "suspended") return state;
  return state === "open" && !isGone ? "running" : "stopped";
}

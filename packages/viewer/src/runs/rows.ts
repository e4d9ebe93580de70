// 1. Each record is looked at once; what a row needs of earlier ones is kept by evaluation and call.
// 2. A row is changed in place while records of it come; its place in the list never changes.
import type { FrameworkEvent, RunRecord, Usage } from "@proviso/core";
import { StandingWork, type Work } from "@proviso/core/internal";
import { cut, firstLine, noticeTitle, promptTitle, shownJson, waitTitle } from "./titles.ts";

/** One line of a run: a request with its answer, a call with its result. */
export interface RunRow {
  /** What the line is about. */
  readonly kind: "prompt" | "turn" | "wait" | "call" | "said" | "opened" | "feedback" | "app" | "end" | "unreadable";
  /** The first record that it is made of. */
  readonly from: number;
  /** The last record that it is made of. */
  readonly until: number;
  /** The id of its evaluation; empty where the record names none. */
  readonly evaluationId: string;
  /** How many evaluations are around its own: 0 for the run itself. */
  readonly depth: number;
  /** The turn's number, from 1; 0: before the first one. */
  readonly turn: number;
  /** The id of the call, of a line about one. */
  readonly callId?: string | undefined;
  /** What the line says, in one line. */
  readonly title: string;
  /** "undone": what it did was undone; "not-run": no handler began. */
  readonly status: "running" | "done" | "failed" | "undone" | "not-run";
  /** Epoch milliseconds. */
  readonly startedAt: number;
  /** Milliseconds; undefined: it has not ended. */
  readonly durationMs: number | undefined;
  /** Milliseconds to the first text; undefined: nothing was streamed. */
  readonly firstTextMs?: number | undefined;
  /** What the answer, or the evaluation that ended, spent. */
  readonly usage?: Usage | undefined;
}

/** The rows of a run, while its records come. */
export interface RunRows {
  /** Takes the next record. */
  add(record: RunRecord): void;
  /** The rows so far: one list, which grows; its rows change in place. */
  readonly rows: readonly RunRow[];
  /** The rows that are new or have changed since record `n`, each with its place in the list, in order. */
  changedSince(n: number): readonly (readonly [place: number, row: RunRow])[];
}

type Row = { -readonly [K in keyof RunRow]: RunRow[K] };
type EventOf<Type extends FrameworkEvent["type"]> = Extract<FrameworkEvent, { readonly type: Type }>;

/** An evaluation of the run. */
interface Seen {
  readonly depth: number;
  turn: number;
  request: Row | undefined;
  readonly open: Map<string, Row>;
}

/** Makes rows as the records come: give it each record in order, and read the rows at any time. */
export function runRows(): RunRows {
  const maker = new RowMaker();
  return { add: (record) => maker.add(record), rows: maker.rows, changedSince: (n) => maker.changedSince(n) };
}

class RowMaker {
  readonly rows: Row[] = [];
  readonly #seen = new Map<string, Seen>();
  /** The calls that succeeded, and what they dispatched. */
  readonly #standing = new StandingWork<Row>();
  /** The record that changed a row which was no record of it: it undid what the row is about, or ended its evaluation. */
  readonly #changedBy = new WeakMap<Row, number>();
  #last = "";

  add(record: RunRecord): void {
    switch (record.kind) {
      case "event":
        return this.#event(record.n, record.event);
      case "app": {
        const { type, ...payload } = record.event;
        const title = cut(`${type} ${shownJson(payload)}`);
        const of = { evaluationId: this.#last, callId: record.callId };
        const row = this.#row("app", record, { ...of, title, status: "done", durationMs: 0 });
        if (of.callId !== undefined) this.#standing.keep(row, of);
        return;
      }
      case "unreadable":
        return void this.#row("unreadable", record, { title: cut(record.problem), status: "failed", durationMs: 0 });
      case "state":
        return;
    }
  }

  changedSince(n: number): readonly (readonly [place: number, row: RunRow])[] {
    return this.rows.flatMap((row, place) =>
      row.until > n || (this.#changedBy.get(row) ?? n) > n ? [[place, row] as const] : [],
    );
  }

  #row(kind: RunRow["kind"], at: { readonly n: number; readonly at: number }, more: Partial<Row>): Row {
    const evaluationId = more.evaluationId ?? this.#last;
    const seen = this.#seen.get(evaluationId);
    const row: Row = {
      kind,
      from: at.n,
      until: at.n,
      evaluationId,
      depth: seen?.depth ?? 0,
      turn: seen?.turn ?? 0,
      title: "",
      status: "running",
      startedAt: at.at,
      durationMs: undefined,
      ...more,
    };
    this.rows.push(row);
    return row;
  }

  #event(n: number, event: FrameworkEvent): void {
    const seen = this.#evaluation(event);
    this.#standing.add(event);
    this.#last = event.evaluationId;
    const place = { n, at: event.at };
    const { evaluationId } = event;
    switch (event.type) {
      case "prompt.rendered":
        this.#row("prompt", place, { evaluationId, title: promptTitle(event), status: "done", durationMs: 0 });
        return;
      case "provider.requested":
        return this.#requested(place, seen, event);
      case "provider.throttled":
        return this.#throttled(place, seen, event);
      case "text.delta":
      case "text.reset":
        return this.#streamed(place, seen, event);
      case "provider.responded":
        return this.#responded(place, seen, event);
      case "provider.tool":
        this.#row("call", place, { evaluationId, title: cut(event.name), status: "done", durationMs: 0 });
        return;
      case "tool.requested":
      case "tool.progress":
      case "tool.invoked":
        return this.#call(place, seen, event);
      case "prompt.executed":
      case "prompt.failed":
        return this.#ended(place, seen, event);
      case "reasoning.delta":
      case "output.delta":
        if (seen.request !== undefined) seen.request.until = n;
        return;
      case "sections.opened":
      case "feedback.given":
      case "history.compacted":
      case "run.resumed":
      case "run.suspended":
      case "transaction.failed":
        return this.#notice(place, event);
      case "evaluation.restarted":
        this.#undo(place, { evaluationId });
        return this.#notice(place, event);
    }
  }

  #evaluation({ evaluationId, parent }: FrameworkEvent): Seen {
    const known = this.#seen.get(evaluationId);
    if (known !== undefined) return known;
    const around = parent === undefined ? undefined : this.#seen.get(parent.evaluationId);
    const depth = parent === undefined ? 0 : (around?.depth ?? 0) + 1;
    const seen: Seen = { depth, turn: 0, request: undefined, open: new Map() };
    this.#seen.set(evaluationId, seen);
    return seen;
  }

  #requested(place: Place, seen: Seen, event: EventOf<"provider.requested">): void {
    const { evaluationId, turn, attempt } = event;
    seen.turn = turn;
    for (const text of event["said"] ?? []) {
      this.#row("said", place, { evaluationId, title: firstLine(text), status: "done", durationMs: 0 });
    }
    if (attempt > 1 && seen.request !== undefined) seen.request.until = place.n;
    else seen.request = this.#row("turn", place, { evaluationId, turn, title: "" });
  }

  #throttled(place: Place, seen: Seen, event: EventOf<"provider.throttled">): void {
    const { evaluationId, delayMs, turn } = event;
    const status = delayMs === undefined ? "failed" : "done";
    this.#row("wait", place, { evaluationId, turn, title: waitTitle(event), status, durationMs: delayMs ?? 0 });
    if (seen.request === undefined) return;
    seen.request.until = place.n;
    if (delayMs === undefined) end(seen.request, "failed", event.at);
  }

  #streamed(place: Place, { request }: Seen, event: EventOf<"text.delta" | "text.reset">): void {
    if (request === undefined) return;
    request.until = place.n;
    if (event.type === "text.delta") {
      request.firstTextMs ??= event.at - request.startedAt;
      if (request.title.length < 200) request.title = firstLine(request.title + event.text);
      return;
    }
    // The text that was taken back is a line of its own.
    const { evaluationId, turn, title, startedAt } = request;
    const durationMs = event.at - startedAt;
    this.#row("turn", place, { evaluationId, turn, title, startedAt, status: "undone", durationMs });
    request.title = "";
    request.firstTextMs = undefined;
  }

  #responded(place: Place, seen: Seen, event: EventOf<"provider.responded">): void {
    const { evaluationId, turn, usage, durationMs, text, toolCalls } = event;
    const row = seen.request ?? this.#row("turn", place, { evaluationId, turn });
    row.until = place.n;
    row.title = text.trim() === "" ? cut(toolCalls.map(({ name }) => name).join(", ")) : firstLine(text);
    Object.assign(row, { usage, durationMs, status: "done" } satisfies Partial<Row>);
    seen.request = undefined;
  }

  #call(place: Place, seen: Seen, event: EventOf<"tool.requested" | "tool.progress" | "tool.invoked">): void {
    const { evaluationId, callId, name, turn } = event;
    const known = seen.open.get(callId);
    if (event.type === "tool.requested") {
      const title = cut(`${name} ${event.arguments}`);
      seen.open.set(callId, this.#row("call", place, { evaluationId, callId, turn, title }));
      return;
    }
    if (event.type === "tool.progress") {
      if (known !== undefined) known.until = place.n;
      return;
    }
    const isAgain = known !== undefined && known.until >= known.from && known.turn === turn;
    const title = cut(`${name} ${argumentsOf(event.params)}`);
    const row = isAgain ? known : this.#row("call", place, { evaluationId, callId, turn, title });
    seen.open.set(callId, row);
    row.until = place.n;
    row.durationMs = event.durationMs;
    row.status = event.result.success ? "done" : event.ran ? "undone" : "not-run";
    if (row.status === "done") this.#standing.keep(row, event);
    else if (row.status === "undone") this.#undo(place, event);
  }

  /** Calls that succeeded, and what they dispatched, are undone with the call or the evaluation that they are part of. */
  #undo({ n }: Place, work: Work): void {
    for (const row of this.#standing.undo(work)) {
      row.status = "undone";
      this.#changedBy.set(row, n);
    }
  }

  #ended(place: Place, seen: Seen, event: EventOf<"prompt.executed" | "prompt.failed">): void {
    const { evaluationId, usage, durationMs } = event;
    const isDone = event.type === "prompt.executed";
    const title = isDone
      ? firstLine(event.text ?? shownJson(event.output))
      : cut(`${event.code}: ${firstLine(event.message)}`);
    this.#row("end", place, { evaluationId, title, status: isDone ? "done" : "failed", usage, durationMs });
    for (const row of [...seen.open.values(), ...(seen.request === undefined ? [] : [seen.request])]) {
      if (row.status !== "running") continue;
      end(row, "failed", event.at);
      this.#changedBy.set(row, place.n);
    }
  }

  #notice(place: Place, event: FrameworkEvent): void {
    const title = noticeTitle(event);
    if (title === undefined) return;
    const kind = event.type === "sections.opened" ? "opened" : event.type === "feedback.given" ? "feedback" : "said";
    const isFault = event.type === "transaction.failed" || event.type === "evaluation.restarted";
    const callId = "callId" in event ? event.callId : undefined;
    const { evaluationId } = event;
    this.#row(kind, place, { evaluationId, callId, title, status: isFault ? "failed" : "done", durationMs: 0 });
  }
}

interface Place {
  readonly n: number;
  readonly at: number;
}

function end(row: Row, status: RunRow["status"], at: number): void {
  row.status = status;
  row.durationMs ??= at - row.startedAt;
}

function argumentsOf(params: unknown): string {
  const raw = (params as { readonly rawArguments?: unknown } | undefined)?.rawArguments;
  return typeof raw === "string" ? raw : shownJson(params);
}

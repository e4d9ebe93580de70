// What the page asks for. Each is read from the store when it is asked.
import type { AttemptView, EvalReader, RecordQuery, RunQuery, RunReader, RunRecord } from "@proviso/core";
import { compareRuns } from "../runs/compare.ts";
import { limitsAt } from "../runs/limits.ts";
import { stateAt, stateChange } from "../runs/state.ts";
import { rowKinds, type RowsOf, type RunViews } from "./run-views.ts";

/** A request that cannot be answered; 409: the run that it is about was removed. */
export class ApiFault extends Error {
  readonly status: 400 | 404 | 409;
  constructor(status: 400 | 404 | 409, message: string) {
    super(message);
    this.status = status;
  }
}

const mostRows = 5_000;
const mostRecords = 500;

/** Answers `/api/…`; undefined: there is no such thing. */
export async function answerApi(
  of: { readonly runs: RunReader; readonly evals: EvalReader | undefined; readonly views: RunViews },
  path: readonly string[],
  query: URLSearchParams,
): Promise<unknown> {
  const { runs: reader, evals, views } = of;
  const [area, segment, part] = path;
  // Dots alone would lead upwards, so an id of them stands in the query.
  const id = segment === "-" ? (query.get("id") ?? segment) : segment;
  if (area === "evals" && id === undefined) return (await evals?.list()) ?? [];
  if (area === "eval" && id !== undefined && part === undefined) return evaluation(evals, id);
  if (area === "runs" && id === undefined) return listed(reader, query);
  if (area === "compare" && id === undefined) return compared(of, query);
  if (area !== "run" || id === undefined || path.length > 3) return undefined;
  if (part === undefined) return found(await reader.summary(id), id);
  if (part === "rows") return rows(views, id, query);
  const value = await partOf(reader, id, part, query);
  const begunBy = query.get("begunBy");
  // What was read of a run before it was removed is as good: what is looked at last is looked at after it was read.
  if (begunBy === null || begunBy === (await views.begunBy(id))) return value;
  throw new ApiFault(409, `The run "${id}" that is shown was removed.`);
}

/** Rows, and with the first ones the summary of the same run. */
async function rows(
  views: RunViews,
  id: string,
  query: URLSearchParams,
): Promise<RowsOf & Readonly<Record<string, unknown>>> {
  const from = numberIn(query, "from") ?? 0;
  const limit = Math.min(mostRows, numberIn(query, "limit") ?? mostRows);
  const page = async () => {
    const { rows: all, last, begunBy, version } = await views.of(id);
    return { rows: all.slice(from, from + limit), from, total: all.length, last, begunBy, version };
  };
  if (from > 0) return page();
  const read = async () => ({ ...(await page()), run: found(await views.summary(id), id) });
  return (await views.ofTheseRuns([id], read)).value;
}

/** What stands beside the rows of a run; undefined: there is no such thing. */
async function partOf(reader: RunReader, id: string, part: string, query: URLSearchParams): Promise<unknown> {
  switch (part) {
    case "records":
      return records(reader, id, {
        after: before(query),
        until: numberIn(query, "until"),
        limit: mostRecords,
        kinds: query.get("states") === "true" ? undefined : rowKinds,
      });
    case "state":
      return stateAt(reader, id, needed(query, "n"));
    case "change":
      return changed(reader, id, query);
    case "limits":
      return limitsAt(await records(reader, id, { until: numberIn(query, "n"), kinds: ["event"] }), Infinity);
    case "prompt":
      return prompts(reader, id, needed(query, "n"));
    default:
      return undefined;
  }
}

async function listed(reader: RunReader, query: URLSearchParams): Promise<unknown> {
  const text = (name: string): string | undefined => query.get(name) ?? undefined;
  const undone = query.get("undone");
  const asked: RunQuery = {
    text: text("text"),
    status: text("status") as RunQuery["status"],
    promptName: text("promptName"),
    model: text("model"),
    tool: text("tool"),
    sessionId: text("sessionId"),
    order: text("order") as RunQuery["order"],
    cursor: text("cursor"),
    limit: numberIn(query, "limit"),
    undone: undone === null ? undefined : undone === "true",
  };
  return reader.list(asked);
}

async function compared(
  { runs: reader, views }: { readonly runs: RunReader; readonly views: RunViews },
  query: URLSearchParams,
): Promise<unknown> {
  const [a, b] = [query.get("a") ?? "", query.get("b") ?? ""];
  const { value, begunBy } = await views.ofTheseRuns([a, b], async () => ({
    runs: { a: found(await reader.summary(a), a), b: found(await reader.summary(b), b) },
    a: await records(reader, a, { kinds: rowKinds }),
    b: await records(reader, b, { kinds: rowKinds }),
  }));
  return { runs: value.runs, begunBy: { a: begunBy[0], b: begunBy[1] }, ...compareRuns(value.a, value.b) };
}

/** What a call changed. A model may use the id of a call again: what comes behind the row is not looked at. */
async function changed(reader: RunReader, id: string, query: URLSearchParams): Promise<unknown> {
  const behind = needed(query, "until");
  const cutOff: RunReader = {
    ...reader,
    records: (runId, asked = {}) => reader.records(runId, { ...asked, until: Math.min(asked.until ?? behind, behind) }),
  };
  return (await stateChange(cutOff, id, query.get("call") ?? "")) ?? null;
}

/** The prompt of an evaluation as it was sent last, up to a record, and how it changed. */
async function prompts(reader: RunReader, id: string, n: number): Promise<unknown> {
  const all = await records(reader, id, { until: n, kinds: ["event"] });
  return all.filter(
    (record) =>
      record.kind === "event" &&
      (record.event.type === "prompt.rendered" ||
        record.event.type === "sections.opened" ||
        (record.event.type === "provider.requested" && record.event.prompt !== undefined)),
  );
}

async function evaluation(evals: EvalReader | undefined, id: string): Promise<unknown> {
  const report = await evals?.report(id);
  if (evals === undefined || report === undefined) throw new ApiFault(404, `There is no eval "${id}".`);
  const attempts: AttemptView[] = [];
  for await (const attempt of evals.attempts(id)) attempts.push(attempt);
  return { report, attempts };
}

async function records(reader: RunReader, id: string, query: RecordQuery): Promise<readonly RunRecord[]> {
  const all: RunRecord[] = [];
  for await (const record of reader.records(id, query)) all.push(record);
  return all;
}

function found<T>(value: T | undefined, id: string): T {
  if (value === undefined) throw new ApiFault(404, `There is no run "${id}".`);
  return value;
}

/** The number in front of `from`, which is included. */
function before(query: URLSearchParams): number | undefined {
  const from = numberIn(query, "from");
  return from === undefined ? undefined : from - 1;
}

function needed(query: URLSearchParams, name: string): number {
  const value = numberIn(query, name);
  if (value === undefined) throw new ApiFault(400, `${name} is missing.`);
  return value;
}

function numberIn(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name);
  if (text === null) return undefined;
  if (!/^\d{1,15}$/.test(text)) throw new ApiFault(400, `${name} has to be a whole number.`);
  return Number(text);
}

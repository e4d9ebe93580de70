// Results of an eval: its rows and variants, failures first.
import type { AttemptView, EvalView, Interval } from "@proviso/viewer";
import { useEffect, useMemo, useState } from "preact/hooks";
import { get, pathOf, segmentOf } from "./api.ts";
import { Fault, useLoading } from "./parts.tsx";
import { go, hrefOf, useKeys } from "./route.ts";
import { oneLine } from "./shown.ts";

interface Loaded {
  readonly report: EvalView;
  readonly attempts: readonly AttemptView[];
}
interface Row {
  readonly id: string;
  readonly label: string;
  readonly cells: ReadonlyMap<string, readonly AttemptView[]>;
}

/** Scorers and variants may be called as members of Object.prototype are. */
function own<T>(record: Readonly<Record<string, T>> | undefined, name: string): T | undefined {
  return record !== undefined && Object.hasOwn(record, name) ? record[name] : undefined;
}

/** The scorer that is shown, and what its best value is; undefined: it is not known. */
interface Scoring {
  readonly scorer: string;
  readonly range: readonly [worst: number, best: number] | undefined;
}

/** Rows that are in the document at once. */
const mostRows = 300;

export function Matrix({ id, query }: { readonly id: string; readonly query: URLSearchParams }) {
  const [loaded, setLoaded] = useState<Loaded | undefined>(undefined);
  const [selected, select] = useState(0);
  const fault = useLoading(
    async (signal) => {
      const { segment, ...named } = segmentOf(id);
      setLoaded(await get(pathOf(`eval/${segment}`, named), signal));
    },
    [id],
  );
  const { report, attempts = [] } = loaded ?? {};
  const scorers = useMemo(
    () => [...new Set(attempts.flatMap(({ scores }) => Object.keys(scores)))].toSorted(),
    [attempts],
  );
  const scorer = query.get("scorer") ?? scorers[0] ?? "";
  const range = own(report?.ranges, scorer);
  const by = useMemo((): Scoring => ({ scorer, range }), [scorer, range]);
  const status = query.get("status") ?? "";
  const differ = Number(query.get("differ") ?? "");
  const isInOrder = query.get("order") === "rows";
  const rows = useMemo(() => rowsOf(attempts), [attempts]);
  const shown = useMemo(() => {
    const fitting = rows.filter((row) => fits(row, by, status, differ));
    return isInOrder ? fitting : fitting.toSorted((a, b) => worst(a, by) - worst(b, by));
  }, [rows, by, status, differ, isInOrder]);
  useEffect(() => {
    document.title = `${oneLine(report?.name ?? id)} · Proviso`;
  }, [report?.name, id]);
  const at = Math.min(selected, shown.length - 1);
  const first = [...(shown[at]?.cells.values() ?? [])].flat().find(({ runIds }) => runIds.length > 0)?.runIds[0];
  const nextFailed = shown.findIndex((row, place) => place > at && worst(row, by) < 1);
  useKeys({
    j: () => select(Math.min(at + 1, shown.length - 1)),
    k: () => select(Math.max(at - 1, 0)),
    g: () => select(shown.length - 1),
    e: () => nextFailed >= 0 && select(nextFailed),
    Enter: () => first !== undefined && go(hrefOf({ run: first })),
  });
  useEffect(() => document.querySelector("tr[aria-selected=true]")?.scrollIntoView({ block: "nearest" }), [at]);
  const change = (name: string, value: string): void =>
    go(hrefOf({ eval: id }, { ...Object.fromEntries(query), [name]: value }), true);
  if (report === undefined) {
    return (
      <main>
        <Fault of={fault} />
      </main>
    );
  }
  const { name, variants, baseline, gates } = report;
  return (
    <main class="matrix">
      <header>
        <a href={hrefOf("runs")}>‹ Runs</a>
        <h1>{oneLine(name)}</h1>
        <span>{report.status}</span>
        <span>baseline {oneLine("variant" in baseline ? baseline.variant : baseline.saved)}</span>
        <button aria-pressed={!isInOrder} onClick={() => change("order", isInOrder ? "" : "rows")}>
          failures first
        </button>
        <select
          aria-label="scorer"
          value={scorer}
          onChange={({ currentTarget }) => change("scorer", currentTarget.value)}
        >
          {scorers.map((each) => (
            <option key={each} value={each}>
              {oneLine(each)}
            </option>
          ))}
        </select>
        <select
          aria-label="status"
          value={status}
          onChange={({ currentTarget }) => change("status", currentTarget.value)}
        >
          <option value="">any status</option>
          {["answered", "failed", "pending"].map((each) => (
            <option key={each}>{each}</option>
          ))}
        </select>
        <label>
          differ by ≥
          <input
            type="number"
            min="0"
            step="0.1"
            value={query.get("differ") ?? ""}
            onInput={({ currentTarget }) => change("differ", currentTarget.value)}
          />
        </label>
      </header>
      <Fault of={fault} />
      <table aria-label="Rows and variants">
        <thead>
          <tr>
            <th scope="col">row</th>
            {variants.map((variant) => (
              <th key={variant} scope="col">
                <VariantHead
                  name={variant}
                  range={range}
                  score={own(own(report.scores, variant), scorer)}
                  difference={own(own(report.differences, variant), scorer)}
                  gates={gates.filter((gate) => gate.variant === variant && gate.scorer === scorer)}
                />
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {shown.slice(0, mostRows).map((row, place) => (
            <tr key={row.id} aria-selected={place === at} onClick={() => select(place)}>
              <th scope="row">{oneLine(row.label)}</th>
              {variants.map((variant) => (
                <Cell key={variant} attempts={row.cells.get(variant) ?? []} by={by} />
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {shown.length === 0 && <p class="empty">No row fits the filters.</p>}
      {shown.length > mostRows && (
        <footer>
          The first {mostRows} of {shown.length} rows are shown: filter to see others.
        </footer>
      )}
    </main>
  );
}

function VariantHead(props: {
  readonly name: string;
  readonly range: Scoring["range"];
  readonly score: Interval | undefined;
  readonly difference: Interval | undefined;
  readonly gates: EvalView["gates"];
}) {
  const { name, range, score, difference, gates } = props;
  return (
    <>
      <b>{oneLine(name)}</b> {score !== undefined && <Whiskers of={score} range={range} />}
      {difference !== undefined && (
        <div>
          {signed(difference.value)} [{signed(difference.low)}, {signed(difference.high)}]
        </div>
      )}
      {gates.map(({ gate, bound, verdict }) => (
        <div
          key={gate}
          class={`status ${verdict === "passed" ? "executed" : verdict === "failed" ? "failed" : "stopped"}`}
        >
          {oneLine(gate)} {bound}: {verdict}
        </div>
      ))}
    </>
  );
}

/** A value with its interval, on the scale of its range, or as far as it reaches. */
function Whiskers({ of, range = [0, 1] }: { readonly of: Interval; readonly range: Scoring["range"] }) {
  const { value, low, high, confidence } = of;
  const [from, until] = [Math.min(...range, low), Math.max(...range, high)];
  const x = (at: number): number => 4 + (92 * (at - from)) / (until - from);
  const text = `${value.toFixed(2)}, ${(100 * confidence).toFixed(0)} % between ${low.toFixed(2)} and ${high.toFixed(2)}`;
  return (
    <>
      {value.toFixed(2)}{" "}
      <svg width="100" height="12" role="img" aria-label={text}>
        <title>{text}</title>
        <path class="axis" d="M4 6H96" />
        <path d={`M${x(low)} 6H${x(high)}M${x(low)} 2v8M${x(high)} 2v8`} />
        <circle cx={x(value)} cy="6" r="3" />
      </svg>
    </>
  );
}

/** All repetitions of a row with a variant. */
function Cell({ attempts, by }: { readonly attempts: readonly AttemptView[]; readonly by: Scoring }) {
  const { scorer, range } = by;
  const isGood =
    range !== undefined && attempts.length > 0 && attempts.every((attempt) => scoreOf(attempt, by) === range[1]);
  const hasFailed = attempts.some(({ status }) => status === "failed");
  // Without a range nothing says whether a value is good.
  const isMarked = hasFailed || (range !== undefined && attempts.some(({ status }) => status !== "pending"));
  return (
    <td>
      {isMarked && <span class={isGood ? "good" : "bad"}>{isGood ? "✓ " : "✗ "}</span>}
      {attempts.map((attempt) => {
        const { repetition, status, runIds } = attempt;
        const score = own(attempt.scores, scorer);
        const text =
          score === undefined ? status : "value" in score ? String(Number(score.value.toFixed(3))) : score.unscored;
        const [run, ...others] = runIds;
        return (
          <span key={repetition}>
            {run === undefined ? oneLine(text) : <a href={hrefOf({ run })}>{oneLine(text)}</a>}
            {others.map((other, place) => (
              <a key={other} href={hrefOf({ run: other })}>
                {" "}
                +{place + 1}
              </a>
            ))}{" "}
          </span>
        );
      })}
    </td>
  );
}

function rowsOf(attempts: readonly AttemptView[]): readonly Row[] {
  const rows = new Map<string, { id: string; label: string; cells: Map<string, AttemptView[]> }>();
  for (const attempt of attempts) {
    const { rowId, label = rowId, variant } = attempt;
    const row = rows.get(rowId) ?? { id: rowId, label, cells: new Map() };
    rows.set(rowId, row);
    row.cells.set(variant, [...(row.cells.get(variant) ?? []), attempt]);
  }
  return [...rows.values()];
}

/** undefined: it has none. A failed attempt has the worst. */
function scoreOf({ status, scores }: AttemptView, { scorer, range }: Scoring): number | undefined {
  if (status === "failed") return range?.[0];
  const score = own(scores, scorer);
  return score !== undefined && "value" in score ? score.value : undefined;
}

/** The mean score of a cell. */
function meanOf(attempts: readonly AttemptView[], by: Scoring): number | undefined {
  const scores = attempts.map((attempt) => scoreOf(attempt, by)).filter((score) => score !== undefined);
  return scores.length === 0 ? undefined : scores.reduce((sum, score) => sum + score, 0) / scores.length;
}

function meansOf({ cells }: Row, by: Scoring): readonly number[] {
  return [...cells.values()].map((attempts) => meanOf(attempts, by)).filter((mean) => mean !== undefined);
}

/** The worst mean of a row, from 0 to 1; where something failed, below all others. */
function worst(row: Row, by: Scoring): number {
  const { range } = by;
  const hasFailed = [...row.cells.values()].flat().some(({ status }) => status === "failed");
  const means = range === undefined ? [] : meansOf(row, by).map((mean) => (mean - range[0]) / (range[1] - range[0]));
  return Math.min(1, ...means) - (hasFailed ? 1 : 0);
}

function fits(row: Row, by: Scoring, status: string, differ: number): boolean {
  if (status !== "" && ![...row.cells.values()].flat().some((attempt) => attempt.status === status)) return false;
  const means = meansOf(row, by);
  return differ <= 0 || (means.length > 1 && Math.max(...means) - Math.min(...means) >= differ);
}

function signed(value: number): string {
  return `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(2)}`;
}

// Results of an eval: its rows and variants, failures first.
import type { AttemptView, EvalView, Interval } from "@proviso/viewer";
import { useEffect, useMemo, useState } from "preact/hooks";
import { get } from "./api.ts";
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

/** Rows that are in the document at once. */
const mostRows = 300;

export function Matrix({ id, query }: { readonly id: string; readonly query: URLSearchParams }) {
  const [loaded, setLoaded] = useState<Loaded | undefined>(undefined);
  const [selected, select] = useState(0);
  const fault = useLoading(async (signal) => setLoaded(await get(`eval/${encodeURIComponent(id)}`, signal)), [id]);
  const { report, attempts = [] } = loaded ?? {};
  const scorers = useMemo(
    () => [...new Set(attempts.flatMap(({ scores }) => Object.keys(scores)))].toSorted(),
    [attempts],
  );
  const scorer = query.get("scorer") ?? scorers[0] ?? "";
  const status = query.get("status") ?? "";
  const differ = Number(query.get("differ") ?? "");
  const isInOrder = query.get("order") === "rows";
  const rows = useMemo(() => rowsOf(attempts), [attempts]);
  const shown = useMemo(() => {
    const fitting = rows.filter((row) => fits(row, scorer, status, differ));
    return isInOrder ? fitting : fitting.toSorted((a, b) => worst(a, scorer) - worst(b, scorer));
  }, [rows, scorer, status, differ, isInOrder]);
  useEffect(() => {
    document.title = `${oneLine(report?.name ?? id)} · Proviso`;
  }, [report?.name, id]);
  const at = Math.min(selected, shown.length - 1);
  const first = [...(shown[at]?.cells.values() ?? [])].flat().find(({ runIds }) => runIds.length > 0)?.runIds[0];
  const nextFailed = shown.findIndex((row, place) => place > at && worst(row, scorer) < 1);
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
                <Cell key={variant} attempts={row.cells.get(variant) ?? []} scorer={scorer} />
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
  readonly score: Interval | undefined;
  readonly difference: Interval | undefined;
  readonly gates: EvalView["gates"];
}) {
  const { name, score, difference, gates } = props;
  return (
    <>
      <b>{oneLine(name)}</b> {score !== undefined && <Whiskers of={score} />}
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

/** A value with its interval, on the scale from 0 to 1 or as far as it reaches. */
function Whiskers({ of }: { readonly of: Interval }) {
  const { value, low, high, confidence } = of;
  const [from, until] = [Math.min(0, low), Math.max(1, high)];
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
function Cell({ attempts, scorer }: { readonly attempts: readonly AttemptView[]; readonly scorer: string }) {
  const isGood = attempts.length > 0 && attempts.every((attempt) => scoreOf(attempt, scorer) === 1);
  const hasEnded = attempts.some(({ status }) => status !== "pending");
  return (
    <td>
      {hasEnded && <span class={isGood ? "good" : "bad"}>{isGood ? "✓ " : "✗ "}</span>}
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

/** undefined: it has none. A failed attempt has the least. */
function scoreOf({ status, scores }: AttemptView, scorer: string): number | undefined {
  if (status === "failed") return 0;
  const score = own(scores, scorer);
  return score !== undefined && "value" in score ? score.value : undefined;
}

/** The mean score of a cell. */
function meanOf(attempts: readonly AttemptView[], scorer: string): number | undefined {
  const scores = attempts.map((attempt) => scoreOf(attempt, scorer)).filter((score) => score !== undefined);
  return scores.length === 0 ? undefined : scores.reduce((sum, score) => sum + score, 0) / scores.length;
}

function meansOf({ cells }: Row, scorer: string): readonly number[] {
  return [...cells.values()].map((attempts) => meanOf(attempts, scorer)).filter((mean) => mean !== undefined);
}

/** The least mean of a row; where something failed, below all others. */
function worst(row: Row, scorer: string): number {
  const hasFailed = [...row.cells.values()].flat().some(({ status }) => status === "failed");
  return Math.min(1, ...meansOf(row, scorer)) - (hasFailed ? 1 : 0);
}

function fits(row: Row, scorer: string, status: string, differ: number): boolean {
  if (status !== "" && ![...row.cells.values()].flat().some((attempt) => attempt.status === status)) return false;
  const means = meansOf(row, scorer);
  return differ <= 0 || (means.length > 1 && Math.max(...means) - Math.min(...means) >= differ);
}

function signed(value: number): string {
  return `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(2)}`;
}

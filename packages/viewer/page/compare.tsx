import type { RunRecord, RunSummary } from "@proviso/core";
import type { RunComparison, RunRow } from "@proviso/viewer/runs";
import { diffWordsWithSpace } from "diff";
import { useEffect, useState } from "preact/hooks";
import { get, pathOf, pathTo, type Part } from "./api.ts";
import { Fault, useLoading } from "./parts.tsx";
import { hrefOf } from "./route.ts";
import { clockTime, count, duration, oneLine, pretty, visible } from "./shown.ts";

interface Compared extends RunComparison {
  readonly runs: { readonly a: RunSummary; readonly b: RunSummary };
  readonly begunBy: { readonly a?: string; readonly b?: string };
}

const whats: Readonly<Record<NonNullable<RunComparison["parted"]>["what"], string>> = {
  prompt: "the prompt",
  params: "the params",
  answer: "an answer",
  call: "a call",
  result: "the result of a call",
  end: "the end",
  length: "one has more steps",
};

/** Steps that are in the document at once. */
const mostSteps = 2_000;

/** Two runs side by side: equal steps are folded, the first that differs is in view. */
export function Compare({ query }: { readonly query: URLSearchParams }) {
  const [a, b] = [query.get("a") ?? "", query.get("b") ?? ""];
  const [compared, setCompared] = useState<Compared | undefined>(undefined);
  const [isOpen, open] = useState(false);
  const fault = useLoading(async (signal) => setCompared(await get(pathOf("compare", { a, b }), signal)), [a, b]);
  useEffect(() => void (document.title = "Compare · Proviso"), []);
  useEffect(() => document.querySelector(".first")?.scrollIntoView({ block: "center" }), [compared]);
  if (compared === undefined)
    return (
      <main class="compare">
        <Fault of={fault} />
      </main>
    );
  const { parted, steps, usage, runs, begunBy } = compared;
  const same = parted?.at ?? steps.length;
  const folded = isOpen ? 0 : same;
  // The first step that differs is among them, and what stands before it.
  const from = Math.max(folded, Math.min((parted?.at ?? 0) - mostSteps / 2, steps.length - mostSteps));
  const shown = steps.slice(from, from + mostSteps);
  const more =
    usage.a.totalTokens === 0 ? 0 : (100 * (usage.b.totalTokens - usage.a.totalTokens)) / usage.a.totalTokens;
  return (
    <main class="compare">
      <header>
        <a href={hrefOf("runs")}>‹ Runs</a>
        <h1>Compare</h1>
        <RunName run={runs.a} /> ⇄ <RunName run={runs.b} />
        <span>
          tokens {count(usage.a.totalTokens)} ⇄ {count(usage.b.totalTokens)} ({more >= 0 ? "+" : "−"}
          {Math.abs(more).toFixed(0)} %)
        </span>
        <span>
          took {tookOf(runs.a)} ⇄ {tookOf(runs.b)}
        </span>
      </header>
      <p class="folded" role="status">
        {parted === undefined
          ? `All ${steps.length} steps are the same.`
          : `Same for ${same} steps. They part at step ${parted.at + 1}: ${whats[parted.what]}.`}{" "}
        {same > 0 && (
          <button aria-expanded={isOpen} onClick={() => open(!isOpen)}>
            {isOpen ? "fold equal steps" : `show ${same} equal steps`}
          </button>
        )}
      </p>
      {shown.length < steps.length - folded && (
        <p class="note">
          Steps {count(from + 1)} to {count(from + shown.length)} of {count(steps.length)} are shown.
        </p>
      )}
      <div class="side-by-side" role="table" aria-label="Steps">
        {shown.map((step, n) => {
          const place = from + n;
          const isFirst = place === parted?.at;
          return (
            <div key={place} class={`pair${step.same ? "" : " differs"}${isFirst ? " first-pair" : ""}`} role="row">
              <Cell row={step.a} other={step.b} isFirst={isFirst} />
              <Cell row={step.b} other={step.a} isFirst={false} />
            </div>
          );
        })}
      </div>
      {parted !== undefined && steps[parted.at] !== undefined && (
        <Difference
          a={{ id: a, begunBy: begunBy.a }}
          b={{ id: b, begunBy: begunBy.b }}
          rows={steps[parted.at] as Compared["steps"][number]}
          what={parted.what}
        />
      )}
    </main>
  );
}

function RunName({ run }: { readonly run: RunSummary }) {
  return (
    <a href={hrefOf({ run: run.runId })}>
      {clockTime(run.startedAt)} {oneLine(run.runId)}
    </a>
  );
}

function tookOf({ startedAt, endedAt }: RunSummary): string {
  return endedAt === undefined ? "…" : duration(endedAt - startedAt);
}

function Cell(props: {
  readonly row: RunRow | undefined;
  readonly other: RunRow | undefined;
  readonly isFirst: boolean;
}) {
  const { row, other, isFirst } = props;
  if (row === undefined) return <div class="cell none" role="cell" />;
  const { kind, status, title } = row;
  const isCode = kind === "call" || kind === "app";
  return (
    <div class={`cell ${status}${isFirst ? " first" : ""}`} role="cell" title={oneLine(title)}>
      <small class="kind">
        {isFirst && "▶ "}
        {kind === "turn" ? `turn ${row.turn}` : kind}
      </small>
      <span class={`step${isCode ? " code" : ""}${status === "undone" ? " undone-text" : ""}`}>{oneLine(title)}</span>
      {status !== "done" && <span class="word">{status === "not-run" ? "not run" : status}</span>}
      {other === undefined && <small>only here</small>}
    </div>
  );
}

/** The texts of the step at which they part, as a diff. */
function Difference(props: {
  readonly a: Part;
  readonly b: Part;
  readonly rows: Compared["steps"][number];
  readonly what: NonNullable<RunComparison["parted"]>["what"];
}) {
  const { a, b, rows, what } = props;
  const [texts, setTexts] = useState<readonly [string, string] | undefined>(undefined);
  const fault = useLoading(
    async (signal) => setTexts([await textOf(a, rows.a, what, signal), await textOf(b, rows.b, what, signal)]),
    [a.id, a.begunBy, b.id, b.begunBy],
  );
  if (texts === undefined) return <Fault of={fault} />;
  const [before, after] = texts;
  const isLong = before.length + after.length > 100_000;
  return (
    <section class="texts" aria-label="What differs">
      <h2>What differs</h2>
      <pre>
        {isLong ? (
          <>
            <del>{visible(before.slice(0, 20_000))}</del>
            <ins>{visible(after.slice(0, 20_000))}</ins>
          </>
        ) : (
          diffWordsWithSpace(before, after).map(({ value, added, removed }, place) =>
            added ? (
              <ins key={place}>{visible(value)}</ins>
            ) : removed ? (
              <del key={place}>{visible(value)}</del>
            ) : (
              <span key={place}>{visible(value)}</span>
            ),
          )
        )}
      </pre>
    </section>
  );
}

async function textOf(of: Part, row: RunRow | undefined, what: string, signal: AbortSignal): Promise<string> {
  if (row === undefined) return "";
  const records = [
    ...(await get<readonly RunRecord[]>(pathTo(of, "records", { from: row.from, until: row.from }), signal)),
    ...(await get<readonly RunRecord[]>(pathTo(of, "records", { from: row.until, until: row.until }), signal)),
  ];
  for (const record of records.toReversed()) {
    if (record.kind !== "event") continue;
    const { event } = record;
    if (event.type === "prompt.rendered") return what === "params" ? pretty(event.params) : event.text;
    if (event.type === "provider.responded") return event.text;
    if (event.type === "tool.invoked")
      return what === "call" ? pretty(event.params) : event.result.message || pretty(event.result);
    if (event.type === "prompt.executed") return pretty(event.output);
    if (event.type === "prompt.failed") return `${event.code}: ${event.message}`;
  }
  return row.title;
}

import type { RunSummary } from "@proviso/core";
import type { RunLimits, RunRow } from "@proviso/viewer/runs";
import { useEffect, useMemo, useState } from "preact/hooks";
import { get, pathTo, type Part } from "./api.ts";
import { Bar, Fault, Live, Status } from "./parts.tsx";
import { Prompts, Raw, StateAfter, Tokens } from "./tabs.tsx";
import { go, hrefOf, useKeys } from "./route.ts";
import { Detail } from "./detail.tsx";
import { Rows, type Placed } from "./rows.tsx";
import { useRun } from "./run-rows.ts";
import { costOf, count, dollars, duration, oneLine } from "./shown.ts";

const tabs = ["Transcript", "Prompt", "State", "Tokens", "Raw"] as const;
type Tab = (typeof tabs)[number];
const filters = ["failed", "undone", "waits"] as const;

/** A run: its rows, the selected one beside them, the limits at that moment. */
export function Run({ id, query }: { readonly id: string; readonly query: URLSearchParams }) {
  const { run, rows, begunBy, isLive, fault } = useRun(id);
  const own = useMemo((): Part => ({ id, begunBy }), [id, begunBy]);
  const [isFollowing, follow] = useState(false);
  const [limits, setLimits] = useState<{ readonly of: RunLimits; readonly own: Part } | undefined>(undefined);

  const tab: Tab = tabs.find((name) => name.toLowerCase() === query.get("tab")) ?? "Transcript";
  const wanted = (Number(query.get("row")) || 1) - 1;
  const selected = Math.max(0, Math.min(isFollowing ? rows.length - 1 : wanted, rows.length - 1));
  const row = rows[selected];
  const only = query.get("only") ?? "";
  const text = query.get("text") ?? "";
  const tool = query.get("tool") ?? "";
  const placed = useMemo(() => shownRows(rows, only, text, tool), [rows, only, text, tool]);
  const span = useMemo(() => spanOf(rows), [rows]);
  const tools = useMemo(() => [...new Set(rows.filter(({ kind }) => kind === "call").map(toolOf))].toSorted(), [rows]);
  const change = (more: Readonly<Record<string, string | number | undefined>>): void =>
    go(hrefOf({ run: id }, { ...Object.fromEntries(query), ...more }), true);
  const select = (place: number): void => {
    follow(false);
    change({ row: place + 1 });
  };
  useEffect(() => {
    document.title = `${oneLine(run?.promptName ?? id)} · Proviso`;
  }, [run?.promptName, id]);
  const until = row?.until;
  useEffect(() => {
    if (until === undefined) return;
    const ending = new AbortController();
    const loading = get<RunLimits>(pathTo(own, "limits", { n: until }), ending.signal);
    loading.then((of) => setLimits({ of, own })).catch(() => {});
    return () => ending.abort();
  }, [own, until]);

  const step = (by: number): void => {
    const at = placed.findIndex(({ place }) => place === selected);
    const next = placed[at === -1 ? 0 : Math.max(0, Math.min(placed.length - 1, at + by))];
    if (next !== undefined) select(next.place);
  };
  const jump = (fits: (row: RunRow) => boolean): void => {
    const next =
      placed.find((each) => each.place > selected && fits(each.row)) ?? placed.find((each) => fits(each.row));
    if (next !== undefined) select(next.place);
  };
  useKeys({
    j: () => step(1),
    k: () => step(-1),
    ArrowDown: () => step(1),
    ArrowUp: () => step(-1),
    g: () => step(Infinity),
    u: () => jump(({ status }) => status === "undone"),
    e: () => jump(({ status }) => status === "failed"),
  });
  const side = tab === "Transcript" ? row && <Detail key={row.from} own={own} row={row} /> : undefined;
  return (
    <main class="run">
      <header>
        <a href={hrefOf("runs")} aria-label="Back to all runs">
          ‹ Runs
        </a>
        <h1>{oneLine(run?.promptName ?? id)}</h1>
        {run !== undefined && <Facts run={run} />}
        <Limits of={limits?.own === own ? limits.of : undefined} />
        <Live isLive={isLive} />
      </header>
      <Fault of={fault} />
      <div class="bar">
        <div role="tablist" aria-label="Views">
          {tabs.map((name) => (
            <button
              key={name}
              role="tab"
              aria-selected={name === tab}
              onClick={() => change({ tab: name.toLowerCase() })}
            >
              {name}
            </button>
          ))}
        </div>
        <span class="gap" />
        <input
          type="search"
          placeholder="search rows  /"
          aria-label="Search rows"
          value={text}
          onInput={({ currentTarget }) => change({ text: currentTarget.value })}
        />
        {filters.map((name) => (
          <button key={name} aria-pressed={only === name} onClick={() => change({ only: only === name ? "" : name })}>
            {name}
          </button>
        ))}
        <select aria-label="tool" value={tool} onChange={({ currentTarget }) => change({ tool: currentTarget.value })}>
          <option value="">all tools</option>
          {tools.map((name) => (
            <option key={name} value={name}>
              {oneLine(name)}
            </option>
          ))}
        </select>
        <button aria-pressed={isFollowing} onClick={() => follow(!isFollowing)}>
          follow
        </button>
      </div>
      {tab === "Tokens" ? (
        <div class="wide">
          <Tokens rows={rows} />
        </div>
      ) : (
        <>
          <Rows
            rows={placed}
            selected={selected}
            isFollowing={isFollowing}
            span={span}
            onSelect={select}
            onLetGo={() => follow(false)}
          />
          {/* Nothing beside the rows of a run outlives it. */}
          <aside key={begunBy} class="side" aria-label={tab}>
            {side}
            {row !== undefined && tab === "Prompt" && (
              <Prompts own={own} n={row.until} evaluationId={row.evaluationId} />
            )}
            {row !== undefined && tab === "State" && <StateAfter own={own} row={row} place={selected} />}
            {row !== undefined && tab === "Raw" && <Raw own={own} row={row} />}
          </aside>
        </>
      )}
    </main>
  );
}

function Facts({ run }: { readonly run: RunSummary }) {
  const { model, status, startedAt, endedAt, usage, error, origin } = run;
  return (
    <>
      <span>{oneLine(model)}</span>
      <Status of={status} />
      {endedAt !== undefined && <span>{duration(endedAt - startedAt)}</span>}
      <span>{count(usage.totalTokens)} tokens</span>
      {usage.costUsd !== undefined && <span>$ {costOf(usage)}</span>}
      {error !== undefined && <span class="status failed">{oneLine(`${error.code}: ${error.message}`)}</span>}
      {origin !== undefined && (
        <a href={hrefOf("compare", { a: origin.runId, b: run.runId })}>
          {origin.kind} of {oneLine(origin.runId)}: compare
        </a>
      )}
    </>
  );
}

function Limits({ of }: { readonly of: RunLimits | undefined }) {
  if (of === undefined) return null;
  const { deadline, budget } = of;
  return (
    <div class="limits">
      {deadline !== undefined && (
        <Bar
          label="deadline"
          text={`${duration(deadline.leftMs)} of ${duration(deadline.totalMs)} left`}
          part={1 - deadline.leftMs / Math.max(1, deadline.totalMs)}
        />
      )}
      {budget.map(({ name, limit, spent }) => (
        <Bar
          key={name}
          label={
            name === "maxCostUsd"
              ? "dollars"
              : name
                  .replace(/^max|Tokens$/g, "")
                  .toLowerCase()
                  .concat(" tokens")
          }
          text={name === "maxCostUsd" ? `${dollars(spent)} of ${dollars(limit)}` : `${count(spent)} of ${count(limit)}`}
          part={spent / limit}
        />
      ))}
    </div>
  );
}

function shownRows(rows: readonly RunRow[], only: string, text: string, tool: string): readonly Placed[] {
  const wanted = text.toLowerCase();
  const placed: Placed[] = [];
  for (const [place, row] of rows.entries()) {
    const { kind, status } = row;
    if (only === "failed" && status !== "failed") continue;
    if (only === "undone" && status !== "undone") continue;
    if (only === "waits" && kind !== "wait") continue;
    if (tool !== "" && (kind !== "call" || toolOf(row) !== tool)) continue;
    if (wanted !== "" && !searched(row).includes(wanted)) continue;
    placed.push({ place, row });
  }
  return placed;
}

/** What of a row is searched: made once, for a search is typed letter by letter. */
const searchedTexts = new WeakMap<RunRow, string>();

function searched(row: RunRow): string {
  let text = searchedTexts.get(row);
  if (text === undefined) {
    const { kind, status, title, callId = "" } = row;
    text = `${kind} ${status} ${title} ${callId}`.toLowerCase();
    searchedTexts.set(row, text);
  }
  return text;
}

function toolOf({ title }: RunRow): string {
  return title.split(" ", 1)[0] ?? "";
}

function spanOf(rows: readonly RunRow[]): { readonly from: number; readonly until: number } {
  const from = rows[0]?.startedAt ?? 0;
  let until = from + 1;
  for (const { kind, startedAt, durationMs } of rows) {
    // The line of an end has the time of its whole evaluation.
    until = Math.max(until, kind === "end" ? startedAt : startedAt + (durationMs ?? 0));
  }
  return { from, until };
}

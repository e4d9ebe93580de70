import type { RunSummary } from "@proviso/core";
import type { EvalSummary } from "@proviso/viewer";
import { useEffect, useRef, useState } from "preact/hooks";
import { get, live, pathOf } from "./api.ts";
import { go, hrefOf, useKeys } from "./route.ts";
import { clockTime, costOf, count, duration, oneLine } from "./shown.ts";
import { Fault, Live, Status, useLoading } from "./parts.tsx";

interface Page {
  readonly runs: readonly RunSummary[];
  readonly cursor?: string | undefined;
}

const columns = ["started", "prompt", "model", "turns", "calls", "undone", "waits", "tokens", "$", "took", "status"];

/** The runs of the store: searched, newest first, live. */
export function Runs({ query }: { readonly query: URLSearchParams }) {
  const asked = {
    text: query.get("text") ?? "",
    status: query.get("status") ?? "",
    promptName: query.get("prompt") ?? "",
    model: query.get("model") ?? "",
    undone: query.get("undone") === "true" ? true : undefined,
    order: query.get("order") ?? "",
  };
  const path = pathOf("runs", asked);
  const [page, setPage] = useState<Page | undefined>(undefined);
  const [isLive, setLive] = useState(false);
  const [selected, select] = useState(0);
  const [marked, setMarked] = useState<readonly string[]>([]);
  const [begun, setBegun] = useState(0);
  const fault = useLoading(async (signal) => setPage(await get<Page>(path, signal)), [path, begun]);
  useEffect(() => select(0), [path]);
  const [evals, setEvals] = useState<readonly EvalSummary[]>([]);
  useLoading(async (signal) => setEvals(await get<readonly EvalSummary[]>("evals", signal)), []);
  const current = useRef(path);
  current.current = path;
  useEffect(
    () =>
      live<{ runs: readonly RunSummary[] }>(
        () => "follow",
        // A stream begins without any: what came before it is in the list.
        ({ runs }) =>
          runs.length === 0
            ? setBegun((now) => now + 1)
            : setPage((now) => merged(now, runs, current.current === "runs")),
        setLive,
      ),
    [],
  );
  useEffect(() => void (document.title = "Runs · Proviso"), []);

  const runs = page?.runs ?? [];
  const at = Math.min(selected, runs.length - 1);
  const filter = (name: string, value: string): void => {
    const next = new URLSearchParams(query);
    if (value === "") next.delete(name);
    else next.set(name, value);
    go(hrefOf("runs", Object.fromEntries(next)), true);
  };
  const mark = (): void => {
    const id = runs[at]?.runId;
    if (id === undefined) return;
    const next = marked.includes(id) ? marked.filter((other) => other !== id) : [...marked, id];
    if (next.length === 2) go(hrefOf("compare", { a: next[0], b: next[1] }));
    else setMarked(next);
  };
  useKeys({
    j: () => select(Math.min(at + 1, runs.length - 1)),
    k: () => select(Math.max(at - 1, 0)),
    g: () => select(runs.length - 1),
    u: () => select(nextOf(runs, at, ({ undone }) => undone > 0)),
    e: () => select(nextOf(runs, at, ({ status }) => status === "failed")),
    c: mark,
    Enter: () => runs[at] !== undefined && go(hrefOf({ run: runs[at].runId })),
  });
  useEffect(() => document.querySelector("tr[aria-selected=true]")?.scrollIntoView({ block: "nearest" }), [at]);
  const names = (of: "promptName" | "model"): readonly string[] => [...new Set(runs.map((run) => run[of]))].toSorted();
  const more = async (): Promise<void> => {
    const next = await get<Page>(pathOf("runs", { ...asked, cursor: page?.cursor }));
    // A run that was removed may be in the list again, as another one.
    const again = new Set(next.runs.map(({ runId }) => runId));
    setPage({ runs: [...runs.filter(({ runId }) => !again.has(runId)), ...next.runs], cursor: next.cursor });
  };
  return (
    <main class="runs">
      <header>
        <h1>Runs</h1>
        <input
          type="search"
          placeholder="search prompts, tools, errors, ids…  /"
          aria-label="Search"
          value={asked.text}
          onInput={({ currentTarget }) => filter("text", currentTarget.value)}
        />
        <Choice
          label="status"
          value={asked.status}
          of={["running", "executed", "failed", "suspended", "stopped"]}
          onChoose={filter}
        />
        <Choice label="prompt" value={asked.promptName} of={names("promptName")} onChoose={filter} />
        <Choice label="model" value={asked.model} of={names("model")} onChoose={filter} />
        <Choice
          label="order"
          value={asked.order}
          of={["oldest", "slowest", "costliest"]}
          none="newest"
          onChoose={filter}
        />
        <label>
          <input
            type="checkbox"
            checked={asked.undone === true}
            onChange={({ currentTarget }) => filter("undone", currentTarget.checked ? "true" : "")}
          />
          with undone
        </label>
        <Live isLive={isLive} />
      </header>
      <Fault of={fault} />
      {page !== undefined && runs.length === 0 && (
        <p class="empty">
          {path === "runs"
            ? "No run is recorded yet. One appears here as soon as it begins."
            : "No run fits the search."}
        </p>
      )}
      {runs.length > 0 && (
        <table class="list" aria-label="Runs">
          <thead>
            <tr>
              {columns.map((name, place) => (
                <th key={name} scope="col" class={place > 2 && place < 10 ? "number" : ""}>
                  {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {runs.map((run, place) => (
              <RunLine key={run.runId} run={run} isSelected={place === at} isMarked={marked.includes(run.runId)} />
            ))}
          </tbody>
        </table>
      )}
      <footer>
        {page?.cursor !== undefined && <button onClick={() => void more()}>more runs</button>}
        <span>
          {marked.length === 0 ? "c marks a run to compare" : "one run is marked: c on another one compares them"}
        </span>
        {evals.map(({ runId, name, rows, variants }) => (
          <a key={runId} href={hrefOf({ eval: runId })}>
            Eval {oneLine(name)}: {rows} rows × {variants.length} variants
          </a>
        ))}
        <span>? keys</span>
      </footer>
    </main>
  );
}

function RunLine({ run, isSelected, isMarked }: { run: RunSummary; isSelected: boolean; isMarked: boolean }) {
  const { runId, startedAt, endedAt, promptName, model, turns, toolCalls, undone, waits, usage, status, error } = run;
  return (
    <tr aria-selected={isSelected} class={isMarked ? "marked" : ""} onClick={() => go(hrefOf({ run: runId }))}>
      <td class="time">{clockTime(startedAt)}</td>
      <td>
        <a href={hrefOf({ run: runId })} onClick={(event) => event.stopPropagation()}>
          {oneLine(promptName)}
        </a>{" "}
        <small>{oneLine(runId)}</small>
      </td>
      <td>{oneLine(model)}</td>
      <td class="number">{turns}</td>
      <td class="number">{toolCalls}</td>
      <td class={undone > 0 ? "number undone-count" : "number"}>{undone}</td>
      <td class="number">{waits}</td>
      <td class="number">{count(usage.totalTokens)}</td>
      <td class="number">{costOf(usage)}</td>
      <td class="number">{endedAt === undefined ? "" : duration(endedAt - startedAt)}</td>
      <td>
        <Status of={status} /> {error !== undefined && <small>{oneLine(error.code)}</small>}
      </td>
    </tr>
  );
}

function Choice(props: {
  readonly label: string;
  readonly value: string;
  readonly of: readonly string[];
  readonly none?: string;
  readonly onChoose: (label: string, value: string) => void;
}) {
  const { label, value, of, none = label, onChoose } = props;
  const all = of.includes(value) || value === "" ? of : [value, ...of];
  return (
    <select aria-label={label} value={value} onChange={({ currentTarget }) => onChoose(label, currentTarget.value)}>
      <option value="">{none}</option>
      {all.map((each) => (
        <option key={each} value={each}>
          {oneLine(each)}
        </option>
      ))}
    </select>
  );
}

/**
 * Puts summaries that changed in their places; new runs come first where nothing is searched for, those that have the id of
 * one that was removed too.
 */
function merged(now: Page | undefined, changed: readonly RunSummary[], isAll: boolean): Page | undefined {
  if (now === undefined) return now;
  const byId = new Map(changed.map((run) => [run.runId, run]));
  const isShown = ({ runId, startedAt }: RunSummary): boolean =>
    (byId.get(runId)?.startedAt ?? startedAt) === startedAt;
  const shown = now.runs.filter(isShown);
  const known = new Set(shown.map(({ runId }) => runId));
  const fresh = isAll ? changed.filter(({ runId }) => !known.has(runId)) : [];
  const runs = [...fresh, ...shown.map((run) => byId.get(run.runId) ?? run)];
  return { ...now, runs };
}

function nextOf(runs: readonly RunSummary[], at: number, fits: (run: RunSummary) => boolean): number {
  const after = runs.findIndex((run, place) => place > at && fits(run));
  const first = after === -1 ? runs.findIndex(fits) : after;
  return first === -1 ? at : first;
}

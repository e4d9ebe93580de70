// What a run's page shows: the summary and the rows of one run. Another one that has its id by now is shown anew.
import type { RunSummary } from "@proviso/core";
import type { RunRow } from "@proviso/viewer/runs";
import { useEffect, useState } from "preact/hooks";
import { get, live, pathOf, pathTo, type Part } from "./api.ts";
import { useLoading } from "./parts.tsx";

/** What rows are of, as the server has it. */
interface RowsOf {
  readonly begunBy?: string | undefined;
  readonly version: number;
}
interface RowPage extends RowsOf {
  readonly rows: readonly RunRow[];
  readonly total: number;
  readonly last: number;
  /** It stands with the first rows. */
  readonly run?: RunSummary | undefined;
}
interface News extends RowsOf {
  readonly rows: readonly (readonly [number, RunRow])[];
  readonly last: number;
  readonly run?: RunSummary | undefined;
}

interface Loaded extends RowsOf {
  readonly run: RunSummary | undefined;
  readonly rows: readonly RunRow[];
  /** The last record behind the first rows: what came since is followed. */
  readonly last: number;
  /** Whether all rows are there, so that the run can be followed. */
  readonly isWhole: boolean;
}

/** Rows of the first page; the others come behind it. */
const firstRows = 500;
const nothing: Loaded = { version: -1, run: undefined, rows: [], last: -1, isWhole: false };

/** Loads a run and follows it. */
export function useRun(id: string) {
  const [loaded, setLoaded] = useState(nothing);
  const [isLive, setLive] = useState(false);
  const [anew, setAnew] = useState(0);
  const { run, rows, begunBy, version, last: since, isWhole } = loaded;
  const fault = useLoading(
    async (signal) => {
      await load(id, signal, setLoaded).catch((error: unknown) => {
        // The run that is shown is not there any more, and another one may begin.
        if (!signal.aborted) setLoaded((now) => ({ ...now, isWhole: now !== nothing }));
        throw error;
      });
    },
    [id, anew],
  );
  useEffect(() => {
    if (!isWhole) return;
    let last = since;
    const heed = (news: News): void => {
      if (!isSame(news, { begunBy, version })) {
        setLoaded((now) => ({ ...now, isWhole: false }));
        return setAnew((now) => now + 1);
      }
      ({ last } = news);
      setLoaded((now) => (isSame(now, news) ? withNews(now, news) : now));
    };
    return live<News>(() => pathOf("follow", { run: id, after: last, begunBy, version }), heed, setLive);
  }, [id, isWhole, begunBy, version]);
  return { run, rows, begunBy, isLive, fault };
}

/** Shows the first rows as soon as they are there. Where another run takes the id meanwhile, all begins again. */
async function load(id: string, signal: AbortSignal, show: (loaded: Loaded) => void): Promise<void> {
  const whole: Part = { id };
  for (;;) {
    const first = await get<RowPage>(pathTo(whole, "rows", { from: 0, limit: firstRows }), signal);
    const { run, begunBy, version, last } = first;
    let page = first;
    let rows = first.rows;
    while (isSame(page, first) && page.rows.length > 0 && rows.length < page.total) {
      show({ run, begunBy, version, last, rows, isWhole: false });
      page = await get<RowPage>(pathTo(whole, "rows", { from: rows.length }), signal);
      if (isSame(page, first)) rows = [...rows, ...page.rows];
    }
    if (isSame(page, first)) return show({ run, begunBy, version, last, rows, isWhole: true });
  }
}

function isSame(one: RowsOf, other: RowsOf): boolean {
  return one.begunBy === other.begunBy && one.version === other.version;
}

function withNews(now: Loaded, { run = now.run, rows: changed }: News): Loaded {
  const rows = [...now.rows];
  for (const [place, row] of changed) rows[place] = row;
  return { ...now, run, rows };
}

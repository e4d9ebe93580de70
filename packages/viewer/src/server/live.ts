// Live streams of the page: what changed, as server-sent events.
import type { RunReader } from "@proviso/core";
import type { Clock } from "@proviso/core";
import { isOtherRun } from "@proviso/journal/internal";
import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { headers } from "./guard.ts";
import { rowKinds, type RowsOf, type RunView, type RunViews } from "./run-views.ts";

/** Milliseconds that records are gathered for one message. */
const gatherMs = 50;
/** Milliseconds after which a stream without news says that it lives. */
const aliveMs = 15_000;

/** A message, and whether the stream ends with it. */
interface Message {
  readonly data: object;
  readonly isLast?: boolean;
}

/**
 * Sends the rows of a run that change, until the page leaves or the viewer is closed. Where the rows of the page do not hold
 * any more, one message without rows says what there is, and is the last one: the page begins again.
 */
export async function streamRun(
  response: ServerResponse,
  of: {
    readonly reader: RunReader;
    readonly views: RunViews;
    readonly clock: Clock;
    readonly runId: string;
    /** The number of the last record that the page shows. */
    readonly after: number;
    /** What the page shows; undefined: what there is now. */
    readonly shown: RowsOf | undefined;
    readonly signal: AbortSignal;
  },
): Promise<void> {
  const { reader, views, clock, runId, after, signal } = of;
  const first = await views.of(runId);
  let shown: RowsOf = of.shown ?? { begunBy: first.begunBy, version: first.version };
  let last = holds(shown, first) ? after : -1;
  const news = reader.follow({ runId, after: last, signal, kinds: rowKinds });
  await sending(response, { news, clock, signal }, async (isFirst): Promise<Message | undefined> => {
    const { begunBy, version, ...view } = viewed(await views.of(runId), last);
    const other = { data: { ...view, rows: [], begunBy, version }, isLast: true };
    // A page is left with what it shows of a run that is removed until there is another one.
    if (!holds(shown, { begunBy, version })) return isFirst && view.last < 0 ? undefined : other;
    if (view.last <= last) return undefined;
    const run = await views.summary(runId);
    if ((await views.begunBy(runId)) !== begunBy) return { ...other, data: { ...other.data, begunBy: undefined } };
    [last, shown] = [view.last, { begunBy, version }];
    return { data: { ...view, begunBy, version, run } };
  });
}

/** Whether rows that were shown are part of those that there are now. Of a run that had not begun nothing was shown. */
function holds(shown: RowsOf, now: RowsOf): boolean {
  return !isOtherRun(shown.begunBy, now.begunBy) && shown.version === now.version;
}

/** The rows of a view that changed since they ended with a record, as they are now. */
function viewed(view: RunView, since: number) {
  const { last, begunBy, version, rows } = view;
  return { rows: view.changedSince(since), total: rows.length, last, begunBy, version };
}

/**
 * Sends the summaries of runs that change. The first message has none: a page reads its list again with it, as a run that
 * began after the list was read and before the follower looked for the first time is no news of it.
 */
export async function streamRuns(
  response: ServerResponse,
  of: { readonly reader: RunReader; readonly views: RunViews; readonly clock: Clock; readonly signal: AbortSignal },
): Promise<void> {
  const { reader, views, clock, signal } = of;
  const changed = new Set<string>();
  const news = reader.follow({ after: Number.MAX_SAFE_INTEGER, signal, kinds: rowKinds });
  const noting = (async function* () {
    for await (const record of news) {
      changed.add(record.runId);
      yield record;
    }
  })();
  await sending(response, { news: noting, clock, signal }, async (isFirst) => {
    if (isFirst) {
      // The follower has begun to look before.
      await reader.list({ limit: 1 });
      return { data: { runs: [] } };
    }
    const ids = [...changed];
    if (ids.length === 0) return undefined;
    changed.clear();
    const runs = await Promise.all(ids.map((id) => views.summary(id)));
    return { data: { runs: runs.filter((run) => run !== undefined) } };
  });
}

async function sending(
  response: ServerResponse,
  {
    news,
    clock,
    signal,
  }: { readonly news: AsyncIterable<unknown>; readonly clock: Clock; readonly signal: AbortSignal },
  message: (isFirst: boolean) => Promise<Message | undefined>,
): Promise<void> {
  response.writeHead(200, { ...headers, "Content-Type": "text/event-stream; charset=utf-8" });
  response.flushHeaders();
  const iterator = news[Symbol.asyncIterator]();
  const advance = (): Promise<string> => {
    const step = iterator.next().then(({ done }) => (done === true ? "over" : "news"));
    // A reader that fails is noticed when it is waited for.
    step.catch(() => {});
    return step;
  };
  let next = advance();
  // What came before the follower looked for the first time is no news of it.
  let sent = await message(true);
  const send = async (): Promise<void> => {
    if (sent !== undefined) await written(response, `data: ${JSON.stringify(sent.data)}\n\n`, signal);
  };
  await send();
  while (sent?.isLast !== true) {
    const waking = new AbortController();
    const alive = clock.sleep(aliveMs, waking.signal).then(
      () => "alive",
      () => "woken",
    );
    const what = await Promise.race([next, alive]);
    waking.abort();
    if (signal.aborted) break;
    if (what === "alive") {
      await written(response, ": alive\n\n", signal);
      continue;
    }
    const endsAt = clock.now() + gatherMs;
    const gathered = clock.sleep(gatherMs, signal).catch(() => {});
    if (what === "over") next = new Promise(() => {});
    for (let came: string | void = what; came === "news";) {
      next = advance();
      // A run may write more records than messages can be sent: one message has all that come in its time.
      came = clock.now() < endsAt ? await Promise.race([next, gathered]) : undefined;
    }
    await gathered;
    sent = await message(false);
    await send();
    if (what === "news") continue;
    // The run was removed: a page that connects again receives what has its id now.
    if (sent !== undefined) break;
    await written(response, ": alive\n\n", signal);
  }
  response.end();
}

/** A page that reads slowly is waited for. */
async function written(response: ServerResponse, text: string, signal: AbortSignal): Promise<void> {
  if (response.write(text) || response.destroyed) return;
  await once(response, "drain", { signal }).catch(() => {});
}

// Live streams of the page: what changed, as server-sent events.
import type { RunReader } from "@proviso/core";
import type { Clock } from "@proviso/core";
import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { headers } from "./guard.ts";
import { rowKinds, type RunViews } from "./run-views.ts";

/** Milliseconds that records are gathered for one message. */
const gatherMs = 50;
/** Milliseconds after which a stream without news says that it lives. */
const aliveMs = 15_000;

/** Sends the rows of a run that change, until the page leaves or the viewer is closed. */
export async function streamRun(
  response: ServerResponse,
  of: {
    readonly reader: RunReader;
    readonly views: RunViews;
    readonly clock: Clock;
    readonly runId: string;
    readonly after: number;
    readonly signal: AbortSignal;
  },
): Promise<void> {
  const { reader, views, clock, runId, after, signal } = of;
  let shown = after;
  let { version } = await views.of(runId);
  const news = reader.follow({ runId, after, signal, kinds: rowKinds });
  await sending(response, { news, clock, signal }, async () => {
    const view = await views.of(runId);
    if (view.last <= shown && view.version === version) return undefined;
    ({ version } = view);
    const rows = view.changedSince(shown);
    shown = view.last;
    return { rows, total: view.rows.length, last: view.last, version: view.version, run: await views.summary(runId) };
  });
}

/** Sends the summaries of runs that change. */
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
  await sending(response, { news: noting, clock, signal }, async () => {
    const ids = [...changed];
    if (ids.length === 0) return undefined;
    changed.clear();
    const runs = await Promise.all(ids.map((id) => views.summary(id)));
    return { runs: runs.filter((run) => run !== undefined) };
  });
}

async function sending(
  response: ServerResponse,
  {
    news,
    clock,
    signal,
  }: { readonly news: AsyncIterable<unknown>; readonly clock: Clock; readonly signal: AbortSignal },
  message: () => Promise<object | undefined>,
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
  for (;;) {
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
    await clock.sleep(gatherMs, signal).catch(() => {});
    next = what === "news" ? advance() : new Promise(() => {});
    const sent = await message();
    if (sent !== undefined) await written(response, `data: ${JSON.stringify(sent)}\n\n`, signal);
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

// A run is removed, and another one begins under its id, while something is read of it: what is answered is of one of them.
import { definePrompt, type RunReader } from "@proviso/core";
import { createJournal, memoryJournal, type Journal } from "@proviso/journal";
import { memoryStore } from "@proviso/journal/internal";
import { modelAdapter } from "@proviso/runtime";
import { scriptedModel, type ScriptedStep } from "@proviso/runtime/testing";
import { journalRuns } from "@proviso/viewer";
import { beforeAll, expect, it, onTestFinished } from "vitest";
import { buildPage } from "../../../scripts/page.ts";
import { opened, viewed } from "./viewer-support.ts";

beforeAll(() => buildPage());

/** The second run of an id: shorter than the first one, and failed. */
async function begin(journal: Journal, id: string, key = "second"): Promise<void> {
  const failing: ScriptedStep = { failure: "provider", reason: "bad_request", message: "Not today." };
  const prompt = definePrompt({ ns: "app", key, text: "Do it again." });
  await modelAdapter(scriptedModel([failing]))
    .evaluate(prompt.bind(), { run: journal.run(id) })
    .catch(() => {});
}

async function replaced(journal: Journal, id: string): Promise<void> {
  await journal.remove(id);
  await begin(journal, id);
}

interface RowPage {
  readonly rows: readonly { readonly title: string }[];
  readonly total: number;
  readonly last: number;
  readonly begunBy: string;
  readonly version: number;
  readonly run?: { readonly promptName: string; readonly status: string };
}

/** A viewer over the run "first" and what asks it. `between` is what happens at the first call of a method of its reader. */
async function asking(between?: { readonly method: "summary" | "records"; work(journal: Journal): Promise<void> }) {
  const { reader, journal } = await viewed();
  let isDone = false;
  const once = async (method: string): Promise<void> => {
    if (isDone || between?.method !== method) return;
    isDone = true;
    await between.work(journal);
  };
  const watched: RunReader = {
    ...reader,
    async summary(id) {
      await once("summary");
      return reader.summary(id);
    },
    async *records(id, query) {
      yield* reader.records(id, query);
      await once("records");
    },
  };
  const viewer = await opened(watched);
  const headers = { authorization: `Bearer ${viewer.token}` };
  const ask = (path: string) => fetch(`http://127.0.0.1:${viewer.port}/api/${path}`, { headers });
  const get = async <T>(path: string): Promise<T> => (await (await ask(path)).json()) as T;
  return { journal, ask, get, rows: (query = "") => get<RowPage>(`run/first/rows${query}`) };
}

it.each(["of a journal of this package", "of another copy of the package"])(
  "VIEW-9 while runs are listed, another one takes the id of a listed one: what is listed is of that alone (%s)",
  async (kind) => {
    let isReplaced = false;
    const between = async (): Promise<void> => {
      if (isReplaced) return;
      isReplaced = true;
      await replaced(journal, "a");
    };
    const store = memoryStore();
    const listing = {
      ...store,
      async *list() {
        yield* store.list();
        await between();
      },
    };
    const journal = createJournal(listing);
    onTestFinished(() => journal.close());
    const prompt = definePrompt({ key: "one", text: "Do it." }).bind();
    await modelAdapter(scriptedModel([{ text: "First." }])).evaluate(prompt, { run: journal.run("a") });
    const reader = journalRuns(kind.includes("copy") ? { ...journal } : journal);
    const second = { promptName: "app/second", status: "failed", usage: { totalTokens: 0 } };
    expect((await reader.list()).runs).toMatchObject([
      { ...second, error: { message: expect.stringContaining("Not today.") } },
    ]);
    expect(isReplaced).toBe(true);
    // What the list had of the first one does not stand for the second.
    expect((await reader.list({ status: "executed" })).runs).toEqual([]);
    expect(await reader.summary("a")).toMatchObject(second);
  },
);

it("VIEW-9 a list that asks for what the removed run was does not have the one that took its id", async () => {
  const journal = memoryJournal();
  onTestFinished(() => journal.close());
  await begin(journal, "a", "first");
  let isReplaced = false;
  const reader = journalRuns({
    ...journal,
    async *list(filter) {
      yield* journal.list(filter);
      if (!isReplaced) await replaced(journal, "a");
      isReplaced = true;
    },
  });
  expect((await reader.list({ promptName: "app/first" })).runs).toEqual([]);
});

it("VIEW-9 the first rows and the summary beside them are of one run", async () => {
  const { rows } = await asking({ method: "summary", work: (journal) => replaced(journal, "first") });
  const page = await rows();
  expect(page.run).toMatchObject({ promptName: "app/second", status: "failed" });
  expect(page.rows.map(({ title }) => title).join()).not.toContain("list the files");
  expect(page.total).toBe(page.rows.length);
});

it("VIEW-9 each page of rows says which run it is of", async () => {
  const { rows, journal } = await asking();
  const [first, again] = [await rows("?limit=2"), await rows("?from=2&limit=2")];
  expect(first.begunBy).toMatch(/^[\w-]{22}$/u);
  expect([again.begunBy, again.version]).toEqual([first.begunBy, first.version]);
  await replaced(journal, "first");
  expect((await rows("?from=2")).begunBy).not.toBe(first.begunBy);
});

it("VIEW-9 a page that follows a run which was removed before it did so learns that at once, and is shown nothing of the next one", async () => {
  const { rows, ask, journal } = await asking();
  const { last, begunBy, version } = await rows();
  await replaced(journal, "first");
  const stream = await ask(`follow?run=first&after=${last}&begunBy=${begunBy}&version=${version}`);
  const news = JSON.parse((await stream.text()).replace("data: ", "")) as RowPage;
  expect(news).toMatchObject({ rows: [], begunBy: expect.any(String) });
  expect(news.begunBy).not.toBe(begunBy);
  // The same page again, of the run that is there: nothing is new.
  const now = await rows();
  const streamed = await ask(`follow?run=first&after=${now.last}&begunBy=${now.begunBy}&version=${now.version}`);
  const reading = streamed.body!.getReader();
  const quiet = new Promise((done) => setTimeout(() => done("quiet"), 400));
  expect(await Promise.race([reading.read().then(() => "news"), quiet])).toBe("quiet");
  await reading.cancel();
});

it("VIEW-9 a page that is left with a removed run receives the next one of its id when it begins", async () => {
  const { rows, ask, journal } = await asking();
  const { last, begunBy, version } = await rows();
  await journal.remove("first");
  const stream = await ask(`follow?run=first&after=${last}&begunBy=${begunBy}&version=${version}`);
  const text = stream.text();
  await begin(journal, "first");
  expect(JSON.parse((await text).replace("data: ", ""))).toMatchObject({ rows: [], begunBy: expect.any(String) });
});

it("VIEW-9 news of a run have the summary of no other one", async () => {
  const { rows, ask } = await asking({ method: "summary", work: (journal) => replaced(journal, "first") });
  // All rows are news to this page.
  const stream = await ask("follow?run=first&after=-1");
  const messages = (await stream.text()).split("\n\n").filter((part) => part.startsWith("data: "));
  for (const message of messages) {
    const { run, rows: shown } = JSON.parse(message.slice(6)) as RowPage;
    if (shown.length > 0) expect(run?.promptName).toBe("app/review");
  }
  expect(messages.length).toBeGreaterThan(0);
  expect((await rows()).run?.promptName).toBe("app/second");
});

it.each(["records?from=0&until=9", "limits?n=9", "state?n=9", "change?call=call_1&until=9", "prompt?n=9"])(
  "VIEW-9 a cut of a run that was removed is refused, and none of the next one stands for it: %s",
  async (path) => {
    const { rows, ask, journal } = await asking();
    const { begunBy } = await rows();
    const cut = `run/first/${path}&begunBy=${begunBy}`;
    expect((await ask(cut)).status).toBe(200);
    await replaced(journal, "first");
    const refused = await ask(cut);
    expect([refused.status, await refused.text()]).toEqual([409, 'The run "first" that is shown was removed.']);
    expect((await ask(`run/first/${path}&begunBy=${(await rows()).begunBy}`)).status).toBe(200);
    await journal.remove("first");
    expect((await ask(cut)).status).toBe(409);
  },
);

it("VIEW-9 VIEW-10 a comparison is of the runs that it names: one that is replaced while it is read is read again", async () => {
  const { get } = await asking({ method: "records", work: (journal) => replaced(journal, "first") });
  const compared = await get<{
    readonly runs: { readonly a: { readonly promptName: string } };
    readonly steps: readonly { readonly a?: { readonly title: string } }[];
    readonly begunBy: { readonly a: string; readonly b: string };
  }>("compare?a=first&b=second");
  expect(compared.runs.a.promptName).toBe("app/second");
  expect(compared.steps.map(({ a }) => a?.title ?? "").join()).not.toContain("list the files");
  expect(compared.begunBy.a).not.toBe(compared.begunBy.b);
});

it("VIEW-9 an id of dots is an id: its rows are asked for in the query", async () => {
  const { journal, get } = await asking();
  for (const id of [".", "..", "-", "%2e%2e", "a/../b", "?#&="]) {
    await begin(journal, id);
    const isDots = /^\.+$/u.test(id);
    const path = isDots ? `run/-/rows?id=${id}` : `run/${encodeURIComponent(id)}/rows`;
    expect((await get<RowPage>(path)).run, id).toMatchObject({ runId: id, promptName: "app/second" });
  }
});

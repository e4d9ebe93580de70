import { definePrompt } from "@proviso/core";
import { createJournal, type JournalStore } from "@proviso/journal";
import { frameSum, memoryStore, postgresStore } from "@proviso/journal/internal";
import { postgresJournal, type PostgresClient } from "@proviso/journal/postgres";
import { replay } from "@proviso/journal/testing";
import { modelAdapter } from "@proviso/runtime";
import { scriptedModel } from "@proviso/runtime/testing";
import { spawn } from "node:child_process";
import { EventEmitter, once } from "node:events";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, onTestFinished, test, vi } from "vitest";
import { fromSources } from "../../../scripts/from-sources.ts";
import { pglite } from "./pglite.ts";
import { noServer, startPostgres, type PostgresServer } from "./postgres-server.ts";
import { frame, framesOf, listed } from "./support.ts";

vi.setConfig({ testTimeout: 300_000, hookTimeout: 300_000 });

describe("PGlite, in process", () => {
  const client = pglite;

  test("JRN-7 RSM-1 RPL-1 a run is kept, answered again, replayed and listed", async () => {
    const prompt = definePrompt({ key: "greet", text: "Greet Ada." });
    const model = scriptedModel([{ text: "Hello, Ada. 😀" }]);
    const adapter = modelAdapter(model);
    const journal = postgresJournal(client, { prefix: "kept" });
    const first = await adapter.evaluate(prompt.bind(), { run: journal.run("a/1") });
    const again = await adapter.evaluate(prompt.bind(), { run: journal.run("a/1") });
    expect([first.text, again.text]).toEqual(["Hello, Ada. 😀", "Hello, Ada. 😀"]);
    expect(model.requests).toHaveLength(1);
    expect((await replay(prompt, journal.replay("a/1"))).response?.text).toBe("Hello, Ada. 😀");
    expect((await listed(journal.list())).map(({ id, state }) => `${id} ${state}`)).toEqual(["a/1 executed"]);
    await journal.remove("a/1");
    expect(await journal.describe("a/1")).toBeUndefined();
    await journal.close();
    // The client is the caller's.
    expect((await client.query("SELECT count(*)::int AS n FROM kept_frames")).rows).toEqual([{ n: 0 }]);
  });

  test("JRN-8 JST-9 tables of a newer version or of something else are left alone", async () => {
    await client.query("CREATE TABLE newer_runs (key int)");
    await client.query("COMMENT ON TABLE newer_runs IS 'proviso journal 2'");
    await client.query("CREATE TABLE other_runs (key int)");
    const opening = (prefix: string) => listed(postgresStore(client, { prefix }).list());
    await expect(opening("newer")).rejects.toMatchObject({ code: "journal", reason: "newer" });
    await expect(opening("other")).rejects.toMatchObject({ code: "journal", reason: "foreign" });
    const { rows } = await client.query("SELECT to_regclass('newer_frames') AS a, to_regclass('other_frames') AS b");
    expect(rows).toEqual([{ a: null, b: null }]);
  });

  test("JST-4 what is no client, no prefix or no option is refused; what a client throws is a JournalError", async () => {
    expect(() => postgresJournal({} as never)).toThrow("takes a client with query(text, values)");
    expect(() => postgresJournal(client, { prefix: "a;b" })).toThrow('small letters and "_"');
    expect(() => postgresJournal(client, { table: "x" } as never)).toThrow("table");
    const broken: PostgresClient = { query: () => Promise.reject(new Error("no such host")) };
    await expect(listed(postgresStore(broken).list())).rejects.toMatchObject({
      code: "journal",
      reason: "failed",
      message: "The journal in Postgres failed: no such host",
    });
  });

  test("JRN-7 a run that is removed while it is read is not found, and half of it is not copied", async () => {
    const store = postgresStore(client, { prefix: "half" });
    const frames = Array.from({ length: 70 }, (_, first) => frame({ first }));
    for (const one of frames) await store.append([one]);
    const reading = store.read("ada")[Symbol.asyncIterator]();
    await reading.next();
    await store.remove(["ada"]);
    const rest = async (): Promise<void> => {
      while ((await reading.next()).done !== true);
    };
    await expect(rest()).rejects.toMatchObject({ reason: "not_found" });
    for (const one of frames) await store.append([one]);
    const leaving: JournalStore = {
      ...store,
      async *read(run, from) {
        let count = 0;
        for await (const one of store.read(run, from)) {
          yield one;
          if (++count === 10) await store.remove([run]);
        }
      },
    };
    const target = createJournal(memoryStore());
    await expect(createJournal(leaving).copy("ada", target)).rejects.toMatchObject({ code: "journal" });
    expect(await listed(target.list())).toEqual([]);
  });

  test.each([
    { code: "ENOENT", message: "connect ENOENT /tmp/.s.PGSQL.5432" },
    { code: "ETIMEDOUT", message: "connect ETIMEDOUT" },
    { message: "Connection terminated" },
    { message: "Connection terminated due to connection timeout" },
    { message: "timeout exceeded when trying to connect" },
  ])("JST-9 what a restart of the server looks like passes: $message", async (given) => {
    let losses = 0;
    const away: PostgresClient = {
      async query(text, values) {
        if (losses++ < 3) throw Object.assign(new Error(given.message), given);
        const { rows } = await client.query(text, values);
        return { rows: rows as object[] };
      },
    };
    const store = postgresStore(away, { prefix: "away", clock: { now: () => 0, sleep: async () => {} } as never });
    expect(await listed(store.list())).toEqual([]);
  });

  test("JST-9 a client that emits the end of an idle connection ends no process, while the journal is open", async () => {
    class Pool extends EventEmitter {
      query = (text: string, values?: unknown[]) => client.query(text, values) as Promise<{ rows: object[] }>;
    }
    const pool = new Pool();
    const journal = postgresJournal(pool, { prefix: "idle" });
    expect(pool.emit("error", new Error("Connection terminated unexpectedly"))).toBe(true);
    await journal.close();
    expect(pool.listenerCount("error")).toBe(0);
  });

  test("JST-2 JST-9 a connection that is lost is tried again, and a frame that stands already is no conflict", async () => {
    let losses = 0;
    const waits: number[] = [];
    const shaky: PostgresClient = {
      async query(text, values) {
        const { rows } = await client.query(text, values);
        // The answer is lost, not what was done.
        if (text.includes("_append_2(") && text.startsWith("SELECT s") && losses++ < 2) {
          throw Object.assign(new Error("read ECONNRESET"), { code: "ECONNRESET" });
        }
        return { rows: rows as object[] };
      },
    };
    const clock = { now: () => 0, sleep: async (ms: number) => void waits.push(ms) };
    const store = postgresStore(shaky, { prefix: "shaky", clock: clock as never });
    expect(await store.append([frame({ first: 0 })])).toEqual(["kept"]);
    expect(waits).toEqual([50, 250]);
    expect(await framesOf(store, "ada")).toEqual([frame({ first: 0 })]);
  });

  test("JST-9 a statement whose connection is lost is sent again three times at most", async () => {
    const waits: number[] = [];
    let sent = 0;
    const away: PostgresClient = {
      async query() {
        sent += 1;
        throw Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" });
      },
    };
    const clock = { now: () => 0, sleep: async (ms: number) => void waits.push(ms) };
    const store = postgresStore(away, { clock: clock as never });
    await expect(store.append([frame({ first: 0 })])).rejects.toMatchObject({ code: "journal", reason: "failed" });
    expect([sent, waits]).toEqual([4, [50, 250, 1_000]]);
  });
});

describe.skipIf(noServer !== undefined)(`a real server ${noServer ?? ""}`, () => {
  let server: PostgresServer;
  beforeAll(async () => {
    server = await startPostgres();
  });
  afterAll(() => server[Symbol.asyncDispose]());

  test("JST-1 JST-9 writers side by side make the tables at once, lock each other out of no run, and mix nothing up", async () => {
    const stores = Array.from({ length: 6 }, () => postgresStore(server.pool(4)));
    const runs = Array.from({ length: 8 }, (_, at) => `run ${at}`);
    const kept = await Promise.all(
      stores.map(async (store, at) => {
        const own = new Set<string>();
        for (let turn = 0; turn < (inject("exhaustive") ? 40 : 12); turn++) {
          // Each writer takes the runs in another order, some of them in one call.
          const chosen = runs.filter((_, place) => (place * 7 + at * 3 + turn) % 3 !== 0);
          if (at % 2 === 1) chosen.reverse();
          const frames = await Promise.all(
            chosen.map(async (run) => {
              const first = (await framesOf(store, run)).length;
              const body = `${at} ${turn} ${run}`;
              return frame({ run, first, writer: `writer ${at}`, body, sum: frameSum({ run, first, body }) });
            }),
          );
          const came = await store.append(frames);
          for (const [place, each] of frames.entries()) if (came[place] === "kept") own.add(each.body);
        }
        return own;
      }),
    );
    const [reader = stores[0] as never] = stores;
    const found = (await Promise.all(runs.map((run) => framesOf(reader, run)))).flat();
    for (const run of runs) {
      const own = found.filter((each) => each.run === run).map(({ first }) => first);
      expect(own).toEqual(own.map((_, index) => index));
    }
    expect(new Set(found.map(({ body }) => body))).toEqual(new Set(kept.flatMap((own) => [...own])));
    expect(found.length).toBeGreaterThan(100);
  });

  test("JST-9 a server that ends connections loses nothing", async () => {
    const store = postgresStore(server.pool(2), { prefix: "ended" });
    const killer = server.pool(1);
    for (let first = 0; first < 20; first++) {
      const [came] = await Promise.all([
        store.append([frame({ first })]),
        killer.query(
          "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND query LIKE '%ended_append%'",
        ),
      ]);
      expect(came).toEqual(["kept"]);
    }
    expect((await framesOf(store, "ada")).map(({ first }) => first)).toEqual(Array.from({ length: 20 }, (_, n) => n));
  });

  test("JRN-7 JRN-10 a run that another transaction appends to is not removed, and one that it begins is not copied over", async () => {
    const store = postgresStore(server.pool(2), { prefix: "waits" });
    for (const run of ["ada", "bob"]) await store.append([frame({ run, first: 0 })]);
    const seen = await listed(store.list());
    const other = await server.pool(1).connect();
    await other.query("BEGIN");
    const frames = [frame({ first: 1 }), frame({ run: "eve", first: 0, writer: "two" })];
    await other.query("SELECT waits_append_2($1::text::json)", [JSON.stringify(frames)]);
    const work = Promise.all([
      store.removeUnchanged?.(seen) ?? Promise.resolve(-1),
      store.appendRun?.([frame({ run: "eve", first: 0 })]) ?? Promise.resolve(true),
    ]);
    const watcher = server.pool(1);
    const waiting = "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%waits_runs%'";
    await vi.waitFor(async () => expect((await watcher.query(waiting)).rows).toHaveLength(2), { timeout: 120_000 });
    await other.query("COMMIT");
    other.release();
    expect(await work).toEqual([1, false]);
    expect((await listed(store.list())).map(({ run }) => run).toSorted()).toEqual(["ada", "eve"]);
    expect(await framesOf(store, "ada")).toHaveLength(2);
    expect((await framesOf(store, "eve")).map(({ writer }) => writer)).toEqual(["two"]);
  });

  test("RSM-2 RSM-7 kill -9 at any instant: another process goes on after the last step that was kept", async () => {
    const kills = inject("exhaustive") ? 40 : 3;
    const program = [...fromSources, join(import.meta.dirname, "processes", "postgres-runner.ts")];
    let killed = 0;
    const calls: string[] = [];
    let answer = "";
    for (let turn = 0; answer === "" && turn < kills + 5; turn++) {
      const child = spawn(process.execPath, [...program, server.host, "killed"], {
        stdio: ["ignore", "pipe", "inherit"],
      });
      onTestFinished(() => void child.kill("SIGKILL"));
      let seen = 0;
      const limit = killed < kills ? 1 + ((killed * 5) % 3) : Infinity;
      let rest = "";
      child.stdout.on("data", (data: Buffer) => {
        const lines = (rest + data.toString()).split("\n");
        rest = lines.pop() ?? "";
        for (const line of lines) {
          if (line.startsWith("answer")) answer = line;
          else calls.push(line);
          seen += 1;
          if (seen >= limit) child.kill("SIGKILL");
        }
      });
      await once(child, "close");
      if (answer === "") killed += 1;
    }
    const [, text, attempt] = answer.split(" ");
    expect(text).toBe("twenty");
    // The call is idempotent, and does not wait until its attempt is kept (JRN-4): one that is killed before is not counted.
    expect(Number(attempt)).toBeGreaterThan(1);
    expect(Number(attempt)).toBeLessThanOrEqual(killed + 1);
    // Each call began, in order; at most the one under way at a kill began again.
    const numbers = calls.map((line) => Number(line.slice("call ".length)));
    expect(new Set(numbers)).toEqual(new Set(Array.from({ length: 20 }, (_, at) => at + 1)));
    expect(numbers).toEqual(numbers.toSorted((a, b) => a - b));
    expect(calls.length).toBeLessThanOrEqual(20 + killed);
    const journal = postgresJournal(server.pool());
    const described = await journal.describe("killed");
    expect(described).toMatchObject({ state: "executed", attempts: Number(attempt), steps: 41 });
    await journal.close();
  });
});

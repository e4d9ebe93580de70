import { allow, deadlineIn, definePolicy, deny, suspend } from "@proviso/core";
import { memoryJournal, type Journal } from "@proviso/journal";
import { sqliteJournal } from "@proviso/journal/node";
import type { SuspendedRun } from "@proviso/worker";
import { restateRuns } from "@proviso/worker/restate";
import { createEndpointHandler } from "@restatedev/restate-sdk";
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http2";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { fromSources } from "../../../scripts/from-sources.ts";
import { freePort, noServer, startRestate, type RestateServer } from "./restate-server.ts";
import { counting, until } from "./support.ts";

test("FLT-7 what cannot be served is refused at once", () => {
  const journal = memoryJournal();
  const kind = counting(() => {});
  expect(() => restateRuns([], { journal })).toThrow("at least one kind");
  expect(() => restateRuns([kind, kind], { journal })).toThrow('Two kinds have the prompt "app/count"');
  expect(() => restateRuns([kind], { journal, maxAttempts: 0 })).toThrow("maxAttempts");
  expect(() => restateRuns([kind], {} as never)).toThrow("needs a journal");
  expect(restateRuns([kind], { journal }).name).toBe("proviso");
});

describe.skipIf(noServer !== undefined)(`runs over Restate ${noServer ?? ""}`, { timeout: 300_000 }, () => {
  let server: RestateServer;
  beforeAll(async () => void (server = await startRestate()));
  afterAll(() => server[Symbol.asyncDispose]());

  /** Serves in this process. */
  async function serve(...given: Parameters<typeof restateRuns>): Promise<void> {
    const http = createServer(createEndpointHandler({ services: [restateRuns(...given)], logger: () => {} }));
    http.listen(0, "127.0.0.1");
    await once(http, "listening");
    onTestFinished(() => void http.close());
    await server.register((http.address() as AddressInfo).port);
  }

  test("FLT-7 a run is evaluated, waits out its suspensions, and is cancelled", async () => {
    const done: string[] = [];
    const policies = [
      definePolicy({
        name: "chief",
        check: ({ input }) => ((input as { name: string }).name === "bob" ? allow() : suspend("May it?")),
      }),
    ];
    const kind = counting(
      (number, _, name) => done.push(`${name} ${number}`),
      () => ({ policies }),
    );
    const journal = memoryJournal();
    const asked: SuspendedRun[] = [];
    await serve([kind], { journal, onSuspended: (suspended) => void asked.push(suspended) });
    const prompt = "app/count";
    const budget = { maxTotalTokens: 10_000, deadline: deadlineIn(60_000) };
    expect(await server.call("b", "run", { prompt, params: { name: "bob", upTo: 2 }, budget })).toEqual({
      status: 200,
      body: { output: "2 for bob", text: "2 for bob" },
    });
    const waiting = server.call("a/1", "run", { prompt, params: { name: "ada", upTo: 2 } });
    for (let n = 1; n <= 2; n++) {
      await until(() => asked.length === n);
      const { token } = asked[n - 1]?.pending ?? { token: "" };
      expect((await server.call("a/1", "resolve", { token, decision: allow() })).status).toBe(200);
      // The same again changes nothing: the run waits for the next question, and is asked once.
      expect((await server.call("a/1", "resolve", { token, decision: allow() })).status).toBe(200);
      expect((await server.call("a/1", "resolve", { token, decision: deny("No.") })).status).toBe(500);
      expect((await server.call("a/1", "resolve", { token: `${token}x`, decision: allow() })).status).toBe(500);
    }
    expect((await waiting).body).toEqual({ output: "2 for ada", text: "2 for ada" });
    expect(done).toEqual(["bob 1", "bob 2", "ada 1", "ada 2"]);

    expect(asked).toHaveLength(2);

    const cancelled = server.call("c", "run", { prompt, params: { name: "eve", upTo: 1 } });
    await until(() => asked.length === 3);
    expect((await server.call("c", "cancel", { reason: "enough" })).body).toBe(true);
    expect(await cancelled).toMatchObject({ status: 500, body: { message: "The run was cancelled: enough" } });
    expect((await journal.describe("c"))?.state).toBe("cancelled");
    const unknown = await server.call("d", "run", { prompt: "app/none" });
    expect(unknown).toMatchObject({ status: 500, body: { message: /no kind with the prompt "app\/none"/ } });
  });

  test("FLT-7 a run that waits is ended also where the step of cancel is made again", async () => {
    const policies = [definePolicy({ name: "chief", check: () => suspend("May it?") })];
    const kind = counting(
      () => {},
      () => ({ policies }),
    );
    const memory = memoryJournal();
    const asked: SuspendedRun[] = [];
    // What a step did is kept in the journal, and Restate does not learn of it.
    let lost = 0;
    const losing = async <T>(work: Promise<T>): Promise<T> => {
      const came = await work;
      if (lost++ === 0) throw new Error("The connection is gone.");
      return came;
    };
    const journal: Journal = { ...memory, cancel: (...given) => losing(memory.cancel(...given)) };
    await serve([kind], { journal, onSuspended: (suspended) => void asked.push(suspended) });
    const run = { prompt: "app/count", params: { name: "ada", upTo: 1 } };
    const cancelled = server.call("lost", "run", run);
    await until(() => asked.length === 1);
    expect((await server.call("lost", "cancel", { reason: "enough" })).body).toBe(true);
    expect(lost).toBe(2);
    // A journal of another making shows no reason.
    expect(await cancelled).toMatchObject({ status: 500, body: { message: "The run was cancelled." } });
    expect((await server.call("lost", "cancel", { reason: "enough" })).body).toBe(false);
  });

  test("FLT-7 a killed endpoint's run is gone on with after its last step", async () => {
    const folder = await mkdtemp(join(tmpdir(), "proviso-restate-runs-"));
    const [file, lines] = [join(folder, "runs.sqlite"), join(folder, "lines")];
    await writeFile(lines, "");
    const port = await freePort();
    const program = [...fromSources, join(import.meta.dirname, "processes", "restate-endpoint.ts")];
    let child: ChildProcess | undefined;
    const start = async (): Promise<void> => {
      const started = spawn(process.execPath, [...program, `${port}`, file, lines], {
        stdio: ["pipe", "pipe", "inherit"],
      });
      child = started;
      await once(started.stdout, "data");
    };
    onTestFinished(async () => {
      child?.kill("SIGKILL");
      await rm(folder, { recursive: true, force: true });
    });
    await start();
    await server.register(port);
    const answer = server.call("killed", "run", { prompt: "app/count", params: { name: "ada", upTo: 9 } });
    const written = (): string[] => readFileSync(lines, "utf8").trim().split("\n");
    for (let kill = 1; kill <= 2; kill++) {
      await until(() => written().length > kill * 5);
      child?.kill("SIGKILL");
      await start();
    }
    expect((await answer).body).toEqual({ output: "9 for ada", text: "9 for ada" });
    const ends = written().filter((line) => line.includes(" ends "));
    expect(new Set(ends.map((line) => line.split(" ").at(-1))).size).toBe(9);
    expect(ends.length).toBeLessThanOrEqual(11);
    await using journal = sqliteJournal(file);
    expect(await journal.describe("killed")).toMatchObject({ state: "executed", attempts: 3 });
  });
});

// The methods of a journal in a file, while another process works on the run.
import { allow } from "@proviso/core";
import { memoryJournal } from "@proviso/journal";
import { sqliteJournal } from "@proviso/journal/node";
import { modelAdapter } from "@proviso/runtime";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { fromSources } from "../../../scripts/from-sources.ts";
import { calls, counting, countingModel, numbers } from "./processes/counting.ts";
import { folder, listed } from "./support.ts";

vi.setConfig({ testTimeout: 300_000 });

const program = [...fromSources, join(import.meta.dirname, "processes", "desk.ts")];

/** Starts the program; `line` waits for a line of its output that begins so, and returns it. */
function started(...given: readonly string[]) {
  const child = spawn(process.execPath, [...program, ...given], { stdio: ["pipe", "pipe", "inherit"] });
  onTestFinished(() => void child.kill("SIGKILL"));
  let told = "";
  child.stdout.on("data", (text: Buffer) => (told += text.toString()));
  const ended = once(child, "close");
  const lines = (): string[] => told.split("\n").slice(0, -1);
  // It may have ended by itself.
  child.stdin.on("error", () => {});
  return {
    lines,
    goOn: () => void child.stdin.write("\n"),
    line: (begin: string) =>
      vi.waitFor(() => lines().find((line) => line.startsWith(begin)) ?? expect.fail(`no "${begin}"`), {
        timeout: 300_000,
        interval: 2,
      }),
    last: () => ended.then(() => lines().at(-1)),
  };
}

async function file(): Promise<string> {
  return join(await folder(), "runs.db");
}

const all = Array.from({ length: calls }, (_, n) => n);

test("JRN-11 FRK-2 a run that another process works on is read as it grows: entries, steps, the session after each", async () => {
  const path = await file();
  await using journal = sqliteJournal(path);
  const worker = started(path, "work", "6");
  await worker.line("call 6");
  const following = listed(journal.entries("r", { follow: true }));
  const seen = new Map<number, readonly number[]>();
  let steps = 0;
  while (steps < 2 * calls + 1) {
    steps = (await journal.describe("r"))?.steps ?? 0;
    if (steps > 0) seen.set(steps, (await journal.session("r", { slices: [numbers], at: steps })).get(numbers));
    worker.goOn();
  }
  expect(await worker.last()).toBe("ended Counted.");
  // An answer and a call in turn: after so many steps, half of them are calls.
  for (const [at, state] of seen) expect(state, `after step ${at}`).toEqual(all.slice(0, Math.floor(at / 2)));
  expect(seen.size).toBeGreaterThan(1);
  for (let at = 0; at <= steps; at++) {
    const session = await journal.session("r", { slices: [numbers], at });
    expect(session.get(numbers)).toEqual(all.slice(0, Math.floor(at / 2)));
  }
  await expect(journal.session("r", { slices: [numbers], at: steps + 1 })).rejects.toMatchObject({
    reason: "not_found",
  });
  const entries = await following;
  expect(entries.map(({ index }) => index)).toEqual(entries.map((_, index) => index));
  expect(entries).toEqual(await listed(journal.entries("r")));
});

test("FLT-3 JRN-10 a run that another process works on is cancelled: it begins no further handler", async () => {
  const path = await file();
  await using journal = sqliteJournal(path);
  const worker = started(path, "work", "2");
  await worker.line("call 2");
  const cancels = await Promise.all([journal.cancel("r", "Enough."), journal.cancel("r")]);
  expect(cancels.filter(Boolean)).toEqual([true]);
  const before = worker.lines().length;
  worker.goOn();
  expect(await worker.last()).toBe("failed aborted");
  // The one that was about to begin when it was cancelled, and none behind it.
  expect(worker.lines().length - 1 - before).toBeLessThanOrEqual(1);
  expect(await journal.describe("r")).toMatchObject({ state: "cancelled" });
  expect(await journal.cancel("r")).toBe(false);
  await expect(
    modelAdapter(countingModel).evaluate(
      counting(() => {}),
      { run: journal.run("r") },
    ),
  ).rejects.toMatchObject({ code: "option" });
});

test("RSM-7 RSM-8 a run that another process works on is busy, and one that is removed under it is fenced", async () => {
  const path = await file();
  await using journal = sqliteJournal(path);
  const worker = started(path, "work", "1");
  await worker.line("call 1");
  const evaluate = () =>
    modelAdapter(countingModel).evaluate(
      counting(() => {}),
      { run: journal.run("r") },
    );
  await expect(evaluate()).rejects.toMatchObject({ code: "run", reason: "busy" });
  await journal.remove("r");
  worker.goOn();
  expect(await worker.last()).toBe("failed run fenced");
  expect(await journal.describe("r")).toBeUndefined();
  const { text, run } = await evaluate();
  expect([text, run?.attempt, run?.keptSteps]).toEqual(["Counted.", 1, 0]);
});

test("JRN-7 a copy of a run that another process works on goes on by itself", async () => {
  const path = await file();
  await using journal = sqliteJournal(path);
  const worker = started(path, "work", "4");
  await worker.line("call 4");
  const other = memoryJournal();
  await journal.copy("r", other);
  worker.goOn();
  const done: number[] = [];
  const prompt = counting((n) => done.push(n));
  const { text } = await modelAdapter(countingModel).evaluate(prompt, { run: other.run("r", { takeOver: true }) });
  expect(text).toBe("Counted.");
  // What the copy had is not done again; a call under way is told as unknown.
  expect(done.length).toBeLessThan(calls - 3);
  expect(await worker.last()).toBe("ended Counted.");
  expect((await journal.describe("r"))?.attempts).toBe(1);
});

test("SUS-2 of two processes that decide at once one does, and a third goes on with the run", async () => {
  const path = await file();
  await using journal = sqliteJournal(path);
  const token = (await started(path, "waits").line("suspended")).split(" ")[1] ?? "";
  const deciders = [started(path, "resolve", token), started(path, "resolve", token)];
  const own = journal.resolve(token, allow()).then(
    () => "resolved",
    ({ reason }: { readonly reason: string }) => reason,
  );
  const came = [...(await Promise.all(deciders.map(({ last }) => last()))), await own];
  expect(came.filter((word) => word === "resolved")).toHaveLength(1);
  expect(came.filter((word) => word === "token")).toHaveLength(2);
  const worker = started(path, "waits");
  await worker.line("call 5");
  // It is decided, and under way.
  await expect(journal.resolve(token, allow())).rejects.toMatchObject({ code: "journal" });
  expect(await worker.last()).toBe("ended Counted.");
  expect(worker.lines().filter((line) => line.startsWith("call"))).toEqual(all.slice(5).map((n) => `call ${n}`));
  expect((await journal.session("r", { slices: [numbers] })).get(numbers)).toEqual(all);
});

import { sqliteJournal } from "@proviso/journal/node";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, onTestFinished, test, vi } from "vitest";
import { fromSources } from "../../../scripts/from-sources.ts";
import { folder } from "./support.ts";

vi.setConfig({ testTimeout: 300_000 });

const program = [...fromSources, join(import.meta.dirname, "processes", "runner.ts")];

/** Runs the program, and kills it after that many milliseconds of work; returns what it wrote. */
async function run(path: string, killedAfterMs: number | undefined): Promise<string> {
  const child = spawn(process.execPath, [...program, path, "12"], { stdio: ["ignore", "pipe", "inherit"] });
  onTestFinished(() => void child.kill("SIGKILL"));
  let wrote = "";
  const begun = Promise.withResolvers<void>();
  child.stdout.on("data", (text: Buffer) => {
    wrote += text.toString();
    begun.resolve();
  });
  const ended = once(child, "close");
  if (killedAfterMs !== undefined) {
    await Promise.race([begun.promise, ended]);
    await sleep(killedAfterMs);
    child.kill("SIGKILL");
  }
  await ended;
  return wrote;
}

test("RSM-2 RSM-7 EFF-5 a run that is killed again and again ends with each row written once", async () => {
  const path = await folder();
  const kills = Number(process.env["KILLS"] ?? 8);
  for (let kill = 0; kill < kills; kill++) await run(path, 5 + ((kill * 37) % 60));
  const wrote = await run(path, undefined);
  const { text, failed } = JSON.parse(wrote.split("\n").at(-2) ?? "{}") as {
    readonly text?: string;
    readonly failed?: number;
  };
  expect(text).toBe("Done.");
  const rows = new DatabaseSync(join(path, "rows.db"));
  const numbers = rows
    .prepare("SELECT n FROM rows ORDER BY n")
    .all()
    .map(({ n }) => n);
  rows.close();
  // A call between its commit and the record of it is told as unknown, and not repeated.
  expect(new Set(numbers).size).toBe(numbers.length);
  expect(numbers.length).toBe(12);
  expect(failed).toBeLessThanOrEqual(kills);
  const journal = sqliteJournal(join(path, "runs.db"));
  const described = await journal.describe("r");
  await journal.close();
  expect(described?.state).toBe("executed");
  expect(described?.timeline.filter((step) => step.kind === "call")).toHaveLength(12);
});

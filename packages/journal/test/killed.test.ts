import { sqliteJournal } from "@proviso/journal/node";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, inject, onTestFinished, test, vi } from "vitest";
import { fromSources } from "../../../scripts/from-sources.ts";
import { folder } from "./support.ts";

vi.setConfig({ testTimeout: 900_000 });

const program = (name: string): string[] => [...fromSources, join(import.meta.dirname, "processes", `${name}.ts`)];

/** Whether the rows are in a file of their own, or in the journal's. */
type Place = "apart" | "together";

/** Runs the program that writes rows, and kills it after that many milliseconds of work; returns what it wrote. */
function run(path: string, place: Place, killedAfterMs: number | undefined): Promise<string> {
  return ran([...program("runner"), path, "12", place], killedAfterMs);
}

async function ran(command: readonly string[], killedAfterMs: number | undefined): Promise<string> {
  const child = spawn(process.execPath, command, { stdio: ["ignore", "pipe", "inherit"] });
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

const exhaustive = inject("exhaustive");
const kills = Number(process.env["KILLS"] ?? (exhaustive ? 8 : 3));

/** Kills the program again and again, lets it end, and returns the rows and how many calls failed. */
async function killedAgainAndAgain(path: string, place: Place) {
  for (let kill = 0; kill < kills; kill++) await run(path, place, 5 + ((kill * 37) % 60));
  const wrote = await run(path, place, undefined);
  const { text, failed } = JSON.parse(wrote.split("\n").at(-2) ?? "{}") as {
    readonly text?: string;
    readonly failed?: number;
  };
  expect(text).toBe("Done.");
  const database = new DatabaseSync(join(path, place === "apart" ? "rows.db" : "runs.db"));
  const rows = database
    .prepare("SELECT n FROM rows ORDER BY n")
    .all()
    .map(({ n }) => n);
  database.close();
  const journal = sqliteJournal(join(path, "runs.db"));
  const described = await journal.describe("r");
  await journal.close();
  expect(described?.state).toBe("executed");
  expect(described?.timeline.filter((step) => step.kind === "call")).toHaveLength(12);
  return { rows, failed };
}

test("RSM-2 RSM-7 EFF-5 a run that is killed again and again ends with each row written once", async () => {
  const { rows, failed } = await killedAgainAndAgain(await folder(), "apart");
  // A call between its commit and the record of it is told as unknown, and not repeated.
  expect(new Set(rows).size).toBe(rows.length);
  expect(rows.length).toBe(12);
  expect(failed).toBeLessThanOrEqual(kills);
});

test("EFF-7 where rows and record are in one file, each call is done exactly once, and none is unknown", async () => {
  const { rows, failed } = await killedAgainAndAgain(await folder(), "together");
  expect(rows).toEqual(Array.from({ length: 12 }, (_, n) => n));
  expect(failed).toBe(0);
});

test("RSM-9 kills inside evaluations inside a call repeat at most one request each", async () => {
  const path = await folder();
  const parts = 31;
  const command = [...program("inside-runner"), path, String(parts)];
  const inside = Number(process.env["KILLS"] ?? (exhaustive ? 12 : 3));
  for (let kill = 0; kill < inside; kill++) await ran(command, 5 + ((kill * 37) % 60));
  expect(await ran(command, undefined)).toContain('{"text":"all done"}');
  const asked = readFileSync(join(path, "requests"), "utf8").trim().split("\n");
  const needed = new Set(asked);
  expect(needed.size).toBe(2 + parts * 4);
  expect(asked.length - needed.size).toBeLessThanOrEqual(inside);
});

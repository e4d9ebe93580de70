import { createJournal, type Frame, type Journal, type JournalEntry, type JournalStore } from "@proviso/journal";
import { bodyOf, frameSum, memoryStore } from "@proviso/journal/internal";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished } from "vitest";

/** A folder that is gone when the test is over. */
export async function folder(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), "proviso-journal-"));
  onTestFinished(() => rm(path, { recursive: true, force: true }));
  return path;
}

/** A frame with the right sum. */
export function frame(given: Partial<Frame> & { readonly first: number }): Frame {
  const { run = "ada", first, count = 1, writer = "one", body = `entry ${first}` } = given;
  const { sum = frameSum({ run, first, body }), summary = JSON.stringify({ length: first + count }) } = given;
  const plain = { run, first, count, writer, body, sum, summary };
  return given.begunBy === undefined ? plain : { ...plain, begunBy: given.begunBy };
}

/** A journal whose run "r" has these entries, kept by a writer that is gone. */
export async function journalWith(entries: readonly JournalEntry[]): Promise<Journal> {
  const store = memoryStore();
  const of = { run: "r", first: 0, body: bodyOf(1, entries) };
  await store.append([{ ...of, count: entries.length, writer: "gone", sum: frameSum(of), summary: "{}" }]);
  return createJournal(store);
}

/** All that there is, in order. */
export async function listed<T>(from: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const one of from) all.push(one);
  return all;
}

export function framesOf(store: JournalStore, run: string, from?: number): Promise<Frame[]> {
  return listed(store.read(run, from));
}

/** What waits for another evaluation takes a second and more, every time; a busy machine holds it up now and then. */
export async function expectNoWait(work: () => Promise<unknown>): Promise<void> {
  const took: number[] = [];
  do {
    const begun = performance.now();
    await work();
    took.push(performance.now() - begun);
  } while (Math.min(...took) >= 900 && took.length < 5);
  expect(Math.min(...took)).toBeLessThan(900);
}

// A run is copied as a whole or not at all: half of one would look like a run that goes on.
import { existsAlready, notFound } from "./errors.ts";
import { readFrames } from "./read-frames.ts";
import { isOtherRun, markOf } from "./reading.ts";
import type { Frame, JournalStore } from "./store.ts";

/** Copies a run under the same id. @throws {JournalError} "exists", "not_found", "damaged". */
export async function copyRun(from: JournalStore, to: JournalStore, id: string): Promise<void> {
  const frames = await framesOf(from, id);
  if (frames.length === 0) throw notFound(id);
  if (to.appendRun === undefined) {
    const kept = await to.append(frames);
    if (kept.includes("fenced")) throw existsAlready(id);
    return;
  }
  if (await to.appendRun(frames)) return;
  // An append that was sent again after its connection was lost may have kept them the first time.
  const there = (await framesOf(to, id)).map(markOf);
  if (frames.some((frame, place) => isOtherRun(markOf(frame), there[place]))) throw existsAlready(id);
}

async function framesOf(store: JournalStore, id: string): Promise<readonly Frame[]> {
  const frames: Frame[] = [];
  for await (const frame of readFrames(store, id)) frames.push(frame);
  return frames;
}

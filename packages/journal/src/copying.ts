// A run is copied as a whole or not at all: half of one would look like a run that goes on.
import { DefinitionError } from "@proviso/core";
import { existsAlready, notFound } from "./errors.ts";
import { entriesOf } from "./format.ts";
import { readFrames } from "./read-frames.ts";
import { isOtherRun, markOf } from "./reading.ts";
import type { Shared } from "./source.ts";
import type { Frame, JournalStore } from "./store.ts";

/**
 * Copies a run under the same id. A text that was hidden only now would be another one than its requests were kept with: a
 * run that shows what the other journal hides is refused.
 * @throws {JournalError} "exists", "not_found", "damaged". {DefinitionError} for a run that shows a secret.
 */
export async function copyRun(
  from: JournalStore,
  { store: to, hide }: Pick<Shared, "store" | "hide">,
  id: string,
): Promise<void> {
  const frames = await framesOf(from, id);
  if (frames.length === 0) throw notFound(id);
  if (hide !== undefined) assertHidden(from, frames, hide);
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

/** @throws {DefinitionError} */
function assertHidden({ name }: JournalStore, frames: readonly Frame[], hide: NonNullable<Shared["hide"]>): void {
  for (const frame of frames) {
    for (const [place, entry] of entriesOf(frame, name).entries()) {
      if (JSON.stringify(hide(entry)) === JSON.stringify(entry)) continue;
      const where = `Entry ${frame.first + place} of the run "${frame.run}"`;
      throw new DefinitionError(
        `${where} shows a secret of the journal that it is copied to: record the run in a journal with these secrets.`,
      );
    }
  }
}

async function framesOf(store: JournalStore, id: string): Promise<readonly Frame[]> {
  const frames: Frame[] = [];
  for await (const frame of readFrames(store, id)) frames.push(frame);
  return frames;
}

import { defineEvent, defineSlice } from "@proviso/core";
import { createSession, memoryFilesystem } from "@proviso/runtime";
import { z } from "zod";
import { provisoOf } from "./contenders.ts";
import { micros, race, row, type Row } from "./measure.ts";
import { ofTurns } from "./scenarios.ts";

const added = defineEvent("added", z.object({ item: z.number() }));
const items = (kind: "state" | "log", length: number) =>
  defineSlice({
    name: "items",
    kind,
    initial: Array.from({ length }, (_, item) => item) as readonly number[],
    reducers: ({ on }) => on(added, (draft, { item }) => void draft.push(item)),
  });

/** Snapshots, rollbacks and recorded events, in small and in large sessions. */
export async function state(quick: boolean): Promise<readonly Row[]> {
  const times = quick ? 2_000 : 20_000;
  const snapshot = (length: number) => {
    const session = createSession({ slices: [items("state", length)] });
    return () => session.restore(session.snapshot());
  };
  const files = (length: number) => {
    const names = Array.from({ length }, (_, index) => [`f${index}.txt`, "x"] as const);
    const filesystem = memoryFilesystem(Object.fromEntries(names)) as unknown as {
      snapshot(): unknown;
      restore(s: unknown): void;
    };
    return () => filesystem.restore(filesystem.snapshot());
  };
  const record = (length: number) => {
    const session = createSession({ slices: [items("log", length)] });
    const event = added({ item: 1 });
    return () => session.dispatch(event);
  };
  const snapshots = await race({ small: snapshot(100), large: snapshot(100_000) }, { times });
  const trees = await race({ small: files(100), large: files(100_000) }, { times });
  // Each evaluation makes the logs longer: a long warm-up would make them equal.
  const records = await race({ small: record(0), large: record(100_000) }, { times, warmUpMs: 50 });
  return [
    row(
      "session: snapshot and rollback, µs",
      snapshots.large,
      `100 items ${micros(snapshots.small)}, 100,000 ${micros(snapshots.large)}`,
      "≤ 2",
    ),
    row("session: 100,000 items / 100", snapshots.large / snapshots.small, "", "≤ 1.5"),
    row(
      "memory filesystem: snapshot and rollback, µs",
      trees.large,
      `100 files ${micros(trees.small)}, 100,000 ${micros(trees.large)}`,
      "≤ 2",
    ),
    row("memory filesystem: 100,000 files / 100", trees.large / trees.small, "", "≤ 1.5"),
    row(
      "recording an event: 100,000 in the log / none",
      records.large / records.small,
      `${micros(records.small)} → ${micros(records.large)}`,
      "≤ 1.5",
    ),
    await listening(quick),
  ];
}

/** Ten listeners, and the snapshot that each call takes anyway. */
async function listening(quick: boolean): Promise<Row> {
  const work = provisoOf(ofTurns(20));
  const watched = provisoWith(10);
  const measured = await race({ off: work, on: watched }, { times: quick ? 20 : 60, rounds: 15 });
  const detail = `${micros(measured.off)} without, ${micros(measured.on)} with`;
  return row("throughput with 10 listeners / without", measured.off / measured.on, detail, "≥ 0.95");
}

function provisoWith(listeners: number): () => Promise<unknown> {
  return provisoOf(ofTurns(20), (session) => {
    for (let i = 0; i < listeners; i++) session.on("*", () => {});
  });
}

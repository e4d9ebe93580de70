import {
  defineEvent,
  definePrompt,
  defineSlice,
  defineTool,
  type RunReader,
  type RunRecord,
  type SlicePatch,
} from "@proviso/core";
import { sqliteJournal } from "@proviso/journal/node";
import { applyStatePatch, modelAdapter, statePatch } from "@proviso/runtime";
import { scriptedModel } from "@proviso/runtime/testing";
import { openRuns } from "@proviso/viewer";
import { stateAt } from "@proviso/viewer/runs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { z } from "zod";
import { race, row, type Row } from "./measure.ts";

const found = defineEvent("found", z.object({ path: z.string() }));
const findings = defineSlice({
  name: "findings",
  initial: [] as readonly { readonly path: string; readonly text: string }[],
  reducers: ({ on }) => on(found, (draft, { path }) => void draft.push({ path, text: `What was found in ${path}.` })),
});

/** The calls of a run of 50,000 events. */
const longCalls = 12_450;

/** Records a run of 50,000 events in a file: turn by turn a call that changes a slice, every fiftieth is undone. */
export async function longRun(file: string, calls = longCalls): Promise<void> {
  const note = defineTool({
    name: "note",
    description: "Notes a finding.",
    input: z.object({ path: z.string() }),
    execute({ path }, { session }) {
      session.dispatch(found({ path }));
      if (path.endsWith("0.ts")) throw new Error("That is not there.");
      return "noted";
    },
  });
  const prompt = definePrompt({
    ns: "app",
    key: "long",
    slices: [findings],
    sections: [{ key: "task", text: "Review.", tools: [note] }],
  });
  const steps = Array.from({ length: calls }, (_, n) => {
    const path = `f${n % 50 === 0 ? `${n}0` : `${n}1`}.ts`;
    return { text: `I look at ${path}.`, toolCalls: [{ id: `c${n}`, name: "note", arguments: { path } }] };
  });
  const journal = sqliteJournal(file);
  await modelAdapter(scriptedModel([...steps, { text: "Done." }])).evaluate(prompt.bind(), {
    run: journal.run("long"),
    maxTurns: calls + 10,
  });
  await journal.close();
}

/** Patches of states, and the states of a run of 50,000 events. */
export async function seeRuns(quick: boolean): Promise<readonly Row[]> {
  const rows = [await patches(1_000, quick, 10), await patches(100_000, quick, 500)];
  const folder = await mkdtemp(join(tmpdir(), "proviso-see-"));
  try {
    const file = join(folder, "runs.db");
    await longRun(file);
    await using reader = openRuns(file, { slices: [findings] });
    rows.push(...(await states(reader, quick)));
  } finally {
    await rm(folder, { recursive: true });
  }
  return rows;
}

/** One item of a list is added, changed or removed. */
async function patches(length: number, quick: boolean, bound: number): Promise<Row> {
  const before = { items: Array.from({ length }, (_, n) => ({ n, text: `item ${n}` })) };
  const middle = Math.floor(length / 2);
  const [changed, removed] = [
    before.items.with(middle, { n: middle, text: "other" }),
    before.items.toSpliced(middle, 1),
  ];
  const added = before.items.toSpliced(middle, 0, { n: -1, text: "new" });
  const used = await race(
    {
      added: () => statePatch(before, { items: added }),
      changed: () => statePatch(before, { items: changed }),
      removed: () => statePatch(before, { items: removed }),
    },
    { times: Math.ceil((quick ? 2e6 : 2e7) / length) },
  );
  const detail = Object.entries(used).map(([name, value]) => `${name} ${value.toFixed(1)} µs`);
  for (const after of [added, changed, removed]) {
    const patch = statePatch(before, { items: after });
    if (patch.length !== 1 || !isDeepStrictEqual(applyStatePatch(before, patch), { items: after }))
      throw new Error("No patch.");
  }
  const most = Math.max(...Object.values(used));
  return row(`statePatch, one of ${length.toLocaleString("en")} items, µs`, most, detail.join(" · "), `≤ ${bound}`);
}

async function states(reader: RunReader, quick: boolean): Promise<readonly Row[]> {
  const records: RunRecord[] = [];
  for await (const record of reader.records("long")) records.push(record);
  const kept = records.flatMap((record) => (record.kind === "state" ? [record] : []));
  const events = records.filter(({ kind }) => kind === "event").length;
  const bytes = (value: unknown): number => JSON.stringify(value)?.length ?? 0;
  const keyframes = kept.reduce((sum, { keyframe }) => sum + bytes(keyframe), 0);
  const patched = kept.reduce((sum, { slices }) => sum + bytes(slices satisfies readonly SlicePatch[]), 0);
  const times: number[] = [];
  const step = quick ? 53 : 7;
  for (let at = 0; at < kept.length; at += step) {
    const { user, system } = process.cpuUsage();
    await stateAt(reader, "long", (kept[at] as RunRecord).n);
    const after = process.cpuUsage({ user, system });
    times.push((after.user + after.system) / 1000);
  }
  const sorted = times.toSorted((a, b) => a - b);
  const quantile = (share: number): number => sorted[Math.floor((sorted.length - 1) * share)] ?? Number.NaN;
  const shown = `${sorted.length} of ${kept.length} states of ${events} events · median ${quantile(0.5).toFixed(1)} ms`;
  return [
    row(
      "keyframes / patches, bytes",
      keyframes / patched,
      `${(keyframes / 1e6).toFixed(1)} MB · ${(patched / 1e6).toFixed(1)} MB`,
      "≤ 1.2",
    ),
    row("state at a transaction, p99, ms", quantile(0.99), shown, "≤ 50"),
  ];
}

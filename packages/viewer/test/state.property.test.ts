import { isEvaluationFailure } from "@proviso/core";
import { memoryJournal } from "@proviso/journal";
import { journalRuns } from "@proviso/viewer";
import { stateAt } from "@proviso/viewer/runs";
import fc from "fast-check";
import { expect, inject, it } from "vitest";
import { evaluated, listed, type EventRecord, randomRun, slices, statesOf } from "./support.ts";

it("VIEW-7 the state at every record is the session's own at that moment", async () => {
  let compared = 0;
  await fc.assert(
    fc.asyncProperty(randomRun, async (random) => {
      const journal = memoryJournal();
      const { session, states, outcome } = await evaluated(random, journal);
      if (outcome instanceof Error && !isEvaluationFailure(outcome)) throw outcome;
      const reader = journalRuns(journal, { slices });
      const records = await listed(reader.records("r"));
      expect(records.map(({ n }) => n)).toEqual([...new Set(records.map(({ n }) => n))].toSorted((a, b) => a - b));
      const events = records.filter((record) => record.kind === "event");
      // A vetoed success: what its call had dispatched counts for nothing, and is not in the record.
      const isVetoed = ({ event }: EventRecord, at: number) =>
        event.type === "tool.invoked" &&
        event.result.success &&
        events.slice(at + 1).find((next) => "callId" in next.event && next.event.callId === event.callId)?.event
          .type === "tool.invoked";
      for (const [at, record] of events.entries()) {
        if (isVetoed(record, at)) continue;
        const live = states.get(record.event.seq);
        if (live === undefined || /\.delta$|\.reset$/.test(record.event.type)) continue;
        // The state that an event leaves is recorded behind it.
        const state = await stateAt(reader, "r", record.n + 1);
        expect(JSON.stringify(state), `${record.event.type} ${record.n}`).toBe(live);
        compared += 1;
      }
      const last = records.at(-1)?.n ?? 0;
      expect(JSON.stringify(await stateAt(reader, "r", last))).toBe(JSON.stringify(statesOf(session)));
    }),
    {
      numRuns: Number(process.env["RUNS"] ?? (inject("exhaustive") ? 150 : 40)),
      seed: Number(process.env["SEED"] ?? 7),
    },
  );
  expect(compared).toBeGreaterThan(inject("exhaustive") ? 400 : 100);
});

// 1. At most `samplesKept` samples for each prompt on a model, for each model, and of everything.
// 2. At most `keysKept` of those rows: the one that was written to longest ago goes first.
import { samplesKept, type UsageQuery, type UsageSample, type UsageStore } from "./samples.ts";

const keysKept = 1_024;

/** Keeps samples while the process lives: the newest 512 for each prompt and model, of at most 1,024 of them. */
export function memoryUsageStore(): UsageStore {
  const rows = new Map<string, Row>();
  const rowOf = (key: string): Row => {
    const row = rows.get(key) ?? { samples: [], next: 0 };
    rows.delete(key);
    rows.set(key, row);
    if (rows.size > keysKept) rows.delete(rows.keys().next().value as string);
    return row;
  };
  return Object.freeze({
    record(given: UsageSample) {
      const sample = Object.freeze({ ...given });
      const { prompt, model } = sample;
      for (const query of [{ prompt, model }, { model }, { prompt }, {}]) push(rowOf(keyOf(query)), sample);
    },
    samples: (query: UsageQuery) => [...(rows.get(keyOf(query))?.samples ?? [])],
  });
}

/** A ring: full, the oldest is written over. */
interface Row {
  readonly samples: UsageSample[];
  next: number;
}

function push(row: Row, sample: UsageSample): void {
  row.samples[row.next] = sample;
  row.next = (row.next + 1) % samplesKept;
}

function keyOf({ prompt, model }: UsageQuery): string {
  return JSON.stringify([prompt ?? null, model ?? null]);
}

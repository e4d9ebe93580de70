import { definePrompt } from "@proviso/core";
import { createSession, modelAdapter } from "@proviso/runtime";
import { estimate, memoryUsageStore, usageStatistics, type UsageStore } from "@proviso/estimation";
import { sqliteUsageStore } from "@proviso/node";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { calibrate, coverage, quantities, worlds } from "../../packages/estimation/test/simulated.ts";
import { micros, race, row, type Row } from "./measure.ts";

const model = {
  name: "constant",
  model: "gpt-4o-mini",
  capabilities: { tools: true, nativeOutput: true },
  generate: async () => ({
    message: { role: "assistant" as const, text: "ok", toolCalls: [] },
    finishReason: "stop" as const,
    usage: { inputTokens: 100, outputTokens: 20, totalTokens: 120 },
  }),
};
const prompt = definePrompt({ key: "ask", text: "Ask." }).bind();

/** What p90 covers of simulated evaluations, and what collecting and estimating cost. */
export async function estimation(quick: boolean): Promise<readonly Row[]> {
  return [...(await calibration(quick)), await collecting(quick), ...(await estimating(quick))];
}

async function calibration(quick: boolean): Promise<readonly Row[]> {
  const rows: Row[] = [];
  const later = quick ? 200 : 1_000;
  for (const world of worlds) {
    const results = await calibrate(world, 1, { history: 200, later, growing: true });
    for (const quantity of quantities) {
      const covered = coverage(results, quantity);
      // Whole turns can cover more, see EST-12.
      const bound = quantity === "turns" || covered < 0.85 ? "≥ 0.85" : "≤ 0.95";
      const what = `share of ${later} evaluations within the estimated p90, ${quantity}, ${world.name}`;
      rows.push(row(what, covered, `${Math.round(covered * later)} of ${later}, after 200`, quick ? undefined : bound));
    }
  }
  return rows;
}

async function collecting(quick: boolean): Promise<Row> {
  const adapter = modelAdapter(model);
  const [alone, watched, kept] = [createSession(), createSession(), createSession()];
  usageStatistics(watched);
  const folder = await mkdtemp(join(tmpdir(), "proviso-bench-"));
  const store = sqliteUsageStore(join(folder, "usage.sqlite"));
  usageStatistics(store).observe(kept);
  const measured = await race(
    {
      alone: () => adapter.evaluate(prompt, { session: alone }),
      watched: () => adapter.evaluate(prompt, { session: watched }),
      kept: () => adapter.evaluate(prompt, { session: kept }),
    },
    { times: quick ? 200 : 2_000 },
  );
  store.close();
  await rm(folder, { recursive: true });
  const told = [`alone ${micros(measured.alone)}`, `collected ${micros(measured.watched)}, of three events each`];
  const detail = [...told, `into a file ${micros(measured.kept)}`].join(" · ");
  return row("an evaluation whose usage is collected / not", measured.watched / measured.alone, detail);
}

async function estimating(quick: boolean): Promise<readonly Row[]> {
  const adapter = modelAdapter(model);
  const times = quick ? 20 : 100;
  const storeOf = (count: number): UsageStore => {
    const store = memoryUsageStore();
    for (let i = 0; i < count; i++) {
      const tokens = { inputTokens: 100 + (i % 97), outputTokens: 20 + (i % 89), largestOutputTokens: 20 + (i % 89) };
      const sample = {
        prompt: "app/ask",
        model: model.model,
        characters: 4,
        cachedInputTokens: 0,
        cacheWriteTokens: 0,
        ...tokens,
      };
      store.record({ ...sample, turns: 1 + (i % 7), durationMs: 1_000 + (i % 211) });
    }
    return store;
  };
  const [few, many] = [storeOf(512), storeOf(100_000)];
  const measured = await race(
    {
      priors: () => estimate(prompt, { adapter }),
      few: () => estimate(prompt, { adapter, history: few }),
      many: () => estimate(prompt, { adapter, history: many }),
    },
    { times },
  );
  const { priors } = measured;
  const detail = `from priors ${micros(priors)} · of 512 ${micros(measured.few)} · of 100,000 ${micros(measured.many)}`;
  return [row("an estimate after 100,000 evaluations / after 512", measured.many / measured.few, detail, "≤ 1.5")];
}

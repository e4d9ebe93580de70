import { parseArgs } from "node:util";
import { simulateRun } from "./simulate-run.ts";

// pnpm simulate:runs [--seeds N] [--from K] [--seed S]: records evaluations until one of them does not replay.
const { values } = parseArgs({
  options: {
    seeds: { type: "string", default: "1000" },
    from: { type: "string", default: "1" },
    seed: { type: "string" },
    all: { type: "boolean", default: false },
  },
});
const first = Number(values.seed ?? values.from);
const count = values.seed === undefined ? Number(values.seeds) : 1;
if (!Number.isSafeInteger(first) || !Number.isSafeInteger(count) || count < 1 || first < 0) {
  console.error("simulate:runs: --seeds, --from and --seed take whole numbers.");
  process.exit(2);
}
const startedAt = performance.now();
const total = { events: 0, replays: 0, failed: 0 };
for (let seed = first; seed < first + count; seed++) {
  const { violations, trace, events, replays } = await simulateRun(seed);
  total.events += events;
  total.replays += replays;
  if (values.seed !== undefined) console.log(trace.join("\n"));
  if (violations.length > 0) {
    total.failed += 1;
    console.error(
      `simulate:runs: seed ${seed}: ${violations.slice(0, 3).join("\n  ")}\nAgain: pnpm simulate:runs --seed ${seed}`,
    );
    if (!values.all) process.exit(1);
  }
  if ((seed - first + 1) % 1_000 === 0) console.log(`${seed - first + 1} runs …`);
}
const seconds = ((performance.now() - startedAt) / 1_000).toFixed(1);
const what = `${count} runs from ${first}, ${total.replays} replays, ${total.events} events`;
console.log(`simulate:runs: ${what}, ${total.failed} differ, ${seconds} s`);
process.exit(total.failed === 0 ? 0 : 1);

import { parseArgs } from "node:util";
import { simulate } from "./simulate.ts";

// pnpm simulate [--seeds N] [--from K] [--seed S]: runs seeds until one fails, and tells what happened in it.
const { values } = parseArgs({
  options: {
    seeds: { type: "string", default: "2000" },
    from: { type: "string", default: "1" },
    seed: { type: "string" },
  },
});
const first = Number(values.seed ?? values.from);
const count = values.seed === undefined ? Number(values.seeds) : 1;
if (!Number.isInteger(first) || !Number.isInteger(count) || count < 1) {
  console.error("simulate: --seeds, --from and --seed take whole numbers.");
  process.exit(2);
}
process.on("unhandledRejection", (reason) => {
  console.error(`simulate: an unhandled rejection: ${String(reason)}`);
  process.exit(1);
});

const startedAt = performance.now();
for (let seed = first; seed < first + count; seed++) {
  const { violations, trace } = await simulate(seed);
  if (values.seed !== undefined) console.log(trace.join("\n"));
  if (violations.length > 0) {
    console.error(`simulate: seed ${seed}: ${violations[0]}`);
    if (values.seed === undefined) console.error(`${trace.slice(-30).join("\n")}\nAgain: pnpm simulate --seed ${seed}`);
    process.exit(1);
  }
  if ((seed - first + 1) % 500 === 0) console.log(`${seed - first + 1} seeds …`);
}
console.log(`${count} seeds from ${first}, no violation, ${((performance.now() - startedAt) / 1_000).toFixed(1)} s`);

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
if (!Number.isSafeInteger(first) || !Number.isSafeInteger(count) || count < 1 || first < 0) {
  console.error("simulate: --seeds, --from and --seed take whole numbers.");
  process.exit(2);
}
let current = first;
let rejection: string | undefined;
process.on("unhandledRejection", (reason) => {
  rejection ??= reason instanceof Error ? (reason.stack ?? reason.message) : String(reason);
});

// A stack costs as much as a handler's work; a seed that fails is run again by itself, which shows them.
if (values.seed === undefined) Error.stackTraceLimit = 0;
const startedAt = performance.now();
for (; current < first + count; current++) {
  const { violations, trace } = await simulate(current);
  if (values.seed !== undefined) console.log(trace.join("\n"));
  const found = violations[0] ?? (rejection === undefined ? undefined : `SEC-3 an unhandled rejection: ${rejection}`);
  if (found !== undefined) {
    const at = trace.findIndex((line) => line.startsWith("VIOLATION"));
    if (values.seed === undefined)
      console.error(trace.slice(Math.max(0, at - 25), at === -1 ? undefined : at + 3).join("\n"));
    console.error(`simulate: seed ${current}: ${found}\nAgain: pnpm simulate --seed ${current}`);
    process.exit(1);
  }
  if ((current - first + 1) % 1_000 === 0) console.log(`${current - first + 1} seeds …`);
}
const seconds = ((performance.now() - startedAt) / 1_000).toFixed(1);
console.log(`simulate: ${count} seeds from ${first}, no violation, ${seconds} s`);

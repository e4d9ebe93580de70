// pnpm simulate:kills [together] [host] [fleet] [--kills N] [--seed S]: processes that evaluate runs are killed with -9 at
// random moments. It exits 1 where a step was lost or done twice.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { testBundles } from "../../../../scripts/test-bundles.ts";
import { killAgainAndAgain } from "../../../journal/test/kills/campaign.ts";
import { noServer as noPostgres } from "../../../journal/test/postgres-server.ts";
import { noServer as noRedis } from "../redis-server.ts";
import { killWorkers } from "./fleet.ts";

/** How often each kind of process is killed. */
const usual = { together: 2_000, host: 500, fleet: 200 } as const;
type Kind = keyof typeof usual;
const kinds = Object.keys(usual) as readonly Kind[];

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { kills: { type: "string" }, seed: { type: "string", default: "1" } },
});
const unknown = positionals.filter((name) => !Object.hasOwn(usual, name));
const counts = [values.kills ?? "1", values.seed].map(Number);
if (unknown.length > 0 || !counts.every((count) => Number.isSafeInteger(count) && count > 0)) {
  console.error(`simulate:kills: it takes ${kinds.join(", ")}; --kills and --seed take whole numbers.`);
  process.exit(2);
}

/** Numbers from 0 to 1 that follow from a seed. Source: Mulberry32, Tommy Ettinger, public domain. */
function randomFrom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

const nodeArguments = ["--conditions=@proviso/source", "--import", await testBundles()];
let faults = 0;
for (const kind of kinds) {
  if (positionals.length > 0 && !positionals.includes(kind)) continue;
  const missing = kind === "fleet" ? (noPostgres ?? noRedis) : undefined;
  if (missing !== undefined) {
    console.log(`${kind}: ${missing}`);
    continue;
  }
  const folder = mkdtempSync(join(tmpdir(), `proviso-kills-${kind}-`));
  const kills = Number(values.kills ?? usual[kind]);
  const random = randomFrom(Number(values.seed));
  const progress = (kill: number): void => {
    if (kill % 50 === 0) console.log(`${kind}: ${kill} kills`);
  };
  const options = { folder, kills, random, nodeArguments, progress };
  const { faults: found, ...report } =
    kind === "fleet" ? await killWorkers(options) : await killAgainAndAgain({ ...options, place: kind });
  console.log(`${kind}: ${JSON.stringify(report)}`);
  for (const fault of found) console.log(`${kind}: ${fault}`);
  faults += found.length;
  if (found.length === 0) rmSync(folder, { recursive: true });
  else console.log(`${kind}: what the processes left is in ${folder}`);
}
process.exit(faults === 0 ? 0 : 1);

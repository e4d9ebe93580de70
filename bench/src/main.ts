import { readFileSync, writeFileSync } from "node:fs";
import { cpus } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { context } from "./context.ts";
import { estimation } from "./estimation.ts";
import { evals } from "./evals.ts";
import { overHttp } from "./http.ts";
import { inProcess, memory, scaling } from "./in-process.ts";
import { journal } from "./journal.ts";
import { isReached, table, withRows, type Row } from "./measure.ts";
import { modelIo } from "./model-io.ts";
import { rendering } from "./rendering.ts";
import { routing } from "./routing.ts";
import { see } from "./see.ts";
import { coldStart } from "./start.ts";
import { state } from "./state.ts";
import { streaming } from "./streaming.ts";
import { tokens } from "./tokens.ts";

const benches: Readonly<Record<string, (quick: boolean) => Promise<readonly Row[]> | readonly Row[]>> = {
  "in-process": inProcess,
  scaling,
  memory,
  state,
  streaming,
  rendering,
  estimation,
  evals,
  tokens,
  context,
  routing,
  journal,
  see,
  "model-io": modelIo,
  start: coldStart,
  http: overHttp,
};

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { quick: { type: "boolean", default: false }, write: { type: "boolean", default: false } },
});
const unknown = positionals.filter((name) => !Object.hasOwn(benches, name));
if (unknown.length > 0) {
  console.error(`bench: there is no ${unknown.join(", ")}; there are ${Object.keys(benches).join(", ")}.`);
  process.exit(2);
}

const rows: Row[] = [];
for (const [name, bench] of Object.entries(benches)) {
  if (positionals.length > 0 && !positionals.includes(name)) continue;
  const measured = await bench(values.quick);
  console.log(`\n${name}\n${table(measured)}`);
  rows.push(...measured);
}
const missed = rows.filter((row) => isReached(row) === false);
console.log(
  `\n${rows.length} rows, ${missed.length} missed${missed.length === 0 ? "" : `: ${missed.map(({ what }) => what).join("; ")}`}`,
);

if (values.write) {
  const file = join(import.meta.dirname, "..", "README.md");
  const [before = "", written = "", after = ""] = readFileSync(file, "utf8").split(/<!-- results -->/);
  const where = `Node ${process.versions.node}, ${cpus().length} cores (${cpus()[0]?.model ?? "unknown"}).`;
  // A part of the benchmarks replaces its own rows.
  const shown = positionals.length === 0 ? table(rows) : withRows(written, rows);
  writeFileSync(file, `${before}<!-- results -->\n\n${where}\n\n${shown}\n\n<!-- results -->${after}`);
}

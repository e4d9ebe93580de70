import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { median, row, type Row } from "./measure.ts";
import { seeObservers } from "./see-observers.ts";
import { seePage } from "./see-page.ts";
import { seeRuns } from "./see-runs.ts";

const root = join(import.meta.dirname, "..", "..");

/** What it costs to see what an evaluation did. */
export async function see(quick: boolean): Promise<readonly Row[]> {
  return [...(await seeObservers(quick)), ...(await seeRuns(quick)), ...(await seePage(quick)), help(quick)];
}

/** Fresh processes, from the built command. */
function help(quick: boolean): Row {
  const timed = (args: readonly string[]): number => {
    const at = performance.now();
    execFileSync(process.execPath, args, { stdio: "ignore" });
    return performance.now() - at;
  };
  const times: { readonly nothing: number[]; readonly help: number[] } = { nothing: [], help: [] };
  for (let round = 0; round < (quick ? 5 : 15); round++) {
    times.nothing.push(timed(["-e", "0"]));
    times.help.push(timed([join(root, "packages/cli/dist/cli.js"), "--help"]));
  }
  const [nothing, own] = [median(times.nothing), median(times.help)];
  const detail = `node -e 0 ${nothing.toFixed(0)} ms, proviso --help ${own.toFixed(0)} ms`;
  return row("proviso --help − node -e 0, ms", own - nothing, detail, "≤ 150");
}

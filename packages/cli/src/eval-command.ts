import { DefinitionError } from "@proviso/core";
import type { Eval, EvalReport } from "@proviso/evals";
import { limitsIn } from "./limits.ts";
import { importedModule } from "./load-module.ts";
import { installed } from "./optional-packages.ts";
import { progressOf } from "./progress.ts";
import { flag, readArguments, text, wholeNumber } from "./read-arguments.ts";
import { document, inOneLine } from "./terminal.ts";
import { didYouMean, UsageError } from "./usage.ts";
import type { ExitCode, World } from "./world.ts";

const help = `proviso eval FILE...: runs the evals that modules export, and prints their reports

  --filter NAME    only the eval of this name
  --concurrency N  attempts side by side, at most. Default 16
  --seed N         the order of the rows. Default 1
  --stop-early     ends when all gates are settled, at the same error rate
  --max-tokens N   tokens of all attempts of one eval together. Default: no limit
  --max-usd USD    US dollars of one eval; the model's price has to be known. Default: no limit
  --json           one JSON document with all reports
  --help

The adapters are those of the evals' variants. Ctrl-C ends the run: the report is of what there is.

Example: proviso eval triage.eval.ts --max-usd 0.5

Exit codes: 0 all gates pass; 1 one does not; 2 wrong usage, no attempt was made, or the same fault ended all of them; 130
interrupted.`;

const flags = {
  filter: text,
  concurrency: text,
  seed: text,
  "stop-early": flag,
  "max-tokens": text,
  "max-usd": text,
  json: flag,
  help: flag,
} as const;

type Evals = typeof import("@proviso/evals");

/**
 * Runs `proviso eval …`.
 * @throws {UsageError} for wrong usage, a module without evals, and where the package is not installed.
 */
export async function evalCommand(args: readonly string[], world: World): Promise<ExitCode> {
  const { values, positionals: files } = readArguments(args, flags);
  if (values.help === true) {
    world.out(help);
    return 0;
  }
  if (files.length === 0) throw new UsageError("eval takes the modules that export evals, not none");
  const { budget } = limitsIn({ "max-tokens": values["max-tokens"], "max-cost": values["max-usd"] }, "--max-usd");
  const { concurrency, seed } = values;
  const options = {
    budget,
    stopEarly: values["stop-early"] === true,
    concurrency: concurrency === undefined ? undefined : wholeNumber("--concurrency", concurrency, 1, 1e4),
    seed: seed === undefined ? undefined : wholeNumber("--seed", seed, 0, 1e12),
    clock: world.clock,
  };
  const packages = ["@proviso/evals", "@proviso/runtime"];
  const evals = await installed("proviso eval", packages, import("@proviso/evals"));
  const wanted = await evalsIn(files, values.filter, evals, world);
  const signal = world.interrupts.next();
  const reports: EvalReport[] = [];
  for (const one of wanted) {
    if (signal.aborted) break;
    const progress = progressOf(world);
    const onProgress: NonNullable<Parameters<Evals["runEval"]>[1]>["onProgress"] = ({ done, total, failed }) =>
      progress.show(`${one.name}: ${done} of ${total} attempts, ${failed} failed`);
    const report = await evals.runEval(one, { ...options, signal, onProgress }).catch((error: unknown) => {
      throw error instanceof DefinitionError ? new UsageError(error.message) : error;
    });
    progress.end();
    reports.push(report);
    if (values.json !== true) world.out(evals.formatReport(report, { width: widthOf(world) }).trimEnd());
    if (report.ended !== undefined) world.err(inOneLine(`${one.name} ended early: ${report.ended.message}`));
  }
  const passes = reports.every((report) => report.passes);
  if (values.json === true) world.out(document({ passes, reports }));
  if (signal.aborted) return 130;
  if (reports.some(({ attempts, ended }) => attempts.length === 0 || ended?.why === "systemic")) return 2;
  return passes ? 0 : 1;
}

/** A report is at least as wide as its numbers need. */
function widthOf({ stdout: { columns = 100 } }: World): number {
  return Math.max(80, columns);
}

/** The evals that modules export, each once. @throws {UsageError} where there is none. */
async function evalsIn(
  files: readonly string[],
  filter: string | undefined,
  { isEval }: Evals,
  { cwd }: World,
): Promise<readonly Eval[]> {
  const found = new Set<Eval>();
  for (const file of files) {
    const evals = Object.values(await importedModule(file, cwd)).filter(isEval);
    if (evals.length === 0) {
      throw new UsageError(`${file} exports no eval that was made by this installation's defineEval`);
    }
    for (const one of evals) found.add(one);
  }
  const wanted = [...found].filter(({ name }) => filter === undefined || name === filter);
  if (wanted.length > 0) return wanted;
  const names = [...found].map(({ name }) => name);
  throw new UsageError(`there is no eval ${filter}, but ${names.join(", ")}${didYouMean(filter ?? "", names)}`);
}

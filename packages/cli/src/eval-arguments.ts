import { defaultEvals } from "./config.ts";
import { limitsIn } from "./limits.ts";
import { flag, readArguments, text, wholeNumber } from "./read-arguments.ts";
import { shown, UsageError } from "./usage.ts";

export const evalHelp = `proviso eval FILE...: runs the evals that modules export, and prints their reports

  --filter NAME    only the eval of this name

A part of an eval:
  --rows ID,...    only the rows of these ids
  --sample N       N rows, drawn by the seed; a larger sample has the smaller one in it
  --variant NAME   only this variant; may be given several times, and the first one by definition is the baseline
  --repeat N       attempts of each row and variant

How it runs:
  --concurrency N  attempts side by side, at most. Default 16
  --seed N         the order of the rows. Default 1
  --stop-early     ends when all gates are settled, at the same error rate
  --max-tokens N   tokens of all attempts of one eval together. Default: no limit
  --max-usd USD    US dollars of one eval; the model's price has to be known. Default: no limit
  --part-is-fine   exits by the gates, also where a limit ended a run before all attempts were made

What is kept:
  --store FILE     where attempts are kept: a later run asks only what is missing. Default .proviso/evals.sqlite
  --runs PATH      records each evaluation in this journal, a file or a folder; proviso view then opens an attempt's runs.
                   Default: nothing is recorded
  --fresh          uses nothing of earlier runs
  --retry-failed   tries again what failed for a reason outside of the prompt, a rate limit for example

What it is compared with, and what it writes; for one eval:
  --compare FILE   a saved run is the baseline
  --save FILE      saves the run: ids, hashes and scores, no texts. Not where it is interrupted
  --junit FILE     writes the gates as JUnit XML
  --json           one JSON document with all reports
  --help

The adapters are those of the evals' variants. Ctrl-C ends the run: the report is of what there is, and the next run goes on.

Example: proviso eval triage.eval.ts --sample 50 --max-usd 0.5

Exit codes: 0 all gates pass; 1 one does not, or a later eval could not be run; 2 wrong usage, no attempt was made, or the
same fault ended all of them, or the surroundings (a service that is down) failed all of a variant; 3 none fails, and a limit
ended a run before all attempts were made; 130 interrupted.`;

const flags = {
  filter: text,
  rows: text,
  sample: text,
  variant: { type: "string", multiple: true },
  repeat: text,
  concurrency: text,
  seed: text,
  "stop-early": flag,
  "max-tokens": text,
  "max-usd": text,
  "part-is-fine": flag,
  store: text,
  runs: text,
  fresh: flag,
  "retry-failed": flag,
  compare: text,
  save: text,
  junit: text,
  json: flag,
  help: flag,
} as const;

/** Reads what a command line asks for. @throws {UsageError} for an unknown flag or value, and for no module. */
export function readEvalArguments(args: readonly string[]) {
  const { values, positionals: files } = readArguments(args, flags);
  if (values.help === true) return "help";
  if (files.length === 0) throw new UsageError("eval takes the modules that export evals, not none");
  const { fresh, filter, compare, save, junit, rows, store = defaultEvals } = values;
  if (fresh === true && values["retry-failed"] === true) throw new UsageError("give --fresh or --retry-failed");
  const number = (name: "repeat" | "sample" | "concurrency" | "seed", least: number, most: number) => {
    const given = values[name];
    return given === undefined ? undefined : wholeNumber(`--${name}`, given, least, most);
  };
  const resume = fresh === true ? "fresh" : values["retry-failed"] === true ? "retry-failed" : "resume";
  return {
    files,
    filter,
    isJson: values.json === true,
    isPartFine: values["part-is-fine"] === true,
    store,
    runs: values.runs,
    compare,
    save,
    junit,
    options: {
      onlyRows: rows === undefined ? undefined : idsIn(rows),
      onlyVariants: values.variant,
      sampleSize: number("sample", 1, 1e9),
      repetitions: number("repeat", 1, 1e4),
      concurrency: number("concurrency", 1, 1e4),
      seed: number("seed", 0, 1e12),
      stopEarly: values["stop-early"] === true,
      budget: limitsIn({ "max-tokens": values["max-tokens"], "max-cost": values["max-usd"] }, "--max-usd").budget,
      resume,
    },
  } as const;
}

function idsIn(given: string): readonly string[] {
  const ids = given.split(",").map((id) => id.trim());
  if (ids.every((id) => id !== "")) return ids;
  throw new UsageError(`--rows takes ids with commas between them, not ${shown(given)}`);
}

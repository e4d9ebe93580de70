import { DefinitionError, JournalError, type EvalReader, type RunReader } from "@proviso/core";
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { defaultEvals, runsPath } from "./config.ts";
import { fired } from "./interrupts.ts";
import { installed } from "./optional-packages.ts";
import { flag, readArguments, text, wholeNumber } from "./read-arguments.ts";
import { document } from "./terminal.ts";
import { shown, UsageError } from "./usage.ts";
import type { ExitCode, World } from "./world.ts";

const help = `proviso view [PATH]: a local page that shows the runs of a journal, and of evals

  PATH             the journal: a file or a folder. Default .proviso/runs.db. A file of evals can stand here too: then the
                   journal is the default one, if it is there

  --evals FILE     attempts that proviso eval has kept, or a run that it has saved; may be given several times. Default
                   .proviso/evals.sqlite, if it is there
  --port N         default: a free one
  --json           the address as one JSON document
  --help

Open the address that it prints, with what follows the "#": without it nothing is shown. The page listens on 127.0.0.1
alone and changes nothing. Runs that other processes record appear as they are written. Ctrl-C ends it.

Example: proviso view runs.db

Exit codes: 130 interrupted, which is how it ends; 2 wrong usage, no journal, or a package is missing.`;

const flags = { port: text, evals: { type: "string", multiple: true }, json: flag, help: flag } as const;

/**
 * Runs `proviso view …`: serves the page until it is interrupted.
 * @throws {UsageError} for wrong usage, a journal that cannot be read, and where the viewer is not installed.
 */
export async function viewCommand(args: readonly string[], world: World): Promise<ExitCode> {
  const { values, positionals } = readArguments(args, flags);
  if (values.help === true) {
    world.out(help);
    return 0;
  }
  const [path, ...others] = positionals;
  if (others.length > 0) throw new UsageError(`view takes one journal, not ${positionals.map(shown).join(" ")}`);
  const port = values.port === undefined ? 0 : wholeNumber("--port", values.port, 0, 65_535);
  const packages = ["@proviso/viewer", "@proviso/journal", "@proviso/runtime"];
  const { openRuns, startViewer } = await installed("proviso view", packages, import("@proviso/viewer"));
  const interrupted = world.interrupts.next();
  try {
    const shown = await shownBy(path, values.evals, world);
    await using runs = shown.runs === undefined ? await noRuns() : openRuns(shown.runs);
    // A journal that cannot be read is refused before the page is served.
    await runs.list({ limit: 1 });
    using evals = shown.evals;
    await evals?.list();
    await using viewer = await startViewer({ runs, evals, port, clock: world.clock });
    const { url } = viewer;
    world.out(values.json === true ? document({ url, port: viewer.port }) : `Open ${url}`);
    await fired(interrupted);
  } catch (error) {
    if (error instanceof JournalError || error instanceof DefinitionError) throw new UsageError(error.message);
    throw error;
  }
  return 130;
}

interface Shown {
  /** The path of the journal; undefined: there is none. */
  readonly runs: string | undefined;
  readonly evals: (EvalReader & Disposable) | undefined;
}

/** Returns what the page shows. @throws {DefinitionError} for a file that has no evals. */
async function shownBy(path: string | undefined, named: readonly string[] = [], world: World): Promise<Shown> {
  const { cwd } = world;
  const files = named.map((file) => resolve(cwd, file));
  const kept = resolve(cwd, defaultEvals);
  const wanted = path === undefined ? [] : [resolve(cwd, path)];
  const candidates = [...files, ...wanted, kept].filter((file) => existsSync(file));
  if (candidates.length === 0 && files.length === 0) return { runs: await runsPath(path, cwd), evals: undefined };
  const node = await evalsPackage(files.length > 0);
  const isOfEvals = wanted.some((file) => node?.isEvalStore(file) === true);
  if (isOfEvals) files.push(...wanted);
  else if (files.length === 0 && node?.isEvalStore(kept) === true) files.push(kept);
  const evals = files.length === 0 ? undefined : node?.openEvals(...files);
  if (!isOfEvals) return { runs: await runsPath(path, cwd), evals };
  const runs = await runsPath(undefined, cwd);
  return { runs: existsSync(runs) ? runs : undefined, evals };
}

/** undefined: it is not installed, and nothing asks for it. */
async function evalsPackage(isNeeded: boolean): Promise<typeof import("@proviso/evals/node") | undefined> {
  const loading = installed("--evals", ["@proviso/evals", "@proviso/runtime"], import("@proviso/evals/node"));
  return isNeeded ? loading : loading.catch(() => undefined);
}

/** A journal without runs. */
async function noRuns(): Promise<RunReader & AsyncDisposable> {
  const [{ memoryJournal }, { journalRuns }] = await Promise.all([
    import("@proviso/journal"),
    import("@proviso/viewer"),
  ]);
  return { ...journalRuns(memoryJournal()), [Symbol.asyncDispose]: async () => {} };
}

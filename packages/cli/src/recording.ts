import { DefinitionError, JournalError, type JournalRun } from "@proviso/core";
import { resolve, sep } from "node:path";
import { defaultRuns, type ProvisoConfig } from "./config.ts";
import { installed } from "./optional-packages.ts";
import { flag, text } from "./read-arguments.ts";
import { UsageError } from "./usage.ts";
import type { World } from "./world.ts";

/** The flags that say where runs are recorded. */
export const recordingFlags = { runs: text, "no-runs": flag } as const;

export const recordingHelp = `  --runs PATH      records it in this journal, a file or a folder. Default .proviso/runs.db
  --no-runs        records nothing`;

/** Where evaluations are recorded. */
export interface Recording extends AsyncDisposable {
  /** A new run. */
  run(): JournalRun;
  /** Whether something of the run is recorded. */
  has(id: string): Promise<boolean>;
}

/**
 * Opens the journal that a command records to. undefined: nothing is recorded, because that is wanted, or because the
 * journal is not installed and nothing asks for it.
 * @throws {UsageError} for a journal that cannot be opened, or that is asked for and not installed.
 */
export async function recordingFor(
  values: { readonly runs?: string | undefined; readonly "no-runs"?: boolean | undefined },
  config: ProvisoConfig,
  world: World,
): Promise<Recording | undefined> {
  if (values["no-runs"] === true) {
    if (values.runs !== undefined) throw new UsageError("give --runs or --no-runs");
    return undefined;
  }
  const asked = values.runs ?? config.runs;
  if (asked === false) return undefined;
  const loading = import("@proviso/journal/internal");
  try {
    const { journalAt } = await installed("--runs", ["@proviso/journal"], loading);
    const path = resolve(world.cwd, asked ?? defaultRuns);
    const journal = journalAt(/[/\\]$/.test(asked ?? "") ? `${path}${sep}` : path);
    return {
      run: () => journal.run(),
      has: async (id) => (await journal.describe(id)) !== undefined,
      [Symbol.asyncDispose]: () => journal.close(),
    };
  } catch (error) {
    if (error instanceof JournalError || error instanceof DefinitionError) throw new UsageError(error.message);
    if (!(error instanceof UsageError) || asked !== undefined) throw error;
    world.err("it is not recorded: npm install --save-dev @proviso/journal");
    return undefined;
  }
}

import { randomUUID } from "node:crypto";
import { JournalError } from "@proviso/core";
import { sqliteJournal, type SqliteJournal } from "@proviso/journal/node";
import { UsageError, type RunsFile } from "./command-line.ts";
import { review } from "./review-prompt.ts";

const prompt = `${review.ns}/${review.key}`;
const mostKept = 100;

/**
 * Opens the journal of the reviews, and makes its folder.
 * @throws {UsageError} for a file that is none.
 */
export function openRecord({ path }: RunsFile): SqliteJournal {
  try {
    return sqliteJournal(path, { retention: { runs: mostKept } });
  } catch (error) {
    throw error instanceof JournalError ? new UsageError(`reviews cannot be recorded: ${error.message}`) : error;
  }
}

/** A run to begin, or one to go on with. */
export interface ChosenRun {
  readonly id: string;
  /** What its record has. undefined: it is new. */
  readonly steps: number | undefined;
}

/** Returns the newest review with this request that has no answer, where that is wanted and there is one; else a new run. */
export async function chooseRun(journal: SqliteJournal, request: string, resume: boolean): Promise<ChosenRun> {
  if (resume) {
    for await (const { id } of journal.list({ prompt, state: ["open", "failed"] })) {
      const run = await journal.describe(id);
      if ((run?.params as { readonly request?: unknown } | undefined)?.request === request)
        return { id, steps: run?.steps };
    }
  }
  return { id: `review-${randomUUID().slice(0, 8)}`, steps: undefined };
}

/** The command that opens a run in the viewer. */
export function viewCommand(id: string, { given }: RunsFile): string {
  return `npx -y pnpm@12 demo --view ${id}${given === undefined ? "" : ` --runs ${given}`}`;
}

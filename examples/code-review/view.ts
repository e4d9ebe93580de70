import { once } from "node:events";
import { DefinitionError, JournalError } from "@proviso/core";
import { openRuns, startViewer } from "@proviso/viewer";
import { buildPage } from "../../scripts/page.ts";
import { UsageError, type Viewing } from "./command-line.ts";
import { notes } from "./review-prompt.ts";

/**
 * Serves a recorded review on a local page, until the signal fires.
 * @throws {UsageError} where there is no such run.
 */
export async function view({ runs: { path }, run, json }: Viewing, signal: AbortSignal): Promise<void> {
  try {
    await using runs = openRuns(path, { slices: [notes] });
    const id = run ?? (await runs.list({ limit: 1 })).runs[0]?.runId;
    if (id === undefined || (await runs.summary(id)) === undefined) {
      throw new UsageError(
        `there is no recorded review${run === undefined ? "" : ` ${run}`} in ${path}; run the demo first.`,
      );
    }
    // Nothing of this repository has to be built before; a package that is installed has its page.
    await buildPage();
    await using viewer = await startViewer({ runs });
    const url = `${viewer.url}&/run/${encodeURIComponent(id)}`;
    process.stdout.write(json ? `${JSON.stringify({ url })}\n` : `Open ${url}\nCtrl-C ends it.\n`);
    if (!signal.aborted) await once(signal, "abort");
  } catch (error) {
    if (error instanceof JournalError || error instanceof DefinitionError) throw new UsageError(error.message);
    throw error;
  }
}

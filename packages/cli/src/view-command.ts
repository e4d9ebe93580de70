import { DefinitionError, JournalError } from "@proviso/core";
import { runsPath } from "./config.ts";
import { fired } from "./interrupts.ts";
import { installed } from "./optional-packages.ts";
import { flag, readArguments, text, wholeNumber } from "./read-arguments.ts";
import { document } from "./terminal.ts";
import { UsageError } from "./usage.ts";
import type { ExitCode, World } from "./world.ts";

const help = `proviso view [PATH]: a local page that shows the runs of a journal

  PATH             the journal: a file or a folder. Default .proviso/runs.db

  --port N         default: a free one
  --json           the address as one JSON document
  --help

Open the address that it prints, with what follows the "#": without it nothing is shown. The page listens on 127.0.0.1
alone and changes nothing. Runs that other processes record appear as they are written. Ctrl-C ends it.

Example: proviso view runs.db

Exit codes: 130 interrupted, which is how it ends; 2 wrong usage, no journal, or a package is missing.`;

/**
 * Runs `proviso view …`: serves the page until it is interrupted.
 * @throws {UsageError} for wrong usage, a journal that cannot be read, and where the viewer is not installed.
 */
export async function viewCommand(args: readonly string[], world: World): Promise<ExitCode> {
  const { values, positionals } = readArguments(args, { port: text, json: flag, help: flag });
  if (values.help === true) {
    world.out(help);
    return 0;
  }
  const [path, ...others] = positionals;
  if (others.length > 0) throw new UsageError(`view takes one journal, not ${positionals.join(" ")}`);
  const port = values.port === undefined ? 0 : wholeNumber("--port", values.port, 0, 65_535);
  const packages = ["@proviso/viewer", "@proviso/journal", "@proviso/runtime"];
  const { openRuns, startViewer } = await installed("proviso view", packages, import("@proviso/viewer"));
  const interrupted = world.interrupts.next();
  try {
    await using runs = openRuns(await runsPath(path, world.cwd));
    // A journal that cannot be read is refused before the page is served.
    await runs.list({ limit: 1 });
    await using viewer = await startViewer({ runs, port, clock: world.clock });
    const { url } = viewer;
    world.out(values.json === true ? document({ url, port: viewer.port }) : `Open ${url}`);
    await fired(interrupted);
  } catch (error) {
    if (error instanceof JournalError || error instanceof DefinitionError) throw new UsageError(error.message);
    throw error;
  }
  return 130;
}

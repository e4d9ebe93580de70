import { DefinitionError, isEvaluationFailure, JournalError, RunError } from "@proviso/core";
import { runsPath } from "./config.ts";
import { installed } from "./optional-packages.ts";
import { promptAt } from "./prompts.ts";
import { noRun, type RunsRequest } from "./runs-arguments.ts";
import { document, inOneLine } from "./terminal.ts";
import { UsageError } from "./usage.ts";
import type { World } from "./world.ts";

/**
 * Runs `proviso runs replay RUN PROMPT`: a recorded run through the code of today. Nothing is asked and nothing is written.
 * @throws {UsageError} for a journal that cannot be read, a prompt that is not there, and where the journal is not
 * installed.
 */
export async function replayCommand(
  { ids: [id = "", reference = ""], path, isJson, runsTools }: RunsRequest,
  world: World,
) {
  const packages = ["@proviso/journal", "@proviso/runtime"];
  const loading = Promise.all([
    import("@proviso/journal"),
    import("@proviso/journal/internal"),
    import("@proviso/journal/testing"),
  ]);
  const [{ createJournal }, stores, { replay }] = await installed("proviso runs replay", packages, loading);
  const { template } = await promptAt(reference, world.cwd);
  const at = await runsPath(path, world.cwd);
  try {
    await using journal = createJournal(openedStore(at, stores.storeToRead));
    const { response, failure, events } = await replay(
      template,
      journal.replay(id, { tools: runsTools ? "run" : "recorded" }),
    );
    const outcome = response === undefined ? "failed" : "executed";
    const why = response === undefined ? `: ${failure?.message ?? ""}` : "";
    const same = { runId: id, same: true, events: events.length, outcome };
    world.out(isJson ? document(same) : inOneLine(`The same for all ${events.length} events; ${outcome}${why}`));
    return 0;
  } catch (error) {
    if (error instanceof RunError) return refused(error, id, isJson, world);
    // The prompt of today cannot be rendered, for example.
    if (isEvaluationFailure(error)) return failed({ code: error.code, message: error.message }, isJson, world);
    if (error instanceof DefinitionError) throw new UsageError(error.message);
    if (error instanceof JournalError) return withoutRun(error, id, isJson, world);
    throw error;
  }
}

/** @throws {UsageError} for a journal that is not there or cannot be read. */
function openedStore<Store>(path: string, open: (path: string) => Store): Store {
  try {
    return open(path);
  } catch (error) {
    throw error instanceof JournalError ? new UsageError(error.message) : error;
  }
}

/** A run that differs, or that is not there. */
function refused(error: RunError, id: string, isJson: boolean, world: World): 1 {
  const { cause, divergence, reason, message } = error;
  if (cause instanceof JournalError) return withoutRun(cause, id, isJson, world);
  if (divergence === undefined) return failed({ code: reason, message }, isJson, world);
  world.out(isJson ? document({ runId: id, same: false, divergence }) : inOneLine(message));
  return 1;
}

/** @throws {UsageError} for a journal that cannot be read at all. */
function withoutRun({ reason, message }: JournalError, id: string, isJson: boolean, world: World): 1 {
  if (reason !== "not_found") throw new UsageError(message);
  return failed(noRun(id), isJson, world);
}

function failed(error: { readonly code: string; readonly message: string }, isJson: boolean, world: World): 1 {
  if (isJson) world.out(document({ error }));
  world.err(inOneLine(error.message));
  return 1;
}

import { DefinitionError, JournalError, RunError, type JournalRun } from "@proviso/core";
import { describeValue, noUsage } from "@proviso/core/internal";
import { journalRun, type OpenTape, type RecordedBeginning } from "./run-value.ts";
import type { RunSource } from "./entries.ts";
import { RecordedTape } from "./tape.ts";

const modes = new Set<unknown>(["run", "replay", "fork"]);

/**
 * Makes a run of a source, for the option `run` of `evaluate`: `createJournal` makes sources of a store.
 * @throws {DefinitionError} for what is no source.
 */
export function runOf(source: RunSource): JournalRun {
  if (typeof source?.open !== "function" || typeof source.append !== "function" || !modes.has(source.mode)) {
    throw new DefinitionError(`runOf needs a RunSource, not ${describeValue(source)}.`);
  }
  return journalRun(
    source.id,
    (...given) => open(source, ...given),
    () => beginningOf(source),
  );
}

async function beginningOf(source: RunSource): Promise<RecordedBeginning> {
  const { entries } = await source.open();
  await source.close();
  const [begun] = entries;
  if (begun?.kind === "begun") return begun;
  throw new JournalError(`The run "${source.id}" has not begun.`, { reason: "not_found", run: source.id });
}

async function open(source: RunSource, ...given: Parameters<OpenTape>): Promise<RecordedTape> {
  const [setup, prompt, options, evaluationId] = given;
  const nothing = {
    promptName: prompt?.template?.name ?? "(no prompt)",
    usage: noUsage,
    messages: [],
    toolResults: [],
  };
  const refuse = (reason: RunError["reason"], message: string, cause?: unknown): RunError =>
    new RunError(message, { ...nothing, phase: "render", reason, runId: source.id, cause });
  if (!setup.isModel) {
    const what = `${setup.provider.name} runs its own loop: the run "${source.id}" cannot be recorded. Leave out the option run.`;
    throw refuse("agent", what);
  }
  try {
    const opened = await source.open();
    return new RecordedTape(source, opened, setup.world, { options, evaluationId });
  } catch (cause) {
    if (cause instanceof JournalError) {
      const reason = cause.reason === "busy" || cause.reason === "fenced" ? cause.reason : "journal";
      throw refuse(reason, `The run "${source.id}" cannot be used: ${cause.message}`, cause);
    }
    throw cause;
  }
}

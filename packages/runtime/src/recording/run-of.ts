import {
  DefinitionError,
  isEvaluationFailure,
  JournalError,
  OptionError,
  RunError,
  type JournalRun,
  type Prompt,
  type RunFault,
} from "@proviso/core";
import { describeValue, messageOf, noUsage } from "@proviso/core/internal";
import { errorOf } from "../failures.ts";
import { limitMetBy } from "./in-time.ts";
import { noEnclosing } from "../transactions/session-view.ts";
import { lastGiven } from "./begun.ts";
import { journalRun, type OpenTape, type RecordedBeginning } from "./run-value.ts";
import type { RunSource } from "./run-source.ts";
import { RecordedTape } from "./tape.ts";
import { endlessWaitFor } from "./together.ts";

const modes = new Set<unknown>(Object.keys({ run: 0, replay: 0, fork: 0 } satisfies Record<RunSource["mode"], 0>));

/**
 * Makes a run of a source, for the option `run` of `evaluate`: `createJournal` makes sources of a store.
 * @throws {DefinitionError} for what is no source.
 */
export function runOf(source: RunSource): JournalRun {
  if (typeof source?.open !== "function" || typeof source.append !== "function" || !modes.has(source.mode)) {
    throw new DefinitionError(`runOf needs a RunSource, not ${describeValue(source)}.`);
  }
  return journalRun(
    source,
    (...given) => open(source, ...given),
    () => beginningOf(source),
  );
}

async function beginningOf(source: RunSource): Promise<RecordedBeginning> {
  const { entries } = await source.open();
  await source.close();
  const [begun] = entries;
  const kinds = entries.flatMap((entry) =>
    entry.kind === "asked" && entry.evaluationId === begun?.evaluationId
      ? [{ turn: entry.turn, isAgent: entry.isAgent === true }]
      : [],
  );
  const isAgent = kinds[0]?.isAgent === true;
  const ofAgents = kinds.filter((kind) => kind.isAgent);
  const isMixed = ofAgents.length > 0 && ofAgents.length < kinds.length;
  const agentTurns = isMixed ? new Set(ofAgents.map(({ turn }) => turn)) : undefined;
  const given = lastGiven(entries);
  if (given !== undefined) return { ...given, isAgent, agentTurns };
  throw new JournalError(`The run "${source.id}" has not begun.`, { reason: "not_found", run: source.id });
}

async function open(source: RunSource, ...given: Parameters<OpenTape>): Promise<RecordedTape> {
  const [{ world }, prompt, options, { parent, startedIn } = noEnclosing] = given;
  const around = parent ?? startedIn;
  const { id } = source;
  const details = {
    promptName: nameOf(prompt),
    usage: noUsage,
    messages: [],
    toolResults: [],
    phase: "render" as const,
  };
  const refuse = (reason: RunFault, message: string, cause?: unknown): RunError =>
    new RunError(message, { ...details, reason, runId: id, cause });
  const endless = source.mode === "replay" ? undefined : endlessWaitFor(source, around);
  if (endless !== undefined) throw errorOf({ ...endless, phase: "render" }, details);
  try {
    const opening = source.open();
    const late = await limitMetBy(opening, options, world.clock);
    if (late !== undefined) {
      void opening.then(() => source.close()).catch(() => {});
      throw errorOf({ ...late, phase: "render" }, details);
    }
    return new RecordedTape(source, await opening, { world, options, around });
  } catch (cause) {
    if (isEvaluationFailure(cause)) throw cause;
    const reason = cause instanceof JournalError ? cause.reason : "failed";
    // A run that is in use stays with the evaluation that has it.
    if (reason !== "busy") await source.close().catch(() => {});
    const message = `The run "${id}" cannot be used: ${messageOf(cause)}`;
    if (cause instanceof DefinitionError) throw new OptionError(message, { ...details, option: "run", cause });
    throw refuse(reason === "busy" || reason === "fenced" ? reason : "journal", message, cause);
  }
}

/** A prompt that cannot be read has no name: the evaluation refuses it later. */
function nameOf(prompt: Prompt): string {
  try {
    return prompt.template.name;
  } catch {
    return "(no prompt)";
  }
}

// The value of the option `run`: it brings the code of recording along.
import { DefinitionError, type EvaluateOptions, type JournalRun, type Prompt } from "@proviso/core";
import { describeValue } from "@proviso/core/internal";
import { isRecord } from "@proviso/core/provider";
import type { Run, Setup } from "../run.ts";
import type { Enclosing } from "../transactions/session-view.ts";
import type { Tape } from "./contract.ts";
import type { RunJournal } from "./run-journal.ts";
import type { RunSource } from "./run-source.ts";

/** What a recorded run began with. */
export interface RecordedBeginning {
  /** `namespace/key` of the prompt. */
  readonly prompt: string;
  /** The params as JSON. */
  readonly params: unknown;
  /** The name of the adapter. */
  readonly adapter: string;
  /** The model. */
  readonly model: string;
  /** Whether the model was given the schema of the output. */
  readonly nativeOutput: boolean;
  /** Whether an agent was asked first, and not a model. */
  readonly isAgent: boolean;
  /** The turns in which agents were asked, where models were asked in others; undefined: all were of one kind. */
  readonly agentTurns: ReadonlySet<number> | undefined;
  /** The session that it had. */
  readonly session: { readonly id: string };
}

/** Opens the record of a run; `enclosing` is where the evaluation begins. @throws {EvaluationFailure} */
export type OpenTape = (
  setup: Setup,
  prompt: Prompt,
  options: EvaluateOptions,
  enclosing: Enclosing | undefined,
) => Promise<Tape<Run>>;

/** The value of the option `run`, which brings its code along. */
class RecordedRun {
  readonly id: string;
  readonly #mode: RunSource["mode"];
  readonly #open: OpenTape;
  readonly #read: () => Promise<RecordedBeginning>;

  constructor(id: string, mode: RunSource["mode"], open: OpenTape, read: () => Promise<RecordedBeginning>) {
    this.id = id;
    this.#mode = mode;
    this.#open = open;
    this.#read = read;
  }

  static openerOf(run: RecordedRun): OpenTape {
    return run.#open;
  }

  /** @throws {DefinitionError} for a run that is not replayed: reading it would begin or continue it. */
  static read(run: RecordedRun): Promise<RecordedBeginning> {
    if (run.#mode === "replay") return run.#read();
    throw new DefinitionError(`The run "${run.id}" cannot be replayed so: give journal.replay("${run.id}").`);
  }
}

/** Makes the value of the option `run`. */
export function journalRun(
  { id, mode }: Pick<RunSource, "id" | "mode">,
  open: OpenTape,
  read: () => Promise<RecordedBeginning>,
): JournalRun {
  return Object.freeze(new RecordedRun(id, mode, open, read)) as unknown as JournalRun;
}

/**
 * Reads what a run began with.
 * @throws {DefinitionError} for anything but what `journal.replay` returns. {JournalError} for a run that has not begun.
 */
export async function recordedBeginning(run: JournalRun): Promise<RecordedBeginning> {
  const given: unknown = run;
  if (given instanceof RecordedRun) return RecordedRun.read(given);
  throw new DefinitionError(`replay needs journal.replay(id), not ${describeValue(given)}.`);
}

/** Gives an evaluation that has no run one of its adapter's journal. What throws is no run, which the evaluation refuses. */
function withRun(options: EvaluateOptions, journal: RunJournal | undefined): EvaluateOptions {
  if (journal === undefined || !isRecord(options) || options.run !== undefined) return options;
  try {
    return { ...options, run: journal.run() };
  } catch (cause) {
    return { ...options, run: cause as never };
  }
}

/** undefined: the options have no run, or none that can be read, which the evaluation refuses later. */
function openerIn(options: EvaluateOptions): OpenTape | undefined {
  try {
    return openerOf((options as EvaluateOptions | undefined)?.run);
  } catch {
    return undefined;
  }
}

/** What an evaluation is recorded in. */
export interface OwnRecord {
  /** The options with their run. */
  readonly options: EvaluateOptions;
  /** Opens the record; undefined: it has none of its own, or refuses its run. */
  readonly open: OpenTape | undefined;
}

/** Returns what an evaluation is recorded in. One inside another has no record of its own: it is part of what is recorded. */
export function ownRecordOf(
  given: EvaluateOptions,
  journal: RunJournal | undefined,
  around: { readonly nesting?: unknown; readonly tape?: unknown },
): OwnRecord {
  if (around.nesting !== undefined || around.tape !== undefined) return { options: given, open: undefined };
  const options = withRun(given, journal);
  return { options, open: openerIn(options) };
}

/** undefined: it is not a run that a journal made. */
export function openerOf(run: unknown): OpenTape | undefined {
  return run instanceof RecordedRun ? RecordedRun.openerOf(run) : undefined;
}

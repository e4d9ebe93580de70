// The value of the option `run`: it brings the code of recording along.
import type { EvaluateOptions, JournalRun, Prompt } from "@proviso/core";
import type { Run, Setup } from "../run.ts";
import type { Tape } from "./contract.ts";

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
  /** The session that it had. */
  readonly session: { readonly id: string };
}

/** Opens the record of a run. @throws {EvaluationFailure} */
export type OpenTape = (
  setup: Setup,
  prompt: Prompt,
  options: EvaluateOptions,
  /** The id that was made for the evaluation; undefined: none was. */
  evaluationId: string | undefined,
) => Promise<Tape<Run>>;

/** The value of the option `run`, which brings its code along. */
class RecordedRun {
  readonly id: string;
  readonly #open: OpenTape;
  readonly #read: () => Promise<RecordedBeginning>;

  constructor(id: string, open: OpenTape, read: () => Promise<RecordedBeginning>) {
    this.id = id;
    this.#open = open;
    this.#read = read;
  }

  static openerOf(run: RecordedRun): OpenTape {
    return run.#open;
  }

  static read(run: RecordedRun): Promise<RecordedBeginning> {
    return run.#read();
  }
}

/** Makes the value of the option `run`. */
export function journalRun(id: string, open: OpenTape, read: () => Promise<RecordedBeginning>): JournalRun {
  return Object.freeze(new RecordedRun(id, open, read)) as unknown as JournalRun;
}

/** Reads what a run began with. @throws {JournalError} for one that has not begun. */
export function recordedBeginning(run: JournalRun): Promise<RecordedBeginning> {
  return RecordedRun.read(run as unknown as RecordedRun);
}

/** undefined: the options have no run, or none that can be read, which the evaluation refuses later. */
export function openerIn(options: EvaluateOptions | undefined): OpenTape | undefined {
  try {
    return openerOf(options?.run);
  } catch {
    return undefined;
  }
}

/** undefined: it is not a run that a journal made. */
export function openerOf(run: unknown): OpenTape | undefined {
  return run instanceof RecordedRun ? RecordedRun.openerOf(run) : undefined;
}

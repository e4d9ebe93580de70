declare const brand: unique symbol;

/**
 * One run of a journal, for the option `run` of `evaluate` and `stream`: made by `journal.run`, `journal.replay` or
 * `journal.fork`. It serves one evaluation at a time, as often as wanted: a run that has ended answers from its record.
 */
export interface JournalRun {
  /** The id of the run in its journal. */
  readonly id: string;
  /** A mark for the compiler alone, so that no other object is taken for a run: no such field exists. */
  readonly [brand]: true;
}

/** How much of a response came from the record of its run. */
export interface RunFacts {
  /** The id of the run. */
  readonly id: string;
  /** 1 for a run that was never continued; it grows with each continuation. */
  readonly attempt: number;
  /** How many steps, answers of the model and tool calls, were taken from the record. */
  readonly keptSteps: number;
}

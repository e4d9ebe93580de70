/** Some entries of a run that are kept as one. A store takes the body as a text; what it means is the journal's affair. */
export interface Frame {
  /** The id of the run: 1 to 200 UTF-16 units without control characters and half surrogate pairs. */
  readonly run: string;
  /** The index of its first entry in the run, from 0. */
  readonly first: number;
  /** How many entries it has, at least 1. */
  readonly count: number;
  /** Names one attempt of one process; no other one has ever had it. */
  readonly writer: string;
  /**
   * The writer of the first frame of the run that it goes on with, as its own writer read it. It is for `append` alone, and
   * need not be kept. Left out where `first` is 0, and on what is read.
   */
  readonly begunBy?: string | undefined;
  /** The entries. */
  readonly body: string;
  /** The CRC-32 of run, first and body. */
  readonly sum: number;
  /** The JSON of the run's summary after this frame. */
  readonly summary: string;
}

/** Where a store says how many bytes a crash left half written at the end of a run. */
export const tornBytes = Symbol("tornBytes");

/**
 * Where frames are kept. Appending is the lock: a frame is kept only where its run is the one that its writer opened, and
 * exactly as long as that writer believes. So a writer that another one took over from is refused with its next frame, and
 * so is one whose run was removed, also where another run has its id by now. Each method happens as a whole or
 * not at all, also between several processes. After `close` each of them rejects with a JournalError "closed".
 */
export interface JournalStore {
  /** Names the store in errors. */
  readonly name: string;
  /**
   * Keeps all frames that are not refused, at once; resolves when they would survive a crash. Frames of one call are taken
   * in their order. A frame is refused, "fenced", when its run is not exactly `first` entries long, or has a first frame whose
   * writer is not `begunBy`, where that is given; unless the same frame (writer and sum) stands there already: then it is
   * "kept", and nothing changes.
   * @throws {DefinitionError} for what is no frame; then none of them is kept. {JournalError} where the store fails.
   */
  append(frames: readonly Frame[]): Promise<readonly ("kept" | "fenced")[]>;
  /** Returns the frames of a run in order, beginning with the one that holds the entry `from`; none where it is shorter. */
  read(run: string, from?: number): AsyncIterable<Frame>;
  /** Returns the newest summary of each run, last changed first. */
  list(): AsyncIterable<{ readonly run: string; readonly summary: string }>;
  /** Removes these runs as a whole; those that are not there are passed over. */
  remove(runs: readonly string[]): Promise<void>;
  /**
   * Removes those of these runs whose newest summary is still this one, and returns how many: another process may have gone
   * on with a run since it was listed. Each is compared and removed at once. Left out: pruning reads each run once more and
   * calls `remove`, so a run that is gone on with between the two is removed.
   */
  removeUnchanged?(runs: readonly { readonly run: string; readonly summary: string }[]): Promise<number>;
  /**
   * Keeps all frames of a run, in order and from its first entry on, where the store has no such run; returns whether it did.
   * All of them are kept or none, also after a crash. Left out: a copy gives them to `append` in one call.
   * @throws as `append` does.
   */
  appendRun?(frames: readonly Frame[]): Promise<boolean>;
  /** Ends the use of the store; a second time it does nothing. */
  close(): Promise<void>;
  /** How many bytes a crash left half written at the end of a run, which are passed over. Left out: none. */
  [tornBytes]?(run: string): number;
}

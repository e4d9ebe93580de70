// Why a run cannot be had, begun or written.
import { DefinitionError, JournalError } from "@proviso/core";
import { messageOf } from "@proviso/core/internal";

export function notFound(id: string): JournalError {
  return new JournalError(`There is no run "${id}".`, { reason: "not_found", run: id });
}

/** The error where another process removed a run while it was read: a part of it would look like a run that goes on. */
export function removedMeanwhile(id: string): JournalError {
  return new JournalError(`The run "${id}" was removed while it was read.`, { reason: "not_found", run: id });
}

export function existsAlready(id: string): JournalError {
  return new JournalError(`There is a run "${id}" already.`, { reason: "exists", run: id });
}

export function fenced(run: string): JournalError {
  const message = `The run "${run}" was taken over, removed or cancelled by another writer.`;
  return new JournalError(message, { reason: "fenced", run });
}

/** The error where another process was faster. */
export function takenUp(run: string): JournalError {
  return new JournalError(`The run "${run}" was taken up by another process.`, { reason: "busy", run });
}

/** What a store threw, as a JournalError. */
export function journalError(error: unknown, run: string): JournalError {
  if (error instanceof JournalError) return error;
  return new JournalError(`The run "${run}" cannot be written: ${messageOf(error)}`, {
    reason: "failed",
    run,
    cause: error,
  });
}

/** The error of a run that was cancelled, and is evaluated again. */
export function cancelled(id: string): DefinitionError {
  return new DefinitionError(`The run "${id}" was cancelled: begin another one.`);
}

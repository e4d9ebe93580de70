/**
 * Bugs of the runtime that were found and are not mended yet: the generator or a check keeps away from them. When one is
 * mended its line goes away, and what it held back with it.
 */
export const known = {
  /** F6: after an abort the rest of a batch is announced, or a wait that is not slept. */
  lateWords: true,
  /** F8: a slow restore inside a nested evaluation goes on behind and overwrites what is around it. */
  restoresMeet: true,
  /** F10: of evaluations inside overlapping reads, one brings back what another undid. */
  readsMeet: true,
  /** F9: of going back and forth between snapshots while a call runs, what was brought back is lost with the call. */
  backAndForth: true,
};

// Turns are counted on where an evaluation begins again, while its messages are those of the attempt that counted.

/** The turns of attempts that did not count, by run and by response. */
const before = new WeakMap<object, number>();

/** A run that begins again has used so many turns. */
export function beginsAfter(run: object, turns: number): void {
  before.set(run, turns);
}

/** Remembers of a response what is known of its run. */
export function keepTurnsBefore(response: object, run: object): void {
  const turns = before.get(run);
  if (turns !== undefined) before.set(response, turns);
}

/** How many of a response's turns are those of attempts that did not count: no message of theirs is in it. */
export function turnsBefore(response: object): number {
  return before.get(response) ?? 0;
}

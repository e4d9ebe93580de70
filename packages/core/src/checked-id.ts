import { DefinitionError } from "./errors.ts";
import { describeValue } from "./values.ts";

/**
 * Returns the id under which something is kept, where it is one: a text of 1 to `longest` UTF-16 units without control
 * characters and half surrogate pairs.
 * @throws {DefinitionError} for anything else, which names the thing.
 */
export function checkedId(thing: string, id: unknown, longest: number): string {
  const refuse = (why: string): DefinitionError => new DefinitionError(`A ${thing}'s id must be ${why}.`);
  if (typeof id !== "string" || id === "") throw refuse(`a text, and not empty: not ${describeValue(id)}`);
  if (id.length > longest) throw refuse(`at most ${longest} characters long, not ${id.length}`);
  if (!id.isWellFormed()) throw refuse("well-formed: this one has half of a surrogate pair");
  // Some databases end a text at a NUL, and an id is printed.
  if (/\p{Cc}/u.test(id)) throw refuse("without control characters");
  return id;
}

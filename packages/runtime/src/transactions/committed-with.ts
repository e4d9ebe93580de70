// Resources that are in the file of a journal: what a call changes there is committed with the record that it did.

/** The property by which a resource says that it is in the file of a journal. */
export const committedWith: unique symbol = Symbol.for("@proviso/committed-with");

/** What a resource in the file of a journal says of itself. */
export interface CommittedWith {
  /** The file, by its identity: a run of the same journal has the same. */
  readonly file: object;
  /** Whether a call has changed something that is not committed yet. */
  isOpen(): boolean;
}

/** undefined: the resource is in no journal's file. */
export function committedWithOf(resource: object): CommittedWith | undefined {
  return (resource as { readonly [committedWith]?: CommittedWith })[committedWith];
}

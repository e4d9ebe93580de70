/** What a schema found wrong, with a dotted path ("" is the value itself); of a very long one its beginning. */
export interface SchemaIssue {
  /** Where the value is wrong: `items[2].name`, or empty for the value itself. */
  readonly path: string;
  /** What is wrong, in the words of the schema's library. */
  readonly message: string;
}

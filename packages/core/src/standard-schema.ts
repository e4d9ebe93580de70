// What Proviso reads of Standard Schema and Standard JSON Schema (https://standardschema.dev). The standard is a shape, and
// a schema of any library that has the shape fits: no package is needed for that. A type test holds these to the
// standard's own types.

/** What a schema library puts below the key "~standard". */
export interface StandardProps<Input, Output> {
  /** The version of the standard. */
  readonly version: 1;
  /** The library's name: "zod", for example. */
  readonly vendor: string;
  /** Types for inference. At run time there is no value. */
  readonly types?: { readonly input: Input; readonly output: Output } | undefined;
  /** Checks a value, and returns the value that the schema makes of it. */
  readonly validate: (value: unknown) => StandardResult<Output> | Promise<StandardResult<Output>>;
  /** Prints JSON Schema. It may throw for what JSON Schema cannot say. */
  readonly jsonSchema: {
    /** Prints the JSON Schema of what the schema accepts. */
    readonly input: (options: StandardTarget) => Record<string, unknown>;
    /** Prints the JSON Schema of what the schema returns. */
    readonly output: (options: StandardTarget) => Record<string, unknown>;
  };
}

/** Valid where there are no issues. */
export type StandardResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly StandardIssue[] };

/** One thing that is wrong. */
export interface StandardIssue {
  /** What is wrong, in the words of the library. */
  readonly message: string;
  /** The way to the wrong value; left out for the value itself. */
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

/** How JSON Schema is to be printed. */
export interface StandardTarget {
  /** The version of JSON Schema. */
  readonly target: "draft-2020-12" | "draft-07" | "openapi-3.0" | (string & {});
  /** What one library alone understands. */
  readonly libraryOptions?: Record<string, unknown> | undefined;
}

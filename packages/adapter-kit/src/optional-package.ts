import { DefinitionError } from "@proviso/core";

/** A package that need not be installed. */
export interface OptionalPackage {
  /** The name of the package on npm. */
  readonly name: string;
  /** What the package is needed for, as the error words it: "a model that is given by its id". */
  readonly purpose: string;
  /** `import.meta.resolve` of the module that imports the package; undefined in a bundle. */
  readonly resolve: ((name: string) => string) | undefined;
}

/**
 * Checks that an optional package is installed. Packages cannot be looked up in a bundle, not even installed ones: the
 * import itself fails there.
 * @throws {DefinitionError} when the package is missing.
 */
export function requirePackage(wanted: OptionalPackage): void {
  if (isFound("@proviso/core", wanted) && !isFound(wanted.name, wanted)) throw missing(wanted);
}

/**
 * Returns what to throw where the import of an optional package has failed: a DefinitionError when the package is missing,
 * else what it failed with. The import itself has to stand in a `try`: bundlers pass over a package that is not installed
 * there, and end with an error elsewhere.
 */
export function importFailure(wanted: Omit<OptionalPackage, "resolve">, error: unknown): unknown {
  const { code } = Object(error) as { readonly code?: unknown };
  // The second is webpack's.
  return code === "ERR_MODULE_NOT_FOUND" || code === "MODULE_NOT_FOUND" ? missing(wanted, error) : error;
}

function isFound(name: string, { resolve }: OptionalPackage): boolean {
  try {
    return typeof resolve === "function" && resolve(name) !== "";
  } catch {
    return false;
  }
}

function missing({ name, purpose }: Omit<OptionalPackage, "resolve">, cause?: unknown): DefinitionError {
  return new DefinitionError(`The package ${name} is needed for ${purpose}: npm install ${name}`, { cause });
}

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
 * Awaits the import of an optional package.
 * @throws {DefinitionError} when the package is missing.
 */
export async function importedPackage<T>(wanted: Omit<OptionalPackage, "resolve">, loading: Promise<T>): Promise<T> {
  try {
    return await loading;
  } catch (error) {
    const { code } = error as { readonly code?: unknown };
    throw code === "ERR_MODULE_NOT_FOUND" ? missing(wanted, error) : error;
  }
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

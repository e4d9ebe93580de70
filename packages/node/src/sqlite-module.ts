import { DefinitionError } from "@proviso/core";

/**
 * Loaded when the first database is opened: it is experimental in Node 22, and says so.
 * @throws {DefinitionError} where there is none.
 */
export function sqliteModule(): typeof import("node:sqlite") {
  const module = process.getBuiltinModule("node:sqlite") as typeof import("node:sqlite") | undefined;
  if (module === undefined) throw new DefinitionError("This Node has no node:sqlite: use 22.13 or later.");
  return module;
}

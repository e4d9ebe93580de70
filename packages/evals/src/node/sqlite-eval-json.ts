import { DefinitionError } from "@proviso/core";
import { parseJson } from "@proviso/core/provider";

/** A record that was written by this package is read again, however large its output is. */
const limits = { maxDepth: 10_000, maxLength: 1024 * 1024 * 1024 };

/** Reads what this package wrote. @throws for what is no JSON: the file was changed by something else. */
export function parsed<T>(text: unknown): T {
  const json = parseJson(String(text), limits);
  if (!json.ok) throw new DefinitionError(`A file of attempts holds what this package did not write: ${json.error}.`);
  return json.value as T;
}

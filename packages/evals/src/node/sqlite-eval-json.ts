import { DefinitionError } from "@proviso/core";
import { parseOwnJson } from "@proviso/core/internal";

/** Reads what this package wrote. @throws for what is no JSON: the file was changed by something else. */
export function parsed<T>(text: unknown): T {
  const json = parseOwnJson(String(text));
  if (!json.ok) throw new DefinitionError(`A file of attempts holds what this package did not write: ${json.error}.`);
  return json.value as T;
}

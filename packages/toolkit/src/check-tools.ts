import { DefinitionError } from "@proviso/core";
import { checkList } from "@proviso/core/internal";

/** @throws {DefinitionError} for a list of tools that is missing, that is none, or that holds something else. */
export function checkTools(owner: string, lists: Readonly<Record<string, unknown>>): void {
  for (const [name, tools] of Object.entries(lists)) {
    if (tools === undefined) throw new DefinitionError(`${owner} needs ${name}: a list of what defineTool makes.`);
    checkList(`The ${name} of ${owner}`, "tools", tools, name);
  }
}

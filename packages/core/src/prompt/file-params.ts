import { DefinitionError } from "../errors.ts";
import { isRecord } from "../is-record.ts";
import { looseJsonSchemaOf, type Schema } from "../schema.ts";
import type { CompiledSection } from "./compile.ts";
import { paramsIn } from "./placeholders.ts";

/** @throws {DefinitionError} where a system section names a param known to be a file, and there is a user section. */
export function refuseFilesOfSystem(params: Schema | undefined, all: readonly CompiledSection[]): void {
  if (params === undefined || all.every(({ role }) => role === "system")) return;
  const { properties } = looseJsonSchemaOf(params, "output");
  if (!isRecord(properties)) return;
  for (const { role, path, text, summary } of all) {
    const name = paramsIn([...text, ...summary]).find(
      (param) => Object.hasOwn(properties, param) && isFile(properties[param]),
    );
    if (role === "system" && name !== undefined) {
      throw new DefinitionError(
        `The section "${path}" names the file {{${name}}}, but is a system section: only user texts hold files.`,
      );
    }
  }
}

/** Schema libraries print the platform's `File` as binary content. */
function isFile(schema: unknown): boolean {
  if (!isRecord(schema)) return false;
  return schema["contentEncoding"] === "binary" || schema["format"] === "binary" || isFile(schema["items"]);
}

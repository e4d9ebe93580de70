import { DefinitionError } from "../errors.ts";
import { isRecord } from "../values.ts";
import { looseJsonSchemaOf, type Schema } from "../schema.ts";
import { isFileLike } from "../content/file.ts";
import type { CompiledSection } from "./compile.ts";
import { paramsIn } from "./placeholders.ts";

/** @throws {DefinitionError} where a system section names a param known to be a file, and there is a user section. */
export function refuseFilesOfSystem(files: FilesOfTexts | undefined, all: readonly CompiledSection[]): void {
  if (files === undefined || all.every(({ role }) => role === "system")) return;
  for (const { role, path } of all) {
    const name = files[path]?.text[0] ?? files[path]?.summary[0];
    if (role === "system" && name !== undefined) {
      throw new DefinitionError(
        `The section "${path}" names the file {{${name}}}, but is a system section: only user texts hold files.`,
      );
    }
  }
}

/** The files that the texts of sections name, by the section's path. */
export type FilesOfTexts = Readonly<Record<string, NamedFiles>>;

interface NamedFiles {
  readonly text: readonly string[];
  readonly summary: readonly string[];
}

/** What is known from the schema of the params; undefined: no text names a file. */
export function filesOfTexts(params: Schema | undefined, all: readonly CompiledSection[]): FilesOfTexts | undefined {
  if (params === undefined) return undefined;
  const { properties } = looseJsonSchemaOf(params, "output");
  if (!isRecord(properties)) return undefined;
  return filesNamed(all, (param) => Object.hasOwn(properties, param) && isFile(properties[param]));
}

/** What the params of one rendering hold; undefined: no text names a file. */
export function filesInTexts(
  params: Readonly<Record<string, unknown>>,
  all: readonly CompiledSection[],
): FilesOfTexts | undefined {
  return filesNamed(all, (param) => Object.hasOwn(params, param) && [params[param]].flat().some(isFileLike));
}

function filesNamed(
  all: readonly CompiledSection[],
  isFileParam: (param: string) => boolean,
): FilesOfTexts | undefined {
  const filesIn = (parts: CompiledSection["text"]): readonly string[] => paramsIn(parts).filter(isFileParam);
  const named = all
    .map(({ path, text, summary }) => [path, { text: filesIn(text), summary: filesIn(summary) }] as const)
    .filter(([, { text, summary }]) => text.length + summary.length > 0);
  return named.length === 0 ? undefined : Object.fromEntries(named);
}

/** Schema libraries print the platform's `File` as binary content. */
function isFile(schema: unknown): boolean {
  if (!isRecord(schema)) return false;
  return schema["contentEncoding"] === "binary" || schema["format"] === "binary" || isFile(schema["items"]);
}

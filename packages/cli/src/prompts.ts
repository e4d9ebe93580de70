import { definePrompt, overrideOf, type Prompt, type PromptTemplate } from "@proviso/core";
import { paramsIn, parseText, plainSchema } from "@proviso/core/internal";
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { basename, resolve } from "node:path";
import { importedModule, type Exports } from "./load-module.ts";
import { didYouMean, UsageError } from "./usage.ts";

/** A prompt of a project. */
export interface FoundPrompt {
  /** The name under which its module exports it. */
  readonly exported: string;
  readonly template: PromptTemplate<never, unknown>;
  /** The prompt with its params, where the module exports it so. */
  readonly bound: Prompt | undefined;
  /** Whether it was read from a text file. */
  readonly isText: boolean;
}

/** The prompts among a module's exports: templates, and prompts that are bound. */
export function promptsAmong(exports: Exports): readonly FoundPrompt[] {
  return Object.entries(exports).flatMap(([exported, value]): readonly FoundPrompt[] => {
    const template = templateIn(() => value);
    if (template !== undefined) return [{ exported, template, bound: undefined, isText: false }];
    const bound = value as Prompt;
    const inside = templateIn(() => bound?.template);
    return inside === undefined ? [] : [{ exported, template: inside, bound, isText: false }];
  });
}

/** undefined: no prompt; what throws when it is looked at, a proxy for example, is none either. */
function templateIn(look: () => unknown): PromptTemplate<never, unknown> | undefined {
  try {
    const template = look() as PromptTemplate<never, unknown>;
    overrideOf(template, "latest");
    return template;
  } catch {
    return undefined;
  }
}

/**
 * The prompt that a command line names: `file.ts`, `file.ts#name`, or a text, `file.md`.
 * @throws {UsageError} where there is none, and where the name is missing.
 */
export async function promptAt(reference: string, cwd: string): Promise<FoundPrompt> {
  const { path, name } = partsOf(reference, cwd);
  if (/\.(?:md|markdown)$/i.test(path)) {
    if (name === undefined) return await textAt(path, cwd);
    throw new UsageError(`${path} is a text: it has no prompt ${name}`);
  }
  const found = promptsAmong(await importedModule(path, cwd));
  const [first, ...others] = found;
  if (first === undefined) {
    throw new UsageError(`${resolve(cwd, path)} exports no prompt that was made by this installation's definePrompt`);
  }
  const names = found.map(({ exported }) => exported);
  if (name === undefined) {
    if (others.length === 0) return first;
    throw new UsageError(`${path} exports several prompts: say which one, ${path}#${names.join(`, ${path}#`)}`);
  }
  const wanted =
    found.find(({ exported }) => exported === name) ??
    found.find(({ template }) => [template.name, `${template.ns}/${template.key}`, template.key].includes(name));
  if (wanted !== undefined) return wanted;
  throw new UsageError(`${path} exports no prompt ${name}, but ${names.join(", ")}${didYouMean(name, names)}`);
}

/** A file's own name may have a "#". */
function partsOf(reference: string, cwd: string): { readonly path: string; readonly name: string | undefined } {
  const at = reference.lastIndexOf("#");
  if (at <= 0 || existsSync(resolve(cwd, reference))) return { path: reference, name: undefined };
  return { path: reference.slice(0, at), name: reference.slice(at + 1) };
}

/** A text is one user message; its placeholders are its params. */
async function textAt(file: string, cwd: string): Promise<FoundPrompt> {
  const path = resolve(cwd, file);
  const text = await readFile(path, "utf8").catch((error: NodeJS.ErrnoException) => {
    throw new UsageError(error.code === "ENOENT" ? `there is no text ${path}` : error.message);
  });
  if (text.trim() === "") throw new UsageError(`${path} is empty`);
  const names = [...new Set(paramsIn(parseText(text, path)))];
  const json = {
    type: "object",
    properties: Object.fromEntries(names.map((name) => [name, { type: ["string", "number", "boolean"] }])),
    required: names,
    additionalProperties: false,
  };
  const params = plainSchema<Readonly<Record<string, never>>>(json, (given) =>
    names.flatMap((name) => {
      if (!Object.hasOwn(given, name)) return [{ path: name, message: "is missing" }];
      const fits = ["string", "number", "boolean"].includes(typeof given[name]);
      return fits ? [] : [{ path: name, message: "must be a text, a number or a boolean" }];
    }),
  );
  const key = basename(path)
    .toLowerCase()
    .replace(/(?:\.prompt)?\.[^.]+$/, "")
    .replaceAll(/[^a-z0-9._-]/g, "-");
  const isKey = /^[a-z0-9][a-z0-9._-]{0,63}$/.test(key);
  const template = definePrompt({ key: isKey ? key : "text", params, text: text.trimEnd() as never });
  return { exported: file, template: template as PromptTemplate<never, unknown>, bound: undefined, isText: true };
}

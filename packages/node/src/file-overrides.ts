// 1. Nothing outside the folder is read or written: names are checked, links are not followed.
// 2. A file is written whole, beside its place and then put there; one that cannot be read is left alone.
import { DefinitionError, overrideOf, type OverridesStore, type PromptOverride } from "@proviso/core";
import { isRecord, parseJson } from "@proviso/core/provider";
import { checkOverride, checkOverrideTexts, checkTag, type PromptDescriptor } from "@proviso/core/internal";
import { lstat, mkdir, readFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { parseOverride } from "@proviso/runtime/internal";
import { createWhole, writeWhole } from "./write-whole.ts";

const version = 1;
const largestFile = { maxLength: 16 * 1024 * 1024 } as const;

/** Overrides as files, `<folder>/<ns>/<key>/<tag>.json`. Default folder `.proviso/overrides`. */
export function fileOverrides(folder = ".proviso/overrides"): OverridesStore {
  // The process may go elsewhere later.
  const root = resolve(folder);
  const store: OverridesStore = {
    async resolve(descriptor, tag) {
      const file = fileOf(root, descriptor, tag);
      const override = await read(root, file, descriptor, tag);
      if (override !== undefined) checkOverrideTexts(override, descriptor, `The overrides file ${file}`);
      return override;
    },
    async upsert(descriptor, given) {
      const override = parseOverride(given, "The override");
      checkOverride(override, descriptor);
      const file = fileOf(root, descriptor, override.tag);
      await makeFolder(root, file);
      await writeWhole(file, textOf(descriptor, override));
    },
    async seed(template, tag) {
      const file = fileOf(root, template, tag);
      const known = await read(root, file, template, tag);
      if (known !== undefined) return known;
      const override = overrideOf(template, tag);
      await makeFolder(root, file);
      if (await createWhole(file, textOf(template, override))) return override;
      // Another writer was first.
      return (await read(root, file, template, tag)) ?? override;
    },
  };
  return store;
}

type Named = Pick<PromptDescriptor, "ns" | "key">;

/**
 * Returns the path of an override's file. The key and namespace of a prompt were checked when it was defined; those of
 * a descriptor that was made by hand are checked here.
 */
function fileOf(root: string, { ns, key }: Named, tag: string): string {
  for (const name of [ns, key, tag]) checkTag(name);
  return join(root, ns, key, `${tag}.json`);
}

async function read(root: string, file: string, named: Named, tag: string): Promise<PromptOverride | undefined> {
  await refuseOthers(root, file);
  let bytes: Uint8Array;
  try {
    bytes = await readFile(file);
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw new DefinitionError(`The overrides file ${file} could not be read: ${(cause as Error).message}`, { cause });
  }
  const text = decoded(bytes);
  if (text === undefined)
    throw new DefinitionError(`The overrides file ${file} is damaged: it is not UTF-8. It was left alone.`);
  const parsed = parseJson(text, largestFile);
  if (!parsed.ok)
    throw new DefinitionError(`The overrides file ${file} is damaged: ${parsed.error}. It was left alone.`);
  if (!isRecord(parsed.value)) throw new DefinitionError(`The overrides file ${file} must hold an object.`);
  const { version: found, ns, key, ...rest } = parsed.value;
  if (found !== version) {
    throw new DefinitionError(
      `The overrides file ${file} has version ${String(found)}; this is for version ${version}.`,
    );
  }
  if (ns !== named.ns || key !== named.key || rest["tag"] !== tag) {
    throw new DefinitionError(
      `The overrides file ${file} is of another prompt or tag: ${[ns, key, rest["tag"]].map(String).join("/")}.`,
    );
  }
  return parseOverride(rest, `The overrides file ${file}`);
}

/** Decodes UTF-8 and drops the byte order mark that some editors write; undefined where the bytes are not UTF-8. */
function decoded(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

/** Makes the folder of a file, where no link leads out of the root. */
async function makeFolder(root: string, file: string): Promise<void> {
  await refuseOthers(root, file);
  await mkdir(dirname(file), { recursive: true });
  await refuseOthers(root, file);
}

function textOf({ ns, key }: Named, override: PromptOverride): string {
  return `${JSON.stringify({ version, ns, key, ...override }, null, 2)}\n`;
}

/** @throws {DefinitionError} where the way to the file leads through a link, or to something that is no file. */
async function refuseOthers(root: string, file: string): Promise<void> {
  for (let path = file; path.length > root.length; path = dirname(path)) {
    const stats = await lstat(path).catch(() => undefined);
    if (stats?.isSymbolicLink() === true) {
      throw new DefinitionError(`The overrides file ${file} leads through a symbolic link; links are not followed.`);
    }
    // Reading a pipe would wait for its writer.
    if (path === file && stats?.isFile() === false) {
      throw new DefinitionError(`The overrides file ${file} is no file: something else has its name.`);
    }
  }
}

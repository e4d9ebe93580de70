import {
  acceptOverride,
  DefinitionError,
  overrideOf,
  type OverridesStore,
  type PromptOverride,
  type PromptTemplate,
} from "@proviso/core";
import { join, resolve } from "node:path";
import { fileOverrides } from "@proviso/node";
import { configIn, defaultOverrides } from "./config.ts";
import { importedModule } from "./load-module.ts";
import { promptsAmong } from "./prompts.ts";
import { flag, oneOf, readArguments, text } from "./read-arguments.ts";
import { printable } from "@proviso/core/internal";
import { shown, UsageError } from "./usage.ts";
import type { World } from "./world.ts";

const help = `proviso overrides <command> <module>: the overrides of the prompts that a module exports

  list             the prompts, and what is stored for each
  seed             write the current texts of each prompt that has no file yet
  check            fail when a file is missing, stale or damaged
  diff             what the overrides replace, line by line
  accept           what is stale holds for the current texts: the edited texts stay, the others are written anew

  --folder FOLDER  default .proviso/overrides
  --tag TAG        default latest
  --prompt NS/KEY  only this one
  --help

Example: proviso overrides check ./prompts.ts

Exit codes: 0 fine; 1 something is missing, stale or damaged (not list); 2 wrong usage.`;

const commands = ["list", "seed", "check", "diff", "accept"] as const;
type Command = (typeof commands)[number];

type Template = PromptTemplate<never, unknown>;

interface Request {
  readonly command: Command;
  readonly module: string;
  readonly folder: string | undefined;
  readonly tag: string;
  readonly prompt: string | undefined;
}

/**
 * Runs `proviso overrides …` and returns the exit code.
 * @throws {UsageError} for an unknown command or flag, a module that cannot be loaded or exports no prompt.
 */
export async function overridesCommand(args: readonly string[], { out, cwd }: World): Promise<0 | 1> {
  const request = requestIn(args);
  if (request === "help") {
    out(help);
    return 0;
  }
  const { command, tag } = request;
  const folder = request.folder ?? (await configIn(cwd)).overrides ?? defaultOverrides;
  const store = fileOverrides(resolve(cwd, folder));
  let fine = true;
  for (const template of await templatesOf(request, cwd)) {
    const where = { store, template, tag, file: join(folder, template.ns, template.key, `${tag}.json`) };
    const { text, ok } = await work[command](where);
    out(printable(`${template.ns}/${template.key}: ${text}`));
    fine &&= ok;
  }
  return fine ? 0 : 1;
}

interface Place {
  readonly store: OverridesStore;
  readonly template: Template;
  readonly tag: string;
  readonly file: string;
}

interface Outcome {
  readonly text: string;
  readonly ok: boolean;
}

const work: Readonly<Record<Command, (place: Place) => Promise<Outcome>>> = {
  list: async (place) => ({ ...(await statusOf(place)), ok: true }),
  seed,
  check: statusOf,
  diff,
  accept,
};

async function seed(place: Place): Promise<Outcome> {
  const { store, template, tag, file } = place;
  try {
    const known = await store.resolve(template.descriptor, tag);
    if (known !== undefined) return { ok: true, text: `kept ${file}` };
    await store.seed(template, tag);
    return { ok: true, text: `wrote ${file}` };
  } catch (error) {
    return damaged(error);
  }
}

/** Shows what the overrides replace from then on: what shall be the prompt's own again is deleted from the file by hand. */
async function accept(place: Place): Promise<Outcome> {
  const { store, template, tag } = place;
  try {
    const stored = await store.resolve(template.descriptor, tag);
    const stale = stored === undefined ? [] : staleIn(stored, overrideOf(template, tag));
    if (stored === undefined || stale.length === 0) return await statusOf(place);
    await store.upsert(template.descriptor, acceptOverride(stored, template));
    const { text, ok } = await diff(place);
    return { ok, text: `accepted ${stale.join(", ")}; ${text}` };
  } catch (error) {
    return damaged(error);
  }
}

async function statusOf({ store, template, tag, file }: Place): Promise<Outcome> {
  try {
    const stored = await store.resolve(template.descriptor, tag);
    if (stored === undefined) return { ok: false, text: `missing ${file}` };
    const current = overrideOf(template, tag);
    const stale = staleIn(stored, current);
    if (stale.length > 0) return { ok: false, text: `stale ${file}: ${stale.join(", ")}` };
    const changed = differences(stored, current).length;
    return { ok: true, text: changed === 0 ? `as it is, ${file}` : `${changed} replaced by ${file}` };
  } catch (error) {
    return damaged(error);
  }
}

async function diff(place: Place): Promise<Outcome> {
  const { text, ok } = await statusOf(place);
  const stored = ok ? await place.store.resolve(place.template.descriptor, place.tag) : await storedOrNone(place);
  if (stored === undefined) return { text, ok };
  const lines = differences(stored, overrideOf(place.template, place.tag)).flatMap(({ name, before, after }) => [
    `  ${name}`,
    ...marked("-", before),
    ...marked("+", after),
  ]);
  return { text: [text, ...lines].join("\n"), ok };
}

/** Returns the stored override; an error counts as none here, because it was reported already. */
async function storedOrNone({ store, template, tag }: Place): Promise<PromptOverride | undefined> {
  return store.resolve(template.descriptor, tag).catch(() => undefined);
}

function damaged(error: unknown): Outcome {
  if (!(error instanceof DefinitionError)) throw error;
  return { ok: false, text: error.message };
}

type Texts = Readonly<Record<string, { readonly hash: string }>>;

/** Written for another text than the one there is. */
function staleIn(stored: PromptOverride, current: PromptOverride): readonly string[] {
  const stale = (given: Texts, known: Texts): readonly string[] =>
    Object.entries(given).flatMap(([name, { hash }]) =>
      Object.hasOwn(known, name) && known[name]?.hash === hash ? [] : [name],
    );
  return [...stale(stored.sections, current.sections), ...stale(stored.tools, current.tools)];
}

interface Difference {
  readonly name: string;
  readonly before: string | undefined;
  readonly after: string;
}

/** The texts that an override holds, and that are not the prompt's own. */
function differences(stored: PromptOverride, current: PromptOverride): readonly Difference[] {
  const before = new Map(textsOf(current));
  return textsOf(stored).flatMap(([name, after]) =>
    before.get(name) === after ? [] : [{ name, before: before.get(name), after }],
  );
}

function textsOf({ sections, tools }: PromptOverride): readonly (readonly [string, string])[] {
  const flat = (prefix: string, texts: object): readonly (readonly [string, string])[] =>
    Object.entries(texts).flatMap(([name, value]: [string, unknown]) => {
      if (name === "hash" && prefix.split(".").length > 1) return [];
      if (typeof value === "string") return [[`${prefix}.${name}`, value] as const];
      return typeof value === "object" && value !== null ? flat(`${prefix}.${name}`, value) : [];
    });
  return [...flat("sections", sections), ...flat("tools", tools)];
}

function marked(sign: string, text: string | undefined): readonly string[] {
  return text === undefined ? [] : text.split("\n").map((line) => `  ${sign} ${line}`);
}

function requestIn(args: readonly string[]): Request | "help" {
  const { values, positionals } = readArguments(args, { folder: text, tag: text, prompt: text, help: flag });
  if (values.help === true) return "help";
  const [name, module, ...rest] = positionals;
  const command = oneOf("overrides takes", name ?? "nothing", commands);
  if (module === undefined) throw new UsageError(`overrides ${command} needs the module that exports the prompts`);
  if (rest.length > 0) throw new UsageError(`one module at a time, not ${[module, ...rest].map(shown).join(" ")}`);
  return {
    command,
    module,
    folder: values.folder,
    tag: values.tag ?? "latest",
    prompt: values.prompt,
  };
}

/** The templates among a module's exports, and those of its bound prompts. */
async function templatesOf({ module, prompt, tag }: Request, cwd: string): Promise<readonly Template[]> {
  const path = resolve(cwd, module);
  const found = promptsAmong(await importedModule(module, cwd));
  if (found.length === 0) {
    throw new UsageError(`${path} exports no prompt that was made by this installation's definePrompt`);
  }
  const all = new Set(found.map(({ template }) => template));
  const templates = [...all].filter(({ ns, key }) => prompt === undefined || prompt === `${ns}/${key}`);
  const [first] = templates;
  if (first === undefined) throw new UsageError(`${path} exports no prompt ${prompt}`);
  try {
    overrideOf(first, tag);
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
  return templates;
}

import { DefinitionError } from "../errors.ts";
import { isForbiddenKey } from "../json.ts";
import { jsonSchemaOf, type JsonSchema, type Schema } from "../schema.ts";
import type { Tool } from "../tool/tool.ts";
import type { CompiledSection } from "./compile.ts";
import { sectionHash, type PromptDescriptor } from "./descriptor.ts";
import { paramsIn, parseText, type TextPart } from "./placeholders.ts";
import { keyPattern } from "./section.ts";
import type { PromptTemplate } from "./template.ts";
import type { Visibility } from "./disclosure/visibility.ts";

/** Texts in place of the prompt's own. Each carries the hash of what it replaces. */
export interface PromptOverride {
  /** The tag that it is stored under, "latest" for example. */
  readonly tag: string;
  /** Texts by section path. `hash` is that of the text which is replaced, as the prompt's descriptor has it. */
  readonly sections: Readonly<
    Record<string, { hash: string; text?: string; summary?: string; visibility?: Visibility }>
  >;
  /** Descriptions by tool name. `params` are descriptions of the input's properties. */
  readonly tools: Readonly<
    Record<string, { hash: string; description?: string; params?: Readonly<Record<string, string>> }>
  >;
}

/** Where overrides are kept. */
export interface OverridesStore {
  /** The override of this prompt under the tag; undefined where none is stored. */
  resolve(descriptor: PromptDescriptor, tag: string): Promise<PromptOverride | undefined>;
  /** @throws {DefinitionError} for one that is stale, or names what the prompt has not. */
  upsert(descriptor: PromptDescriptor, override: PromptOverride): Promise<void>;
  /** The current texts, written once: what is stored already stays as it is. */
  seed(template: PromptTemplate<never, unknown>, tag: string): Promise<PromptOverride>;
}

/** What became of an override: sections by path, tools by name. */
export interface AppliedOverride {
  /** The tag that the override was stored under. */
  readonly tag: string;
  /** What the override replaced. */
  readonly applied: readonly string[];
  /** Written for another text than the one there is; not used. */
  readonly stale: readonly string[];
}

/** An override as rendering uses it. */
export interface OverriddenTexts extends AppliedOverride {
  readonly sections: ReadonlyMap<
    string,
    { readonly text?: readonly TextPart[]; readonly summary?: readonly TextPart[]; readonly visibility?: Visibility }
  >;
  readonly tools: ReadonlyMap<string, Tool>;
}

/**
 * @throws {DefinitionError} for a text with an unknown placeholder or without a file's, and for a summary that is asked for
 * and not there.
 */
export function applyOverride(
  override: PromptOverride,
  descriptor: PromptDescriptor,
  tools: readonly Tool[],
  files?: PromptDescriptor["files"],
): OverriddenTexts {
  checkOverrideTexts(override, descriptor);
  // The schema may not say that a param is a file; its value does.
  if (files !== undefined) checkOverrideTexts(override, { ...descriptor, files });
  const applied: string[] = [];
  const stale: string[] = [];
  const fresh = (name: string, hash: string, known: string | undefined): boolean => {
    (hash === known ? applied : stale).push(name);
    return hash === known;
  };
  const sections = Object.entries(override.sections)
    .filter(([path, { hash }]) => fresh(path, hash, overridable(descriptor, path)))
    .map(([path, { text, summary, visibility }]) => {
      const parts = {
        ...(text === undefined ? {} : { text: parseText(text, path) }),
        ...(summary === undefined ? {} : { summary: parseText(summary, path) }),
        ...(visibility === undefined ? {} : { visibility }),
      };
      return [path, parts] as const;
    });
  const described = Object.entries(override.tools)
    .filter(([name, { hash }]) => fresh(name, hash, own(descriptor.tools, name)))
    .flatMap(([name, texts]) => {
      const tool = tools.find((known) => known.name === name);
      return tool === undefined ? [] : [[name, describedAnew(tool, texts)] as const];
    });
  return { tag: override.tag, applied, stale, sections: new Map(sections), tools: new Map(described) };
}

/**
 * Checks that an override fits a prompt as it is now; for stores, before they keep it.
 * @throws {DefinitionError} for what cannot be stored, with every reason.
 */
export function checkOverride(override: PromptOverride, descriptor: PromptDescriptor): void {
  const { sections, tools, tag } = override;
  checkTag(tag);
  const faults = [
    ...Object.entries(sections).flatMap(([path, { hash }]) =>
      hashFault(`section "${path}"`, hash, overridable(descriptor, path)),
    ),
    ...Object.entries(tools).flatMap(([name, { hash }]) =>
      hashFault(`tool "${name}"`, hash, own(descriptor.tools, name)),
    ),
  ];
  if (faults.length > 0)
    throw new DefinitionError(`${nameOf(override, descriptor)} does not fit: ${faults.join("; ")}.`);
  checkOverrideTexts(override, descriptor);
}

/**
 * Checks that a value can be a tag; for stores, which make names of files of it.
 * @throws {DefinitionError} for a tag that could not be a file's name.
 */
export function checkTag(tag: unknown): void {
  if (typeof tag === "string" && keyPattern.test(tag)) return;
  throw new DefinitionError(`The tag ${JSON.stringify(tag) ?? String(tag)} must match ${keyPattern.source}.`);
}

/** The texts of a template as an override that replaces nothing: what an author begins with. */
export function currentTexts(
  all: readonly CompiledSection[],
  tools: readonly Tool[],
  descriptor: PromptDescriptor,
  tag: string,
): PromptOverride {
  const sections = all.flatMap(({ path, section }) => {
    const hash = overridable(descriptor, path);
    if (hash === undefined) return [];
    const { text, summary, visibility } = section;
    const texts = {
      hash,
      ...(text === undefined ? {} : { text }),
      ...(summary === undefined ? {} : { summary }),
      ...(typeof visibility === "string" ? { visibility } : {}),
    };
    return [[path, texts] as const];
  });
  const described = tools.flatMap((tool) => {
    const hash = own(descriptor.tools, tool.name);
    if (hash === undefined) return [];
    const params = paramDescriptions(tool);
    const texts = { hash, description: tool.description, ...(Object.keys(params).length === 0 ? {} : { params }) };
    return [[tool.name, texts] as const];
  });
  return { tag, sections: Object.fromEntries(sections), tools: Object.fromEntries(described) };
}

/**
 * Gives stale texts the current hashes, so that they apply again. Leaves out texts that were never edited and texts
 * whose section or tool is gone.
 */
export function acceptedTexts({ tag, sections, tools }: PromptOverride, current: PromptOverride): PromptOverride {
  const acceptedSections = Object.entries(sections).flatMap(([path, texts]) => {
    const now = Object.hasOwn(current.sections, path) ? current.sections[path] : undefined;
    if (now === undefined) return [];
    return [[path, texts.hash !== now.hash && isAsSeeded(texts) ? now : { ...texts, hash: now.hash }] as const];
  });
  const acceptedTools = Object.entries(tools).flatMap(([name, texts]) => {
    const now = Object.hasOwn(current.tools, name) ? current.tools[name] : undefined;
    return now === undefined ? [] : [[name, { ...texts, hash: now.hash }] as const];
  });
  return { tag, sections: Object.fromEntries(acceptedSections), tools: Object.fromEntries(acceptedTools) };
}

/** Whether the texts are still those that the hash was made of. */
function isAsSeeded({ hash, text, summary, visibility }: PromptOverride["sections"][string]): boolean {
  const texts = { ...(text === undefined ? {} : { text }), ...(summary === undefined ? {} : { summary }) };
  // A visibility that is computed is not among the texts.
  const computed = { ...texts, visibility: () => "full" as const };
  const given = { ...texts, ...(visibility === undefined ? {} : { visibility }) };
  return [given, computed].some((section) => sectionHash({ key: "seeded", ...section }) === hash);
}

/**
 * Checks the texts that apply; stale ones are ignored. `where` names the override in the error.
 * @throws {DefinitionError} for a text with an unknown placeholder or without a file's, and for a section to be summarised
 * that has no summary.
 */
export function checkOverrideTexts(
  override: PromptOverride,
  descriptor: PromptDescriptor,
  where: string = nameOf(override, descriptor),
): void {
  const { params, summaries = [] } = descriptor;
  const faults = Object.entries(override.sections).flatMap(([path, { hash, text, summary, visibility }]) => {
    if (hash !== overridable(descriptor, path)) return [];
    const names = [text, summary].flatMap((given) => paramsIn(parseText(given ?? "", `${where}: section "${path}"`)));
    const unknown = params === undefined ? [] : names.filter((name) => !params.includes(name));
    const offered = params?.join(", ") || "none";
    const left = filesLeftOut(descriptor, path, { text, summary });
    return [
      ...(unknown.length === 0
        ? []
        : [`section "${path}" names unknown params: ${unknown.join(", ")}. The prompt's params: ${offered}`]),
      ...(left.length === 0 ? [] : [`section "${path}" leaves out the file ${left.join(", ")}`]),
      ...(visibility === "summary" && summary === undefined && !summaries.includes(path)
        ? [`section "${path}" is to be shown as a summary, but has none: give the override a summary`]
        : []),
    ];
  });
  if (faults.length > 0) throw new DefinitionError(`${where}: ${faults.join("; ")}.`);
}

/** The placeholders of files that the texts of an override drop. */
function filesLeftOut(
  { files = {} }: PromptDescriptor,
  path: string,
  texts: { readonly text: string | undefined; readonly summary: string | undefined },
): readonly string[] {
  if (!Object.hasOwn(files, path)) return [];
  return (["text", "summary"] as const).flatMap((kind) => {
    if (texts[kind] === undefined) return [];
    const shown = paramsIn(parseText(texts[kind], path));
    return (files[path]?.[kind] ?? []).filter((name) => !shown.includes(name)).map((name) => `{{${name}}}`);
  });
}

function hashFault(what: string, hash: string, known: string | undefined): readonly string[] {
  if (known === undefined) return [`${what} is not there, or takes no overrides`];
  return hash === known ? [] : [`${what} has changed since: the hash is ${known} now`];
}

function nameOf({ tag }: PromptOverride, { ns, key }: PromptDescriptor): string {
  return `The override "${tag}" of ${ns}/${key}`;
}

/** The hash of a section that takes overrides. */
function overridable(descriptor: PromptDescriptor, path: string): string | undefined {
  return descriptor.fixed?.includes(path) === true ? undefined : own(descriptor.sections, path);
}

function own(record: Readonly<Record<string, string>>, key: string): string | undefined {
  return Object.hasOwn(record, key) && !isForbiddenKey(key) ? record[key] : undefined;
}

function propertiesOf(schema: JsonSchema): Readonly<Record<string, JsonSchema>> {
  return (schema["properties"] ?? {}) as Readonly<Record<string, JsonSchema>>;
}

function paramDescriptions(tool: Tool): Readonly<Record<string, string>> {
  const described = Object.entries(propertiesOf(jsonSchemaOf(tool.input, "input"))).flatMap(([name, property]) =>
    typeof property["description"] === "string" && !isForbiddenKey(name)
      ? [[name, property["description"]] as const]
      : [],
  );
  return Object.fromEntries(described);
}

/** Returns the tool with another description and other descriptions of its params. */
function describedAnew(
  tool: Tool,
  { description = tool.description, params = {} }: PromptOverride["tools"][string],
): Tool {
  const given = jsonSchemaOf(tool.input, "input");
  const properties = propertiesOf(given);
  const changed = Object.entries(params).filter(([name]) => Object.hasOwn(properties, name));
  if (changed.length === 0) return Object.freeze({ ...tool, description });
  const renamed = changed.map(([name, text]) => [name, { ...properties[name], description: text }] as const);
  const printed = { ...given, properties: { ...properties, ...Object.fromEntries(renamed) } };
  const standard = tool.input["~standard"];
  const input: Schema = {
    "~standard": {
      ...standard,
      jsonSchema: { ...standard.jsonSchema, input: () => printed },
    },
  };
  return Object.freeze({ ...tool, description, input });
}

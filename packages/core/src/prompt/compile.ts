import { describeValue, isRecord } from "../values.ts";
import { DefinitionError } from "../errors.ts";
import { resolveRef, type JsonSchema } from "../json-schema.ts";
import { looseJsonSchemaOf, type Schema } from "../schema.ts";
import type { Slice } from "../state/slice.ts";
import { placedTool } from "../tool/check-tool.ts";
import { placedPolicy, type ToolPolicy } from "../tool/policy.ts";
import { defineProviderTool, type ProviderTool } from "../tool/provider-tool.ts";
import type { Tool } from "../tool/tool.ts";
import type { PromptDefinition } from "./template.ts";
import { paramsIn, parseText, type TextPart } from "./placeholders.ts";
import { checkToolExamples, toolExamplesText } from "./examples.ts";
import { filesOfTexts, refuseFilesOfSystem, type FilesOfTexts } from "./file-params.ts";
import { checkSection, type Section } from "./section.ts";
import { openedSections } from "./disclosure/visibility.ts";

/** A section ready to be rendered: its place, its number and its text in parts. */
export interface CompiledSection {
  readonly section: Section<never>;
  /** Dotted path of keys. */
  readonly path: string;
  /** "2.1.", by position in the template. */
  readonly number: string;
  readonly depth: number;
  /** "### 2.1. Title"; empty without a title. */
  readonly heading: string;
  /** The examples of its tools, ready to be shown. */
  readonly examples: string;
  readonly role: "system" | "user";
  /** The section's own policies, then its parents'. */
  readonly policies: readonly ToolPolicy[];
  readonly text: readonly TextPart[];
  readonly summary: readonly TextPart[];
  readonly children: readonly CompiledSection[];
}

export interface Compiled {
  readonly sections: readonly CompiledSection[];
  /** Every section, parents first. */
  readonly all: readonly CompiledSection[];
  readonly tools: readonly Tool[];
  readonly providerTools: readonly ProviderTool[];
  readonly slices: readonly Slice[];
  /** The names of the params; undefined where the schema is loose, or its JSON Schema does not list its keys. */
  readonly params: readonly string[] | undefined;
  /** The files that texts name, as far as the schema says it; undefined: none. */
  readonly files: FilesOfTexts | undefined;
  /** The names that the schema declares, whether or not it takes others. */
  readonly declared: ReadonlySet<string>;
}

type AnyDefinition = Pick<
  PromptDefinition<Schema, undefined, readonly Section<never>[]>,
  "ns" | "key" | "params" | "sections" | "policies" | "slices"
>;

/** The names of tools that the framework itself offers. */
export const builtInTools = ["open_sections", "read_section", "read_result"] as const;

/** @throws {DefinitionError} where sections, tools or slices contradict each other. */
export function compileSections(definition: AnyDefinition): Compiled {
  const known = paramNames(definition.params);
  const declared = known ?? declaredNames(definition.params);
  const of = ` of prompt "${definition.ns}/${definition.key}"`;
  const all: CompiledSection[] = [];
  const compile = (
    list: readonly Section<never>[],
    parent: CompiledSection | undefined,
  ): readonly CompiledSection[] => {
    refuseDuplicates(
      list.map(({ key }) => key),
      (key) => `Two sections ${parent ? `in "${parent.path}" ` : ""}have the key "${key}".`,
    );
    return list.map((given, index) => {
      const path = parent ? `${parent.path}.${given.key}` : given.key;
      checkSection(given, path, of);
      const section = frozenSection(given);
      checkEnabled(section, path, known);
      const number = `${parent?.number ?? ""}${index + 1}.`;
      const depth = (parent?.depth ?? 0) + 1;
      const place = {
        section,
        path,
        number,
        depth,
        heading: headingOf(section.title, { number, depth }),
        examples: toolExamplesText(section.tools ?? []),
        role: parent?.role ?? section.role ?? "system",
        policies: [...(section.policies ?? []), ...(parent?.policies ?? [])],
        text: checkedText(section.text, `The text of section "${path}"`, known),
        summary: checkedText(section.summary, `The summary of section "${path}"`, known),
      };
      if (section.role !== undefined && section.role !== place.role) {
        throw new DefinitionError(
          `The section "${path}" cannot be a "${section.role}" section inside a "${place.role}" one.`,
        );
      }
      const compiled = { ...place, children: [] as readonly CompiledSection[] };
      all.push(compiled);
      compiled.children = compile(section.children ?? [], compiled);
      return compiled;
    });
  };
  const sections = compile(definition.sections ?? [], undefined);
  const files = filesOfTexts(definition.params, all);
  refuseFilesOfSystem(files, all);
  const tools = all.flatMap(({ section }) => section.tools ?? []);
  const providerTools = all.flatMap(({ section }) => section.providerTools ?? []);
  checkTools(tools, providerTools);
  const names = { params: known && [...known], declared };
  return { sections, all, tools, providerTools, slices: collectSlices(definition, all), files, ...names };
}

/** A blank title is as if left out. */
function headingOf(title: string = "", { number, depth }: Pick<CompiledSection, "number" | "depth">): string {
  return title.trim() === "" ? "" : `${"#".repeat(Math.min(depth + 1, 6))} ${number} ${title}`;
}

/** A copy, so that nothing done to the definition later reaches the template. */
function frozenSection(section: Section<never>): Section<never> {
  const { tools, providerTools, policies, resources, slices } = section;
  return Object.freeze({
    ...section,
    ...(tools && { tools: Object.freeze(tools.map(placedTool)) }),
    ...(providerTools && { providerTools: Object.freeze(providerTools.map(defineProviderTool)) }),
    ...(policies && { policies: Object.freeze(policies.map(placedPolicy)) }),
    ...(resources && { resources: Object.freeze([...resources]) }),
    ...(slices && { slices: Object.freeze([...slices]) }),
  });
}

function checkedText(
  text: string | undefined,
  where: string,
  known: ReadonlySet<string> | undefined,
): readonly TextPart[] {
  const parts = parseText(text ?? "", where);
  const unknownNames = paramsIn(parts).filter((name) => known !== undefined && !known.has(name));
  if (unknownNames.length > 0) {
    const offered = [...(known ?? [])].join(", ") || "none";
    throw new DefinitionError(
      `${where} names unknown params: ${unknownNames.join(", ")}. The prompt's params: ${offered}.`,
    );
  }
  return parts;
}

function checkEnabled({ enabled }: Section<never>, path: string, known: ReadonlySet<string> | undefined): void {
  const given: unknown = enabled;
  if (given === undefined || typeof given === "function") return;
  if (typeof given !== "string") {
    throw new DefinitionError(
      `The section "${path}" must be enabled by a function of the params or by the name of one, not by ${describeValue(given)}.`,
    );
  }
  if (known === undefined || known.has(given)) return;
  const offered = [...known].join(", ") || "none";
  throw new DefinitionError(
    `The section "${path}" is enabled by the unknown param "${given}". The prompt's params: ${offered}.`,
  );
}

/**
 * Returns the names that a loose schema, or one whose JSON Schema does not list its keys, declares for its input or
 * output.
 */
function declaredNames(schema: Schema | undefined): ReadonlySet<string> {
  if (schema === undefined) return new Set();
  const sides = [looseJsonSchemaOf(schema, "input"), looseJsonSchemaOf(schema, "output")];
  return new Set(sides.flatMap((root) => namesIn(root, root)));
}

/** The properties of all branches. */
function namesIn(root: JsonSchema, schema: unknown): readonly string[] {
  if (!isRecord(schema)) return [];
  if (typeof schema["$ref"] === "string" && schema["$ref"] !== "#")
    return namesIn(root, resolveRef(root, schema["$ref"]));
  const parts = schema["anyOf"] ?? schema["oneOf"] ?? schema["allOf"];
  if (Array.isArray(parts)) return parts.flatMap((part) => namesIn(root, part));
  return isRecord(schema["properties"]) ? Object.keys(schema["properties"]) : [];
}

/** Returns undefined where the schema is loose, or its JSON Schema does not list its keys. */
function paramNames(schema: Schema | undefined): ReadonlySet<string> | undefined {
  if (schema === undefined) return new Set();
  const root = looseJsonSchemaOf(schema, "output");
  const names = keysOf(root, root);
  return names === undefined ? undefined : new Set(names);
}

/** Returns the keys of all branches of a union or an intersection; undefined as soon as one is open. */
function keysOf(root: JsonSchema, schema: unknown): readonly string[] | undefined {
  if (!isRecord(schema)) return undefined;
  if (typeof schema["$ref"] === "string" && schema["$ref"] !== "#")
    return keysOf(root, resolveRef(root, schema["$ref"]));
  const parts = schema["anyOf"] ?? schema["oneOf"] ?? schema["allOf"];
  if (Array.isArray(parts)) {
    const keys = parts.map((part) => keysOf(root, part));
    return keys.includes(undefined) ? undefined : keys.flatMap((some) => some ?? []);
  }
  const { properties, additionalProperties } = schema;
  if (additionalProperties !== undefined && additionalProperties !== false) return undefined;
  return isRecord(properties) ? Object.keys(properties) : undefined;
}

function checkTools(tools: readonly Tool[], providerTools: readonly ProviderTool[]): void {
  refuseDuplicates(
    [...builtInTools, ...[...tools, ...providerTools].map(({ name }) => name)],
    (name) =>
      `Two tools have the name "${name}"${builtInTools.some((own) => own === name) ? " (the framework's own)" : ""}.`,
  );
  for (const tool of tools) checkToolExamples(tool);
}

function collectSlices(definition: AnyDefinition, all: readonly CompiledSection[]): readonly Slice[] {
  const policies = [...(definition.policies ?? []), ...all.flatMap(({ section }) => section.policies ?? [])];
  const slices = new Set([
    ...(definition.slices ?? []),
    ...all.flatMap(({ section }) => section.slices ?? []),
    ...policies.flatMap((policy) => policy.slices ?? []),
    ...(all.some(({ section }) => section.visibility !== undefined || section.summary !== undefined)
      ? [openedSections]
      : []),
  ]);
  refuseDuplicates(
    [...slices].map(({ name }) => name),
    (name) => `Two different slices have the name "${name}".`,
  );
  return Object.freeze([...slices]);
}

function refuseDuplicates(names: readonly string[], message: (name: string) => string): void {
  const seen = new Set<string>();
  for (const name of names) {
    if (seen.has(name)) throw new DefinitionError(message(name));
    seen.add(name);
  }
}

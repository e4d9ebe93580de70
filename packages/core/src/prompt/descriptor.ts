import { canonicalJson, contentHash } from "../canonical-json.ts";
import { frozenJson } from "../json.ts";
import { withPossibleKeys } from "../keys-in-schema.ts";
import { jsonSchemaOf, type JsonSchema, type Schema } from "../schema.ts";
import { sha256 } from "../sha256.ts";
import type { ProviderTool } from "../tool/provider-tool.ts";
import type { Tool } from "../tool/tool.ts";
import type { FilesOfTexts } from "./file-params.ts";
import type { Section } from "./section.ts";

/** SHA-256 of what can be overridden: sections by dotted path, tools by name. */
export interface PromptDescriptor {
  readonly ns: string;
  readonly key: string;
  readonly sections: Readonly<Record<string, string>>;
  readonly tools: Readonly<Record<string, string>>;
  /** SHA-256 of each tool that the provider runs, by name: its id and arguments. Left out: there are none. */
  readonly providerTools?: Readonly<Record<string, string>>;
  /** The params that a text may name; left out where the schema is loose. */
  readonly params?: readonly string[];
  /** Sections that take no overrides. */
  readonly fixed?: readonly string[];
  /** Sections that have a summary. */
  readonly summaries?: readonly string[];
  /** The params that hold files, as far as the schema says it, and the texts that name them. Left out: there are none. */
  readonly files?: FilesOfTexts;
}

interface Described extends Pick<PromptDescriptor, "ns" | "key"> {
  readonly params: readonly string[] | undefined;
  readonly files: FilesOfTexts | undefined;
  readonly all: readonly { readonly path: string; readonly section: Section<never> }[];
  readonly tools: readonly Tool[];
  readonly providerTools: readonly ProviderTool[];
}

/** The descriptor of a template. Fields that would be empty are left out. */
export function descriptorOf({ ns, key, all, tools, providerTools, params, files }: Described): PromptDescriptor {
  const fixed = all.filter(({ section }) => section.acceptsOverrides === false).map(({ path }) => path);
  const summaries = all.filter(({ section }) => section.summary !== undefined).map(({ path }) => path);
  return frozenJson({
    ns,
    key,
    sections: Object.fromEntries(all.map(({ path, section }) => [path, sectionHash(section)])),
    tools: Object.fromEntries(tools.map((tool) => [tool.name, toolHash(tool)])),
    ...providerToolHashes(providerTools),
    ...(params === undefined ? {} : { params }),
    ...(fixed.length === 0 ? {} : { fixed }),
    ...(summaries.length === 0 ? {} : { summaries }),
    ...(files === undefined ? {} : { files }),
  });
}

/** Hashes what an override can replace in a section. */
export function sectionHash(section: Section<never>): string {
  const { text, summary, visibility } = section;
  return contentHash({
    text: text ?? null,
    summary: summary ?? null,
    visibility: typeof visibility === "function" ? "computed" : (visibility ?? "full"),
  });
}

/** Hashes what an override can replace in a tool, and the tool's schemas. */
function toolHash(tool: Tool): string {
  const { name, description, input, output } = tool;
  const taken = canonicalSchema(jsonSchemaOf(input, "input", `The input of tool "${name}"`));
  const given = output === undefined ? "null" : canonicalSchema(printedOutput(output, `The output of tool "${name}"`));
  // The canonical JSON of an object with these three.
  return sha256(`{"description":${canonicalJson(description)},"input":${taken},"output":${given}}`, "hex");
}

/** Schemas are printed once, and many tools and prompts may have the same ones. */
const canonicalSchemas = /* @__PURE__ */ new WeakMap<JsonSchema, string>();

function canonicalSchema(schema: JsonSchema): string {
  let text = canonicalSchemas.get(schema);
  if (text === undefined) canonicalSchemas.set(schema, (text = canonicalJson(schema)));
  return text;
}

/** @throws {DefinitionError} for what cannot be printed, or has a key that no result may have. */
function printedOutput(output: Schema, what: string): JsonSchema {
  return withPossibleKeys(jsonSchemaOf(output, "output", what), what);
}

/** Hashes what a provider receives with each tool that it runs; nothing where there are none. */
function providerToolHashes(tools: readonly ProviderTool[]): Pick<PromptDescriptor, "providerTools"> {
  if (tools.length === 0) return {};
  const hashes = tools.map(({ name, id, args }) => [name, contentHash({ id, args })] as const);
  return { providerTools: Object.fromEntries(hashes) };
}

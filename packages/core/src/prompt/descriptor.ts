import { contentHash } from "../json.ts";
import { jsonSchemaOf } from "../schema.ts";
import type { Tool } from "../tool/tool.ts";
import type { Section } from "./section.ts";

/** SHA-256 of what can be overridden: sections by dotted path, tools by name. */
export interface PromptDescriptor {
  readonly ns: string;
  readonly key: string;
  readonly sections: Readonly<Record<string, string>>;
  readonly tools: Readonly<Record<string, string>>;
  /** The params that a text may name; left out where the schema is loose. */
  readonly params?: readonly string[];
  /** Sections that take no overrides. */
  readonly fixed?: readonly string[];
  /** Sections that have a summary. */
  readonly summaries?: readonly string[];
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
export function toolHash(tool: Tool): string {
  return contentHash({
    description: tool.description,
    input: jsonSchemaOf(tool.input, "input", `The input of tool "${tool.name}"`),
    output: tool.output === undefined ? null : jsonSchemaOf(tool.output, "output", `The output of tool "${tool.name}"`),
  });
}

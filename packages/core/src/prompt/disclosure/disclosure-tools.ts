import { VisibilityExpansionRequired } from "./visibility-error.ts";
import { toolError, toolOk } from "../../tool/result.ts";
import type { Tool } from "../../tool/tool.ts";
import { plainSchema } from "../plain-schema.ts";

/** A section that is shown as its summary. */
export interface SummarisedSection {
  /** Dotted path of keys. */
  readonly path: string;
  /** Whether it has tools, or sections below it that have. */
  readonly hasTools: boolean;
}

/** The line below a summary: how to see more. */
export function openingLine({ path, hasTools }: SummarisedSection): string {
  return hasTools
    ? `(Summary. Call open_sections with the key "${path}" to open it with its tools.)`
    : `(Summary. Call read_section with the key "${path}" to read it.)`;
}

/** What the framework offers for these: one tool, both, or none. */
export function disclosureTools(
  summarised: readonly SummarisedSection[],
  textOf: (path: string) => string | undefined,
): readonly Tool[] {
  return [
    ...(summarised.some(({ hasTools }) => hasTools) ? [openSections(summarised)] : []),
    ...(summarised.some(({ hasTools }) => !hasTools) ? [readSection(summarised, textOf)] : []),
  ];
}

/** Returns the result for a model that named a section which cannot be opened. */
export function cannotOpen(keys: readonly string[], summarised: readonly SummarisedSection[]): string {
  const offered = summarised.map(({ path }) => path).join(", ");
  const named = keys.map((key) => `"${key}"`).join(", ");
  return `${named} cannot be opened: unknown, or open already. ${offered === "" ? "Nothing can be opened." : `Can be opened: ${offered}.`}`;
}

function openSections(summarised: readonly SummarisedSection[]): Tool<unknown> {
  return {
    name: "open_sections",
    description: "Open sections that are shown as summaries, with their text and their tools.",
    input: plainSchema<{ readonly keys: readonly string[]; readonly reason: string }>(
      {
        type: "object",
        properties: {
          keys: {
            type: "array",
            items: { type: "string" },
            minItems: 1,
            description: "Keys as the summaries name them.",
          },
          reason: { type: "string", description: "Why they are needed now." },
        },
        required: ["keys", "reason"],
        additionalProperties: false,
      },
      ({ keys, reason }) => [
        ...(isTextList(keys) && keys.length > 0 ? [] : [{ path: "keys", message: "must be a list of keys" }]),
        ...(typeof reason === "string" ? [] : [{ path: "reason", message: "must be a text" }]),
      ],
    ),
    // What is open stands in the session.
    idempotent: true,
    transactional: true,
    execute(input) {
      const { keys, reason } = input as { readonly keys: readonly string[]; readonly reason: string };
      const unknown = keys.filter((key) => summarised.every(({ path }) => path !== key));
      if (unknown.length > 0) return toolError(cannotOpen(unknown, summarised));
      throw new VisibilityExpansionRequired(Object.fromEntries(keys.map((key) => [key, "full"])), reason);
    },
  };
}

function readSection(
  summarised: readonly SummarisedSection[],
  textOf: (path: string) => string | undefined,
): Tool<unknown> {
  return {
    name: "read_section",
    description: "Read a section that is shown as a summary; nothing changes.",
    input: plainSchema<{ readonly key: string }>(
      {
        type: "object",
        properties: { key: { type: "string", description: "A key as the summary names it." } },
        required: ["key"],
        additionalProperties: false,
      },
      ({ key }) => (typeof key === "string" ? [] : [{ path: "key", message: "must be a key" }]),
    ),
    readOnly: true,
    execute(input) {
      const { key } = input as { readonly key: string };
      // What was read names the summaries below it, and opens nothing.
      const below = (path: string): boolean => key.startsWith(`${path}.`);
      const known = summarised.some(({ path, hasTools }) => path === key || (!hasTools && below(path)));
      const text = known ? textOf(key) : undefined;
      if (text === undefined) return toolError(cannotOpen([key], summarised));
      return toolOk(text === "" ? `"${key}" says no more than its summary.` : text);
    },
  };
}

function isTextList(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((item) => typeof item === "string");
}

import { DefinitionError } from "../errors.ts";
import { checkLists } from "../lists.ts";
import { checkOptionNames, type OptionNames } from "../option-names.ts";
import type { Binding } from "../resources/binding.ts";
import type { ObjectSchema, Schema } from "../schema.ts";
import type { SessionState } from "../state/session.ts";
import type { Slice } from "../state/slice.ts";
import type { ToolPolicy } from "../tool/policy.ts";
import type { ProviderTool } from "../tool/provider-tool.ts";
import type { Tool } from "../tool/tool.ts";
import type { OutputOf } from "../types.ts";
import type { CheckedSectionList, CheckedText, TextKeys } from "./placeholders.ts";
import type { Visibility } from "./disclosure/visibility.ts";

/** A part of a prompt: its text, its tools, and what belongs to them. */
export interface Section<in Params = {}> {
  /** `^[a-z0-9][a-z0-9_-]{0,63}$`, unique among its siblings. */
  readonly key: string;
  /** The heading; a section without one has none. */
  readonly title?: string | undefined;
  /** Markdown with {{param}} placeholders; `\{{` is a literal `{{`. */
  readonly text?: string | undefined;
  /** A text from the session's state, shown as it is in place of `text`; undefined: `text`. Pure. */
  readonly textFrom?: ((get: SessionState["get"], path: string) => string | undefined) | undefined;
  /** Shown in place of text while the section is summarised; placeholders as in text. */
  readonly summary?: string | undefined;
  /**
   * Whether the section is shown in full or as its summary, which it needs then; the model opens it when it needs it.
   * Default "full".
   */
  readonly visibility?: (Visibility | ((params: Params) => Visibility)) | undefined;
  /**
   * The message that shows the section. Default "system". The user sections form the user message. A child has its
   * parent's role.
   */
  readonly role?: "system" | "user" | undefined;
  /**
   * Whether it is there: a function of the params, or the name of a param, which then has to be there; an empty text
   * counts. Left out: always. A disabled section vanishes with its subtree.
   */
  readonly enabled?: (keyof Params & string) | ((params: Params) => boolean) | undefined;
  /**
   * Whether a mark for the prompt cache stands behind this section's own text. It is sent only where the evaluation's
   * settings have `cache`. Default false.
   */
  readonly cached?: boolean | undefined;
  /** Tools that the model may call while the section is open. */
  readonly tools?: readonly Tool[] | undefined;
  /** Tools that the provider runs while the section is open; they come and go with it as its own tools do. */
  readonly providerTools?: readonly ProviderTool[] | undefined;
  /** Policies for the calls of this section's tools, before those of the prompt. */
  readonly policies?: readonly ToolPolicy[] | undefined;
  /** Resources of the section, opened when an evaluation begins. */
  readonly resources?: readonly Binding[] | undefined;
  /** What its tools and policies keep; a session that lacks one gets it when the evaluation begins. */
  readonly slices?: readonly Slice[] | undefined;
  /** Sections below this one. */
  readonly children?: readonly Section<Params>[] | undefined;
  /** Whether an override may replace the section's texts. Default true. */
  readonly acceptsOverrides?: boolean | undefined;
}

/**
 * The sections of a prompt, as its params allow them: a placeholder or a property that is unknown does not compile.
 */
export type CheckedSections<S extends readonly unknown[], K, Known = K> = CheckedSectionList<
  S,
  K,
  Known,
  keyof Section
>;

/** What `defineSection` takes: a Section whose placeholders are checked against `params`. */
export interface SectionDefinition<
  PS extends Schema,
  T extends string,
  U extends string,
  C extends readonly unknown[],
> extends Omit<Section<OutputOf<PS>>, "text" | "summary" | "children"> {
  /** What it asks of a prompt that it is put into. */
  readonly params?: PS | undefined;
  /** The text; `${name}` stands for a param. */
  readonly text?: (T & CheckedText<T, TextKeys<OutputOf<PS>>, keyof OutputOf<PS>>) | undefined;
  /** What the model reads while the section is closed. */
  readonly summary?: (U & CheckedText<U, TextKeys<OutputOf<PS>>, keyof OutputOf<PS>>) | undefined;
  /** Sections below this one. */
  readonly children?: (C & CheckedSections<C, TextKeys<OutputOf<PS>>, keyof OutputOf<PS>>) | undefined;
}

/**
 * Defines a section that several prompts share. A prompt whose params lack one of the section's does not compile.
 * @throws {DefinitionError} on a malformed key, or a summary that is missing.
 */
export function defineSection<
  PS extends ObjectSchema = Schema<{}, {}>,
  const T extends string = never,
  const U extends string = never,
  const C extends readonly Section<OutputOf<PS>>[] = readonly [],
>(section: SectionDefinition<PS, T, U, C>): Section<OutputOf<PS>> {
  const { params: _, ...rest } = section;
  checkSection(rest as Section, rest.key);
  return Object.freeze(rest as Section<OutputOf<PS>>);
}

/** The form of `ns` and of prompt keys. */
export const keyPattern = /^[a-z0-9][a-z0-9._-]{0,63}$/;

/** @throws {DefinitionError} showing the key and the rule. */
export function checkKey(what: string, key: unknown, options: { readonly dots: boolean }): void {
  if (typeof key === "string" && keyPattern.test(key) && (options.dots || !key.includes("."))) return;
  const rule = options.dots ? keyPattern.source : "^[a-z0-9][a-z0-9_-]{0,63}$";
  throw new DefinitionError(`${what} ${JSON.stringify(key) ?? String(key)} must match ${rule}.`);
}

const sectionNames = {
  key: true,
  title: true,
  text: true,
  textFrom: true,
  summary: true,
  visibility: true,
  role: true,
  enabled: true,
  cached: true,
  tools: true,
  providerTools: true,
  policies: true,
  resources: true,
  slices: true,
  children: true,
  acceptsOverrides: true,
} as const satisfies OptionNames<Section>;

/** One section by itself; its texts are checked with the prompt, which knows the params. `of` names the prompt. */
export function checkSection(section: Section<never>, path: string, of = ""): void {
  checkKey("The section key", section.key, { dots: false });
  checkOptionNames(`The section "${path}"`, section, sectionNames);
  const lists = ["tools", "providerTools", "policies", "resources", "slices", "children"] as const;
  checkLists(`section "${path}"${of}`, section, ...lists);
  const { visibility, summary } = section;
  if (visibility === undefined || visibility === "full") return;
  if (visibility !== "summary" && typeof visibility !== "function") {
    throw new DefinitionError(`The visibility of section "${path}" must be "full", "summary" or a function.`);
  }
  if (summary === undefined) throw new DefinitionError(`The section "${path}" can be summarised, but has no summary.`);
}

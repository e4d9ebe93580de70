import { DefinitionError } from "../errors.ts";
import { checkLists } from "../lists.ts";
import type { PlacesInTexts } from "./placed-params.ts";
import type { Binding } from "../resources/binding.ts";
import { looseJsonSchemaOf, type ObjectSchema, type Schema } from "../schema.ts";
import type { SessionState } from "../state/session.ts";
import type { Slice } from "../state/slice.ts";
import { checkCompletion, type CompletionChecker } from "../tool/completion.ts";
import { checkedFeedback, type FeedbackProvider } from "../tool/feedback.ts";
import { placedPolicy, type ToolPolicy } from "../tool/policy.ts";
import type { ProviderTool } from "../tool/provider-tool.ts";
import type { Tool } from "../tool/tool.ts";
import type { InputOf, OutputOf } from "../types.ts";
import { compileSections } from "./compile.ts";
import type { CompiledTemplate, PromptSchemas } from "./compiled-template.ts";
import { checkNames } from "./check-names.ts";
import { descriptorOf, type PromptDescriptor } from "./descriptor.ts";
import type { SummarisedSection } from "./disclosure/disclosure-tools.ts";
import { checkTaskExamples, type TaskExample } from "./examples.ts";
import { outputSpec, type OutputSpec } from "./output.ts";
import { checkedParams, frozenParams } from "./params.ts";
import { checkTag, acceptedTexts, currentTexts, type AppliedOverride, type PromptOverride } from "./overrides.ts";
import type { CheckedText, TextKeys } from "./placeholders.ts";
import { renderPrompt, wholeOutline } from "./render.ts";
import type { RenderedSection } from "./rendered-sections.ts";
import { checkText, type CheckedSections, type Section } from "./section.ts";
import type { Visibility } from "./disclosure/visibility.ts";

/** What `definePrompt` takes: `sections`, or `text` for a prompt of one user message. */
export interface PromptDefinition<
  PS extends Schema,
  OS extends Schema | undefined,
  S extends readonly unknown[],
  T extends string = string,
> {
  /** The namespace of the prompt. Default "app". */
  readonly ns?: string | undefined;
  /** The prompt's name in its namespace: `^[a-z0-9][a-z0-9._-]{0,63}$`. */
  readonly key: string;
  /** The name of the prompt in events and errors. Default `ns/key`. */
  readonly name?: string | undefined;
  /** The schema of the params that the texts name. */
  readonly params?: PS | undefined;
  /** The schema of the output. Left out: the output is the answer's text. */
  readonly output?: OS | undefined;
  /** Describe the output in the text even where the provider enforces it. Default false. */
  readonly outputInstructions?: boolean | undefined;
  /** The sections of the prompt. Give either these or `text`. */
  readonly sections?: (S & CheckedSections<S, TextKeys<OutputOf<PS>>, keyof OutputOf<PS>>) | undefined;
  /** The text of the prompt, as one user section. Give either this or `sections`. */
  readonly text?: (T & CheckedText<T, TextKeys<OutputOf<PS>>, keyof OutputOf<PS>>) | undefined;
  /** Policies for the calls of all tools. */
  readonly policies?: readonly ToolPolicy[] | undefined;
  /** Providers of texts that the model reads beside the results of tools, now and then. */
  readonly feedback?: readonly FeedbackProvider[] | undefined;
  /** Looks at the answer: what is missing is shown to the model, at most 10 times. */
  readonly completion?: CompletionChecker<NoInfer<OS extends Schema ? OutputOf<OS> : string>> | undefined;
  /** Resources of the prompt, opened when an evaluation begins. */
  readonly resources?: readonly Binding[] | undefined;
  /** Slices that are registered with the session when an evaluation begins. */
  readonly slices?: readonly Slice[] | undefined;
  /** Whole tasks, shown after the sections. */
  readonly examples?: readonly TaskExample[] | undefined;
}

/** A prompt without its params; `bind` gives it them. */
export interface PromptTemplate<Params, Output> {
  /** The namespace; `app` where none was given. */
  readonly ns: string;
  /** The name in the namespace. */
  readonly key: string;
  /** `namespace/key`. */
  readonly name: string;
  /** The names and hashes of the texts, for overrides. */
  readonly descriptor: PromptDescriptor;
  /** The slices of the prompt and its sections, for `restoreSession`. */
  readonly slices: readonly Slice[];
  /** Validates the params, applies their defaults. A DefinitionError lists every issue. */
  bind(...params: BindParams<Params>): Prompt<Output>;
}

/** Nothing has to be given where nothing is required. */
export type BindParams<Params> = {} extends Params ? [params?: Params] : [params: Params];

/** Parameters filled in: what an adapter evaluates. Immutable. */
export interface Prompt<Output = unknown> {
  /** The template that the prompt was bound from. */
  readonly template: PromptTemplate<never, Output>;
  /** The params as they were validated. */
  readonly params: Readonly<Record<string, unknown>>;
  /** Returns a copy of the prompt whose output is the answer's text, unparsed. */
  asText(): Prompt<string>;
  /** Pure: the same inputs give the same bytes. A DefinitionError or RenderFault when it cannot be rendered. */
  render(options?: RenderOptions): RenderedPrompt<Output>;
}

/** What a prompt is rendered with; an evaluation fills them in. */
export interface RenderOptions {
  /** Replaces the visibility of sections, by dotted path. */
  readonly visibility?: Readonly<Record<string, Visibility>> | undefined;
  /** Texts in place of the prompt's own. */
  readonly overrides?: PromptOverride | undefined;
  /** The state that sections may take their texts from; left out, they show their own. */
  readonly get?: SessionState["get"] | undefined;
  /** Whether the output schema is described in the text. Default: the prompt's own `outputInstructions`. */
  readonly outputInstructions?: boolean | undefined;
}

/** What a prompt comes to with its params: texts, tools, and what is asked while it is evaluated. */
export interface RenderedPrompt<Output = unknown> extends PlacesInTexts {
  /** The whole prompt as one markdown text. */
  readonly text: string;
  /**
   * Returns the parts of `text`, in its order; made when it is called. `textOf` replaces the text of each part, where the
   * text itself was changed in that way.
   */
  sections(textOf?: (text: string) => string): readonly RenderedSection[];
  /** The text for the model's system message. */
  readonly system: string;
  /** The text for the user message; empty where the prompt's user sections show nothing: then it asks nothing. */
  readonly user: string;
  /** The tools that the model may call, those of open sections. */
  readonly tools: readonly Tool[];
  /** The tools that the provider runs, those of open sections. */
  readonly providerTools: readonly ProviderTool[];
  /** The schema of the output; undefined for text. */
  readonly output: OutputSpec<Output> | undefined;
  /** The names and hashes of the texts, before any override. */
  readonly descriptor: PromptDescriptor;
  /** What became of the overrides; undefined without any. */
  readonly overrides: AppliedOverride | undefined;
  /** The policies of the tool's section, then the prompt's. */
  policiesOf(tool: string): readonly ToolPolicy[];
  /** The providers of feedback, in the order of the sections. */
  readonly feedback: readonly FeedbackProvider[];
  /** Checks an output before the evaluation ends; undefined where any output will do. */
  readonly completion: CompletionChecker<Output> | undefined;
  /** The bindings of the prompt and its sections. */
  readonly resources: readonly Binding[];
  /** Dotted paths of what `open_sections` and `read_section` can open. */
  readonly summarised: readonly SummarisedSection[];
}

/**
 * A prompt: typed params in, sections and tools between, a typed output at the end.
 * @example
 * ```ts
 * import { definePrompt } from "@proviso/core";
 * import { z } from "zod";
 *
 * const greet = definePrompt({ key: "greet", params: z.object({ name: z.string() }), text: "Greet {{name}}." });
 * console.log(greet.bind({ name: "Ada" }).render().user); // Greet Ada.
 * ```
 * @throws {DefinitionError} on malformed or duplicate keys, duplicate tools or slices, an unknown placeholder.
 */
export function definePrompt<
  PS extends ObjectSchema = Schema<{}, {}>,
  OS extends Schema | undefined = undefined,
  const S extends readonly Section<OutputOf<PS>>[] = readonly [],
  const T extends string = never,
>(definition: PromptDefinition<PS, OS, S, T>): PromptTemplate<InputOf<PS>, OS extends Schema ? OutputOf<OS> : string> {
  type Output = OS extends Schema ? OutputOf<OS> : string;
  checkNames(definition);
  const { ns = "app", key } = definition;
  checkLists(`prompt "${ns}/${key}"`, definition, ...listNames);
  checkCompletion(`prompt "${ns}/${key}"`, definition.completion);
  const compiled = compileTemplate({ ...(definition as AnyDefinition), ns });
  const template: PromptTemplate<InputOf<PS>, Output> = Object.freeze({
    ns,
    key,
    name: compiled.name,
    descriptor: compiled.descriptor,
    slices: compiled.slices,
    bind: (params?: InputOf<PS>) =>
      bindPrompt<Output>(template, compiled, checkedParams(definition.params, compiled.name, params ?? {}), params),
  });
  templates.set(template, compiled);
  return template;
}

const listNames = ["sections", "policies", "feedback", "resources", "slices", "examples"] as const;

const templates = new WeakMap<object, CompiledTemplate>();

/**
 * The current texts of a template as an override that replaces nothing: what an author of overrides begins with.
 * @throws {DefinitionError} for a template of other making, or a malformed tag.
 */
export function overrideOf(template: PromptTemplate<never, unknown>, tag: string): PromptOverride {
  const compiled = templates.get(template);
  if (compiled === undefined) throw new DefinitionError("This template was not made by definePrompt.");
  checkTag(tag);
  return currentTexts(compiled.all, compiled.tools, compiled.descriptor, tag);
}

/**
 * A stored override for the template as it is now. A section's texts that were edited hold for the current ones from now
 * on, as do a tool's; those that are as they were seeded give way to the current ones; what is gone is left out.
 * @throws {DefinitionError} for a template of other making.
 */
export function acceptOverride(override: PromptOverride, template: PromptTemplate<never, unknown>): PromptOverride {
  return acceptedTexts(override, overrideOf(template, override.tag));
}

/** A template's sections by dotted path, parents first. @throws {DefinitionError} for a template of other making. */
export function sectionsIn(
  template: PromptTemplate<never, unknown>,
): readonly { readonly path: string; readonly section: Section<never> }[] {
  const compiled = templates.get(template);
  if (compiled === undefined) throw new DefinitionError("This template was not made by definePrompt.");
  return compiled.all.map(({ path, section }) => ({ path, section }));
}

/** What a template was defined with. @throws {DefinitionError} for a template of other making. */
export function schemasOf(template: PromptTemplate<never, unknown>): PromptSchemas {
  const compiled = templates.get(template);
  if (compiled === undefined) throw new DefinitionError("This template was not made by definePrompt.");
  return compiled.schemas;
}

/**
 * Binds params that the prompt's schema has validated already, in a record or in a tool's input: what it changes in them is
 * not changed once more.
 * @throws {DefinitionError} for a template of other making.
 */
export function boundAgain<Output>(template: PromptTemplate<never, Output>, params: object): Prompt<Output> {
  const compiled = templates.get(template);
  if (compiled === undefined) throw new DefinitionError("This template was not made by definePrompt.");
  return bindPrompt(template, compiled, frozenParams(`The params of "${compiled.name}"`, { ...params }), params);
}

const given: unique symbol = Symbol("given params");

/** The params as `bind` was given them, before their schema changed them. */
export function givenParams(prompt: Prompt): object | undefined {
  return (prompt as { readonly [given]?: object | undefined })[given];
}

type AnyDefinition = PromptDefinition<Schema, Schema | undefined, readonly Section<never>[]> & { readonly ns: string };

function compileTemplate(definition: AnyDefinition): CompiledTemplate & { readonly slices: readonly Slice[] } {
  const { ns, key, output, examples = [] } = definition;
  // The schema is read for its keys below, where the prompt's name is not known.
  if (definition.params !== undefined)
    looseJsonSchemaOf(definition.params, "output", `The params of prompt "${ns}/${key}"`);
  const sections = sectionsOf(definition);
  const { all, tools, providerTools, slices, params, declared, files, ...compiled } = compileSections({
    ...definition,
    sections,
  });
  checkTaskExamples(examples, tools, output);
  const policies = Object.freeze((definition.policies ?? []).map(placedPolicy));
  const resources = Object.freeze([...(definition.resources ?? [])]);
  return Object.freeze({
    name: definition.name ?? `${ns}/${key}`,
    sections: compiled.sections,
    all,
    isOneUserMessage: all.every(({ role }) => role === "system"),
    whole: wholeOutline({ sections: compiled.sections, all, policies, resources }),
    tools,
    declared,
    slices,
    policies,
    feedback: Object.freeze((definition.feedback ?? []).map(checkedFeedback)),
    // The checker is given what the output schema yields.
    completion: definition.completion as CompletionChecker | undefined,
    examples: Object.freeze([...examples]),
    resources,
    descriptor: descriptorOf({ ns, key, all, tools, providerTools, params, files }),
    output: output === undefined ? undefined : outputSpec(output, `The output of prompt "${ns}/${key}"`),
    outputInstructions: definition.outputInstructions ?? false,
    schemas: { params: definition.params, output },
  });
}

function sectionsOf({ ns, key, sections, text }: AnyDefinition): readonly Section<never>[] {
  if (sections !== undefined && text !== undefined) {
    throw new DefinitionError(`The prompt "${ns}/${key}" has both sections and text: give one.`);
  }
  checkText(`text of prompt "${ns}/${key}"`, text);
  return text === undefined ? (sections ?? []) : [{ key: "text", text, role: "user" }];
}

function bindPrompt<Output>(
  template: PromptTemplate<never, unknown>,
  compiled: CompiledTemplate,
  params: Readonly<Record<string, unknown>>,
  asGiven: unknown,
): Prompt<Output> {
  return Object.freeze({
    [given]: asGiven,
    // What is read of it is the same for every output type.
    template: template as PromptTemplate<never, Output>,
    params,
    asText: () =>
      bindPrompt<string>(template, { ...compiled, output: undefined, completion: undefined }, params, asGiven),
    render: (options?: RenderOptions) => renderPrompt(compiled, params, options) as RenderedPrompt<Output>,
  });
}

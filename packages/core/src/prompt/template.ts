import { DefinitionError, NotSupportedError } from "../errors.ts";
import type { Binding } from "../resources/binding.ts";
import { describeIssues, parseWithSchemaSync, type ObjectSchema, type Schema } from "../schema.ts";
import type { Slice } from "../state/slice.ts";
import type { CompletionChecker } from "../tool/completion.ts";
import type { FeedbackProvider } from "../tool/feedback.ts";
import type { ToolPolicy } from "../tool/policy.ts";
import type { Tool } from "../tool/tool.ts";
import type { InputOf, OutputOf } from "../types.ts";
import { compileSections, type CompiledSection } from "./compile.ts";
import { sectionHash, toolHash, type PromptDescriptor } from "./descriptor.ts";
import type { TaskExample } from "./examples.ts";
import { outputSpec, type OutputSpec } from "./output.ts";
import type { PromptOverride } from "./overrides.ts";
import type { TextKeys } from "./placeholders.ts";
import { renderPrompt } from "./render.ts";
import { checkKey, type CheckedSections, type Section } from "./section.ts";
import type { Visibility } from "./visibility.ts";

export interface PromptDefinition<PS extends Schema, OS extends Schema | undefined, S extends readonly unknown[]> {
  readonly ns: string;
  readonly key: string;
  /** In events and errors. Default `ns/key`. */
  readonly name?: string | undefined;
  readonly params?: PS | undefined;
  /** Left out: the output is the answer's text. */
  readonly output?: OS | undefined;
  /** Describe the output in the text even where the provider enforces it. Default false. */
  readonly outputInstructions?: boolean | undefined;
  readonly sections: S & CheckedSections<S, TextKeys<OutputOf<PS>>>;
  readonly policies?: readonly ToolPolicy[] | undefined;
  /** Not supported yet. */
  readonly feedback?: readonly FeedbackProvider[] | undefined;
  /** Not supported yet. */
  readonly completion?: CompletionChecker<NoInfer<OS extends Schema ? OutputOf<OS> : string>> | undefined;
  readonly resources?: readonly Binding[] | undefined;
  readonly slices?: readonly Slice[] | undefined;
  /** Not supported yet. */
  readonly examples?: readonly TaskExample[] | undefined;
}

export interface PromptTemplate<Params, Output> {
  readonly ns: string;
  readonly key: string;
  readonly name: string;
  readonly descriptor: PromptDescriptor;
  /** Of the prompt and its sections: what `restoreSession` has to know. */
  readonly slices: readonly Slice[];
  /** Validates the params, applies their defaults. A DefinitionError lists every issue. */
  bind(params: Params): Prompt<Output>;
}

/** Parameters filled in: what an adapter evaluates. Immutable. */
export interface Prompt<Output = unknown> {
  readonly template: PromptTemplate<never, Output>;
  readonly params: Readonly<Record<string, unknown>>;
  /** The same prompt, its answer left unparsed. */
  asText(): Prompt<string>;
  /** Pure: the same inputs give the same bytes. A DefinitionError or RenderFault when it cannot be rendered. */
  render(options?: RenderOptions): RenderedPrompt<Output>;
}

export interface RenderOptions {
  /** Not supported yet. */
  readonly visibility?: Readonly<Record<string, Visibility>> | undefined;
  /** Not supported yet. */
  readonly overrides?: PromptOverride | undefined;
  /** Whether the output schema is described in the text. Default: the prompt's own `outputInstructions`. */
  readonly outputInstructions?: boolean | undefined;
}

export interface RenderedPrompt<Output = unknown> {
  /** The whole prompt as one markdown text. */
  readonly text: string;
  readonly system: string;
  readonly user: string;
  readonly tools: readonly Tool[];
  readonly output: OutputSpec<Output> | undefined;
  readonly descriptor: PromptDescriptor;
  /** The policies of the tool's section, then the prompt's. */
  policiesOf(tool: string): readonly ToolPolicy[];
  readonly feedback: readonly FeedbackProvider[];
  readonly completion: CompletionChecker<Output> | undefined;
  readonly resources: readonly Binding[];
  /** Dotted paths of what `open_sections` and `read_section` can open. */
  readonly summarised: readonly { readonly path: string; readonly hasTools: boolean }[];
}

/** A template with all that rendering needs. */
export interface CompiledTemplate {
  readonly name: string;
  readonly sections: readonly CompiledSection[];
  readonly policies: readonly ToolPolicy[];
  readonly resources: readonly Binding[];
  readonly descriptor: PromptDescriptor;
  readonly output: OutputSpec<unknown> | undefined;
  readonly outputInstructions: boolean;
}

/**
 * A prompt: typed params in, sections and tools between, a typed output at the end.
 * @throws {DefinitionError} on malformed or duplicate keys, duplicate tools or slices, an unknown placeholder.
 */
export function definePrompt<
  PS extends ObjectSchema = Schema<{}, {}>,
  OS extends Schema | undefined = undefined,
  const S extends readonly Section<OutputOf<PS>>[] = readonly [],
>(definition: PromptDefinition<PS, OS, S>): PromptTemplate<InputOf<PS>, OS extends Schema ? OutputOf<OS> : string> {
  type Output = OS extends Schema ? OutputOf<OS> : string;
  checkKey("The prompt's ns", definition.ns, { dots: true });
  checkKey("The prompt key", definition.key, { dots: true });
  refuseUnsupported(definition);
  const { sections, all, tools, slices } = compileSections(
    definition as PromptDefinition<Schema, undefined, readonly Section<never>[]>,
  );
  const compiled: CompiledTemplate = Object.freeze({
    name: definition.name ?? `${definition.ns}/${definition.key}`,
    sections,
    policies: Object.freeze([...(definition.policies ?? [])]),
    resources: Object.freeze([...(definition.resources ?? [])]),
    descriptor: Object.freeze({
      ns: definition.ns,
      key: definition.key,
      sections: Object.freeze(Object.fromEntries(all.map(({ path, section }) => [path, sectionHash(section)]))),
      tools: Object.freeze(Object.fromEntries(tools.map((tool) => [tool.name, toolHash(tool)]))),
    }),
    output: definition.output === undefined ? undefined : outputSpec(definition.output),
    outputInstructions: definition.outputInstructions ?? false,
  });
  const template: PromptTemplate<InputOf<PS>, Output> = Object.freeze({
    ns: definition.ns,
    key: definition.key,
    name: compiled.name,
    descriptor: compiled.descriptor,
    slices,
    bind: (params: InputOf<PS>) =>
      bindPrompt<Output>(template, compiled, checkedParams(definition.params, compiled.name, params)),
  });
  return template;
}

function bindPrompt<Output>(
  template: PromptTemplate<never, unknown>,
  compiled: CompiledTemplate,
  params: Readonly<Record<string, unknown>>,
): Prompt<Output> {
  return Object.freeze({
    // What is read of it is the same for every output type.
    template: template as PromptTemplate<never, Output>,
    params,
    asText: () => bindPrompt<string>(template, { ...compiled, output: undefined }, params),
    render: (options?: RenderOptions) => renderPrompt(compiled, params, options) as RenderedPrompt<Output>,
  });
}

function checkedParams(
  schema: ObjectSchema | undefined,
  name: string,
  params: unknown,
): Readonly<Record<string, unknown>> {
  if (schema === undefined) {
    const given = Object.keys((params as object | undefined) ?? {});
    if (given.length === 0) return Object.freeze({});
    throw new DefinitionError(`The prompt "${name}" takes no params, but was given: ${given.join(", ")}.`);
  }
  const result = parseWithSchemaSync(schema, params);
  if (!result.ok) throw new DefinitionError(`The params of "${name}" do not fit: ${describeIssues(result.issues)}.`);
  return frozenCopy({ ...result.value }) as Readonly<Record<string, unknown>>;
}

/** Plain objects and arrays at any depth; anything else is the caller's own. */
function frozenCopy(value: unknown, seen = new Map<unknown, unknown>()): unknown {
  const isPlain = typeof value === "object" && value !== null && Object.getPrototypeOf(value) === Object.prototype;
  if (!isPlain && !Array.isArray(value)) return value;
  const known = seen.get(value);
  if (known !== undefined) return known;
  const copy: object = Array.isArray(value) ? [] : {};
  seen.set(value, copy);
  for (const [key, item] of Object.entries(value)) {
    Object.defineProperty(copy, key, { value: frozenCopy(item, seen), enumerable: true });
  }
  return Object.freeze(copy);
}

function refuseUnsupported(definition: {
  readonly feedback?: readonly unknown[] | undefined;
  readonly completion?: unknown;
  readonly examples?: readonly unknown[] | undefined;
}): void {
  if ((definition.feedback?.length ?? 0) > 0) throw new NotSupportedError("Feedback");
  if (definition.completion !== undefined) throw new NotSupportedError("A completion checker");
  if ((definition.examples?.length ?? 0) > 0) throw new NotSupportedError("A task example");
}

import { ProvisoError } from "../errors.ts";
import type { ToolPolicy } from "../tool/policy.ts";
import type { Tool } from "../tool/tool.ts";
import type { CompiledSection } from "./compile.ts";
import { disclosureTools, openingLine, type SummarisedSection } from "./disclosure.ts";
import { taskExamplesText, toolExamplesText } from "./examples.ts";
import { outputInstructions } from "./output.ts";
import { applyOverride, type OverriddenTexts } from "./overrides.ts";
import { fillText, type TextPart } from "./placeholders.ts";
import type { CompiledTemplate, RenderedPrompt, RenderOptions } from "./template.ts";
import type { Visibility } from "./visibility.ts";

/**
 * A value that a placeholder cannot show, or a function of a section that threw: `evaluate` makes a PromptRenderError
 * of it.
 */
export class RenderFault extends ProvisoError {
  readonly code = "render_fault";
  override readonly name = "RenderFault";
  /** Dotted path of the section. */
  readonly section: string;
  readonly placeholder: string | undefined;
  constructor(
    message: string,
    details: { readonly section: string; readonly placeholder?: string; readonly cause?: unknown },
  ) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.section = details.section;
    this.placeholder = details.placeholder;
  }
}

type Params = Readonly<Record<string, unknown>>;

/** What a rendering goes by. */
interface Rendering {
  readonly params: Params;
  readonly visibility: Readonly<Record<string, Visibility>>;
  readonly overrides: OverriddenTexts | undefined;
  readonly get: RenderOptions["get"];
}

/** A section as it is shown. */
interface Shown {
  readonly compiled: CompiledSection;
  /** Given: it is shown as its summary. */
  readonly summarised: SummarisedSection | undefined;
}

/** Pure: reads no clock and keeps nothing. */
export function renderPrompt(template: CompiledTemplate, params: Params, options: RenderOptions = {}): RenderedPrompt {
  const { tools: ownTools, descriptor } = template;
  const overrides = options.overrides && applyOverride(options.overrides, descriptor, ownTools);
  const { visibility = {}, get } = options;
  const rendering: Rendering = { params, visibility, overrides, get };
  const shown = template.sections.flatMap((section) => shownSections(section, rendering));
  const blocks = shown.map((section) => ({ role: section.compiled.role, text: sectionText(section, rendering) }));
  if (template.examples.length > 0) blocks.push({ role: "system", text: taskExamplesText(template.examples) });
  const instructed = (options.outputInstructions ?? template.outputInstructions) && template.output !== undefined;
  if (instructed) blocks.push({ role: "system", text: outputInstructions(template.output) });
  const textOf = (role: string): string => joinBlocks(blocks.filter((block) => block.role === role));
  const [system, user] = [textOf("system"), textOf("user")];
  const open = shown.flatMap(({ compiled, summarised }) => (summarised === undefined ? [compiled] : []));
  const summarised = shown.flatMap(({ summarised: section }) => (section === undefined ? [] : [section]));
  const policies = policiesByTool(open, template.policies);
  return Object.freeze({
    text: joinBlocks(blocks),
    // Some providers refuse a request without a user message.
    ...(user === "" ? { system: "", user: system } : { system, user }),
    tools: Object.freeze([
      ...open.flatMap(({ section }) => (section.tools ?? []).map((tool) => overrides?.tools.get(tool.name) ?? tool)),
      ...disclosureTools(summarised, (path) => fullText(template, path, rendering)),
    ]),
    output: template.output,
    descriptor,
    overrides: overrides && { tag: overrides.tag, applied: overrides.applied, stale: overrides.stale },
    policiesOf: (tool: string) => policies.get(tool) ?? template.policies,
    feedback: template.feedback,
    completion: template.completion,
    resources: [...template.resources, ...open.flatMap(({ section }) => section.resources ?? [])],
    summarised,
  });
}

function shownSections(compiled: CompiledSection, rendering: Rendering): readonly Shown[] {
  if (!isEnabled(compiled, rendering.params)) return [];
  if (visibilityOf(compiled, rendering) === "summary") {
    const hasTools = holdsTools(compiled, rendering.params);
    return [{ compiled, summarised: Object.freeze({ path: compiled.path, hasTools }) }];
  }
  const below = compiled.children.flatMap((child) => shownSections(child, rendering));
  return [{ compiled, summarised: undefined }, ...below];
}

/** What was opened counts first, then the override, then the definition. */
function visibilityOf({ section, path }: CompiledSection, { params, visibility, overrides }: Rendering): Visibility {
  const asked = Object.hasOwn(visibility, path) ? visibility[path] : undefined;
  const given = asked ?? overrides?.sections.get(path)?.visibility ?? section.visibility ?? "full";
  if (typeof given !== "function") return given;
  try {
    return given(params as never);
  } catch (cause) {
    throw new RenderFault(`The visibility of section "${path}" could not be told: ${messageOf(cause)}`, {
      section: path,
      cause,
    });
  }
}

function holdsTools(compiled: CompiledSection, params: Params): boolean {
  if (!isEnabled(compiled, params)) return false;
  return (compiled.section.tools?.length ?? 0) > 0 || compiled.children.some((child) => holdsTools(child, params));
}

function isEnabled({ section, path }: CompiledSection, params: Params): boolean {
  try {
    return section.enabled?.(params as never) ?? true;
  } catch (cause) {
    throw new RenderFault(`Whether section "${path}" is enabled could not be told: ${messageOf(cause)}`, {
      section: path,
      cause,
    });
  }
}

function sectionText({ compiled, summarised }: Shown, rendering: Rendering): string {
  const { section, path, number, depth } = compiled;
  const overridden = rendering.overrides?.sections.get(path);
  const parts =
    summarised === undefined ? (overridden?.text ?? compiled.text) : (overridden?.summary ?? compiled.summary);
  const body =
    (summarised === undefined ? textFromState(compiled, rendering) : undefined) ??
    filled(parts, path, rendering.params);
  const heading = section.title === undefined ? "" : `${"#".repeat(Math.min(depth + 1, 6))} ${number} ${section.title}`;
  const rest = summarised === undefined ? toolExamplesText(section.tools ?? []) : openingLine(summarised);
  return [heading, body, rest].filter((part) => part !== "").join("\n\n");
}

function textFromState({ section, path }: CompiledSection, { get }: Rendering): string | undefined {
  if (section.textFrom === undefined || get === undefined) return undefined;
  try {
    return section.textFrom(get);
  } catch (cause) {
    throw new RenderFault(`The text of section "${path}" could not be told: ${messageOf(cause)}`, {
      section: path,
      cause,
    });
  }
}

function filled(parts: readonly TextPart[], path: string, params: Params): string {
  const text = fillText(parts, params);
  if (typeof text === "string") return text;
  throw new RenderFault(
    `{{${text.param}}} in section "${path}" must be a string, number, boolean or bigint, not ${text.found}.`,
    { section: path, placeholder: text.param },
  );
}

/** A section with all that is below it, as if it were open; undefined where there is none. */
function fullText(template: CompiledTemplate, path: string, rendering: Rendering): string | undefined {
  const found = template.all.find((compiled) => compiled.path === path);
  if (found === undefined || !isEnabled(found, rendering.params)) return undefined;
  const open = { ...rendering, visibility: { ...rendering.visibility, [path]: "full" as const } };
  return joinBlocks(shownSections(found, open).map((section) => ({ text: sectionText(section, open) })));
}

function joinBlocks(blocks: readonly { readonly text: string }[]): string {
  return blocks
    .map(({ text }) => text)
    .filter((text) => text !== "")
    .join("\n\n");
}

function policiesByTool(
  open: readonly CompiledSection[],
  ofPrompt: readonly ToolPolicy[],
): ReadonlyMap<string, readonly ToolPolicy[]> {
  return new Map(
    open.flatMap(({ section, policies }) =>
      (section.tools ?? []).map((tool: Tool) => [tool.name, [...policies, ...ofPrompt]] as const),
    ),
  );
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

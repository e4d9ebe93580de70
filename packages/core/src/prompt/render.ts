import { NotSupportedError, ProvisoError } from "../errors.ts";
import type { ToolPolicy } from "../tool/policy.ts";
import type { CompiledSection } from "./compile.ts";
import { outputInstructions } from "./output.ts";
import { fillText } from "./placeholders.ts";
import type { CompiledTemplate, RenderedPrompt, RenderOptions } from "./template.ts";

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

/** Pure: reads no clock and keeps nothing. */
export function renderPrompt(template: CompiledTemplate, params: Params, options: RenderOptions = {}): RenderedPrompt {
  if (options.overrides !== undefined) throw new NotSupportedError("Overrides");
  if (Object.keys(options.visibility ?? {}).length > 0) throw new NotSupportedError("Visibility");
  const shown = template.sections.flatMap((section) => enabledSections(section, params));
  const blocks = shown.map((section) => ({ role: section.role, text: sectionText(section, params) }));
  const instructed = (options.outputInstructions ?? template.outputInstructions) && template.output !== undefined;
  if (instructed) blocks.push({ role: "system", text: outputInstructions(template.output) });
  const textOf = (role: string): string => joinBlocks(blocks.filter((block) => block.role === role));
  const [system, user] = [textOf("system"), textOf("user")];
  const policies = policiesByTool(shown, template.policies);
  return Object.freeze({
    text: joinBlocks(blocks),
    // Some providers refuse a request without a user message.
    ...(user === "" ? { system: "", user: system } : { system, user }),
    tools: Object.freeze(shown.flatMap(({ section }) => section.tools ?? [])),
    output: template.output,
    descriptor: template.descriptor,
    policiesOf: (tool: string) => policies.get(tool) ?? template.policies,
    feedback: [],
    completion: undefined,
    resources: [...template.resources, ...shown.flatMap(({ section }) => section.resources ?? [])],
    summarised: [],
  });
}

function enabledSections(compiled: CompiledSection, params: Params): readonly CompiledSection[] {
  if (!isEnabled(compiled, params)) return [];
  return [compiled, ...compiled.children.flatMap((child) => enabledSections(child, params))];
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

function sectionText({ section, path, number, depth, text }: CompiledSection, params: Params): string {
  const body = fillText(text, params);
  if (typeof body !== "string") {
    throw new RenderFault(
      `{{${body.param}}} in section "${path}" must be a string, number, boolean or bigint, not ${body.found}.`,
      { section: path, placeholder: body.param },
    );
  }
  const heading =
    section.title === undefined ? [] : [`${"#".repeat(Math.min(depth + 1, 6))} ${number} ${section.title}`];
  return [...heading, ...(body === "" ? [] : [body])].join("\n\n");
}

function joinBlocks(blocks: readonly { readonly text: string }[]): string {
  return blocks
    .map(({ text }) => text)
    .filter((text) => text !== "")
    .join("\n\n");
}

function policiesByTool(
  shown: readonly CompiledSection[],
  ofPrompt: readonly ToolPolicy[],
): ReadonlyMap<string, readonly ToolPolicy[]> {
  return new Map(
    shown.flatMap(({ section, policies }) =>
      (section.tools ?? []).map((tool) => [tool.name, [...policies, ...ofPrompt]] as const),
    ),
  );
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

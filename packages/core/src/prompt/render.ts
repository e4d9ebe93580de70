import { atOnce, messageOf } from "../values.ts";
import { MarkedEnds, markedSections, type CacheMarks } from "./cache-marks.ts";
import { PlacedParams, type RenderedFiles } from "./placed-params.ts";
import { RenderFault } from "./render-fault.ts";
import { sectionsOf } from "./rendered-sections.ts";
import type { CompiledSection } from "./compile.ts";
import { disclosureTools, openingLine, type SummarisedSection } from "./disclosure/disclosure-tools.ts";
import { taskExamplesText, type TaskExample } from "./examples.ts";
import { policiesByTool, providerToolsOf, toolsOf } from "./open-tools.ts";
import { outputInstructions } from "./output.ts";
import { filesInTexts } from "./file-params.ts";
import { applyOverride, type OverriddenTexts } from "./overrides.ts";
import { fillText, type PlacedParam, type TextPart } from "./placeholders.ts";
import type { CompiledTemplate } from "./compiled-template.ts";
import type { RenderedPrompt, RenderOptions } from "./template.ts";
import type { Visibility } from "./disclosure/visibility.ts";

type Params = Readonly<Record<string, unknown>>;

/** What a rendering goes by. */
interface Rendering {
  readonly params: Params;
  readonly declared: ReadonlySet<string>;
  readonly visibility: Readonly<Record<string, Visibility>>;
  readonly overrides: OverriddenTexts | undefined;
  readonly get: RenderOptions["get"];
  /** The paths of sections whose texts came from a slice; undefined: none so far. */
  fromState?: Set<string>;
}

/** A section as it is shown. */
interface Shown {
  readonly compiled: CompiledSection;
  /** If set, the section is shown as its summary. */
  readonly summarised: SummarisedSection | undefined;
}

/** Pure: reads no clock and keeps nothing. */
export function renderPrompt(template: CompiledTemplate, params: Params, options: RenderOptions = {}): RenderedPrompt {
  const { tools: ownTools, declared, descriptor } = template;
  const overrides =
    options.overrides && applyOverride(options.overrides, descriptor, ownTools, filesInTexts(params, template.all));
  const { visibility = noVisibility, get } = options;
  const rendering: Rendering = { params, declared, visibility, overrides, get };
  const outline = outlineFor(template, rendering);
  const { tools, providerTools, policiesOf, resources, summarised } = outline;
  const disclosing = disclosureTools(summarised, (path) => fullText(template, path, rendering));
  return Object.freeze({
    ...textsByRole(template, outline, rendering, options.outputInstructions),
    tools: disclosing.length === 0 ? tools : Object.freeze([...tools, ...disclosing]),
    providerTools,
    output: template.output,
    descriptor,
    overrides: overrides && { tag: overrides.tag, applied: overrides.applied, stale: overrides.stale },
    policiesOf,
    feedback: template.feedback,
    completion: template.completion,
    resources,
    summarised,
  });
}

const noVisibility: Rendering["visibility"] = Object.freeze({});

/** What a rendering shows and offers, whatever its texts are. */
export interface Outline extends Pick<
  RenderedPrompt,
  "tools" | "providerTools" | "policiesOf" | "resources" | "summarised"
> {
  readonly shown: readonly Shown[];
  /** The sections that are shown in full. */
  readonly open: readonly CompiledSection[];
  /** The sections behind which a mark for the prompt cache stands; undefined: there are none. */
  readonly marked: ReturnType<typeof markedSections>;
}

type Outlined = Pick<CompiledTemplate, "sections" | "all" | "policies" | "resources">;

/** Makes the outline of a template that always shows all of its sections: no rendering without overrides has another. */
export function wholeOutline(template: Outlined): Outline | undefined {
  const isWhole = template.all.every(
    ({ section: { enabled, visibility = "full" } }) => enabled === undefined && visibility === "full",
  );
  return isWhole ? outlineOf(template, { params: {}, visibility: noVisibility, overrides: undefined }) : undefined;
}

function outlineFor(template: CompiledTemplate, rendering: Rendering): Outline {
  const { whole } = template;
  const isUsual = rendering.overrides === undefined && Object.keys(rendering.visibility).length === 0;
  return isUsual && whole !== undefined ? whole : outlineOf(template, rendering);
}

type Choosing = Pick<Rendering, "params" | "visibility" | "overrides">;

function outlineOf(template: Outlined, rendering: Choosing): Outline {
  const shown: Shown[] = [];
  for (const section of template.sections) addShown(section, rendering, shown);
  const open: CompiledSection[] = [];
  const summarised: SummarisedSection[] = [];
  for (const section of shown) {
    if (section.summarised === undefined) open.push(section.compiled);
    else summarised.push(section.summarised);
  }
  return {
    shown,
    open,
    marked: markedSections(shown),
    tools: Object.freeze(toolsOf(open, rendering.overrides)),
    providerTools: providerToolsOf(open),
    policiesOf: policiesByTool(open, template.policies),
    resources: Object.freeze([...template.resources, ...open.flatMap(({ section }) => section.resources ?? [])]),
    summarised: Object.freeze(summarised),
  };
}

/** Most prompts have their user sections last, or none: the whole text is put together of the two parts then. */
function textsByRole(
  template: CompiledTemplate,
  { shown, open, marked }: Outline,
  rendering: Rendering,
  instructions: boolean | undefined,
): Pick<RenderedPrompt, "text" | "system" | "user" | "sections"> & CacheMarks & RenderedFiles {
  const [systems, users, parts]: [string[], string[], string[]] = [[], [], []];
  let all: string[] | undefined;
  const add = (text: string, role: "system" | "user"): void => {
    parts.push(text);
    if (text === "") return;
    if (role === "system" && users.length > 0) all ??= [...systems, ...users];
    all?.push(text);
    (role === "system" ? systems : users).push(text);
  };
  const ends = marked && new MarkedEnds(marked);
  let placed: PlacedParams | undefined;
  const files: PlacedParam[] = [];
  for (const section of shown) {
    const { role, path } = section.compiled;
    add(sectionText(section, rendering, files), role);
    const texts = role === "system" ? systems : users;
    // Setting a length costs more than all else here, so it is set only where it is another.
    if (files.length > 0) {
      (placed ??= new PlacedParams()).added({ role, path }, files, texts);
      files.length = 0;
    }
    ends?.added(section, texts);
  }
  if (template.examples.length > 0) add(taskExamplesText(offeredExamples(template.examples, open)), "system");
  const instructed = (instructions ?? template.outputInstructions) && template.output !== undefined;
  if (instructed) add(outputInstructions(template.output), "system");
  const [system, user] = [systems.join("\n\n"), users.join("\n\n")];
  const text = all?.join("\n\n") ?? joined(system, user);
  const sections: RenderedPrompt["sections"] = (textOf = unchanged) =>
    sectionsOf(
      {
        texts: parts,
        shown,
        hasExamples: template.examples.length > 0,
        overridden: rendering.overrides?.sections,
        fromState: rendering.fromState,
      },
      textOf,
    );
  const { isOneUserMessage } = template;
  const texts = isOneUserMessage ? { text, system: "", user: system, sections } : { text, system, user, sections };
  const inUsers = placed && { files: placed.inUserText(isOneUserMessage) };
  return ends === undefined && inUsers === undefined
    ? texts
    : { ...texts, ...inUsers, ...(ends && { cacheAt: ends.cacheAt(isOneUserMessage) }) };
}

const unchanged = (text: string): string => text;

/** An example shows the model no tool that it has not. */
function offeredExamples(examples: readonly TaskExample[], open: readonly CompiledSection[]): readonly TaskExample[] {
  const offered = new Set(open.flatMap(({ section }) => (section.tools ?? []).map(({ name }) => name)));
  return examples.filter(({ steps }) => steps.every(({ tool }) => offered.has(tool)));
}

function addShown(compiled: CompiledSection, rendering: Choosing, shown: Shown[]): void {
  if (!isEnabled(compiled, rendering.params)) return;
  if (visibilityOf(compiled, rendering) === "summary") {
    const hasTools = holdsTools(compiled, rendering.params);
    shown.push({ compiled, summarised: Object.freeze({ path: compiled.path, hasTools }) });
    return;
  }
  shown.push({ compiled, summarised: undefined });
  for (const child of compiled.children) addShown(child, rendering, shown);
}

/** What was opened counts first, then the override, then the definition. */
function visibilityOf({ section, path }: CompiledSection, { params, visibility, overrides }: Choosing): Visibility {
  const asked = Object.hasOwn(visibility, path) ? visibility[path] : undefined;
  const given = asked ?? overrides?.sections.get(path)?.visibility ?? section.visibility ?? "full";
  if (typeof given !== "function") return given;
  try {
    return atOnce(given(params as never));
  } catch (cause) {
    throw new RenderFault(`The visibility of section "${path}" cannot be determined: ${messageOf(cause)}`, {
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
  const { enabled } = section;
  if (typeof enabled === "string") return Object.hasOwn(params, enabled) && params[enabled] !== undefined;
  try {
    return atOnce(enabled?.(params as never) ?? true);
  } catch (cause) {
    throw new RenderFault(`Whether section "${path}" is enabled cannot be determined: ${messageOf(cause)}`, {
      section: path,
      cause,
    });
  }
}

/** Adds the files that stand in the text to `files`. */
function sectionText({ compiled, summarised }: Shown, rendering: Rendering, files: PlacedParam[] = []): string {
  const { path } = compiled;
  const overridden = rendering.overrides?.sections.get(path);
  if (summarised !== undefined) {
    const summary = filled(overridden?.summary ?? compiled.summary, path, rendering, files);
    moveBehind(compiled.heading, files);
    return joined(joined(compiled.heading, summary), openingLine(summarised));
  }
  const body = textFromState(compiled, rendering) ?? filled(overridden?.text ?? compiled.text, path, rendering, files);
  moveBehind(compiled.heading, files);
  return joined(joined(compiled.heading, body), compiled.examples);
}

function moveBehind(heading: string, files: PlacedParam[]): void {
  if (heading === "" || files.length === 0) return;
  for (const [index, { at, file }] of files.entries()) files[index] = { at: at + heading.length + 2, file };
}

function textFromState({ section, path }: CompiledSection, rendering: Rendering): string | undefined {
  const { get } = rendering;
  if (section.textFrom === undefined || get === undefined) return undefined;
  try {
    const text = atOnce(section.textFrom(get, path));
    if (text !== undefined) (rendering.fromState ??= new Set()).add(path);
    return text;
  } catch (cause) {
    throw new RenderFault(`The text of section "${path}" cannot be read: ${messageOf(cause)}`, {
      section: path,
      cause,
    });
  }
}

function filled(
  parts: readonly TextPart[],
  path: string,
  { params, declared }: Rendering,
  files: PlacedParam[],
): string {
  const text = fillText(parts, params, declared, files);
  if (typeof text === "string") return text;
  throw new RenderFault(
    `{{${text.param}}} in section "${path}" must be a string, number, boolean, bigint or file, not ${text.found}.`,
    { section: path, placeholder: text.param },
  );
}

/** A section with all that is below it, as if it were open; undefined where there is none. */
function fullText(template: CompiledTemplate, path: string, rendering: Rendering): string | undefined {
  const found = template.all.find((compiled) => compiled.path === path);
  const around = template.all.filter((other) => path === other.path || path.startsWith(`${other.path}.`));
  if (found === undefined || !around.every((section) => isEnabled(section, rendering.params))) return undefined;
  const open = { ...rendering, visibility: { ...rendering.visibility, [path]: "full" as const } };
  const shown: Shown[] = [];
  addShown(found, open, shown);
  return shown.map((section) => sectionText(section, open)).reduce(joined, "");
}

/** Two blocks with an empty line between; an empty one takes no place. */
function joined(before: string, after: string): string {
  if (before === "") return after;
  return after === "" ? before : `${before}\n\n${after}`;
}

import type { ToolPolicy } from "../tool/policy.ts";
import type { ProviderTool } from "../tool/provider-tool.ts";
import type { Tool } from "../tool/tool.ts";
import type { CompiledSection } from "./compile.ts";
import type { OverriddenTexts } from "./overrides.ts";

/** The tools of the open sections, as an override describes them. */
export function toolsOf(
  open: readonly CompiledSection[],
  overrides: Pick<OverriddenTexts, "tools"> | undefined,
): readonly Tool[] {
  const tools: Tool[] = [];
  for (const { section } of open) {
    for (const tool of section.tools ?? []) tools.push(overrides?.tools.get(tool.name) ?? tool);
  }
  return tools;
}

const noProviderTools: readonly ProviderTool[] = Object.freeze([]);

/** The tools of the open sections that the provider runs. */
export function providerToolsOf(open: readonly CompiledSection[]): readonly ProviderTool[] {
  if (open.every(({ section }) => section.providerTools === undefined)) return noProviderTools;
  return Object.freeze(open.flatMap(({ section }) => section.providerTools ?? []));
}

/** The policies of a tool's section, then the prompt's; put together when they are first asked for. */
export function policiesByTool(
  open: readonly CompiledSection[],
  ofPrompt: readonly ToolPolicy[],
): (tool: string) => readonly ToolPolicy[] {
  let byTool: ReadonlyMap<string, readonly ToolPolicy[]> | undefined;
  return (tool) => {
    byTool ??= new Map(
      open.flatMap(({ section, policies }) =>
        (section.tools ?? []).map(({ name }) => [name, [...policies, ...ofPrompt]] as const),
      ),
    );
    return byTool.get(tool) ?? ofPrompt;
  };
}

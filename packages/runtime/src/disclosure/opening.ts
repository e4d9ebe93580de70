import type { RenderedPrompt, ToolResult, VisibilityExpansionRequired } from "@proviso/core";
import { cannotOpen } from "@proviso/core/internal";
import { openedOf, type Opened } from "../rendering.ts";
import type { Run } from "../run.ts";

/** Sections that a call opened, or closed again. */
export interface SectionsToOpen {
  readonly keys: readonly string[];
  readonly closed: readonly string[];
  readonly reason: string;
}

/** What comes of a handler that wants sections open: the opening, or a failed result that lists what can be. */
export function openingOf(
  { rendered, core, promptName }: Pick<Run, "rendered" | "core" | "promptName">,
  toolName: string,
  { requested, reason }: VisibilityExpansionRequired,
): { readonly result: ToolResult; readonly opens?: SectionsToOpen | undefined } {
  const keys = Object.keys(requested).filter((key) => requested[key] === "full");
  const closed = Object.keys(requested).filter((key) => requested[key] === "summary");
  const offered = stillClosed(rendered, openedOf(core, promptName));
  const summarised = new Set(offered.map(({ path }) => path));
  const unknown = [
    ...keys.filter((key) => !summarised.has(key)),
    ...closed.filter((key) => summarised.has(key) || !Object.hasOwn(rendered.descriptor.sections, key)),
  ];
  if (unknown.length > 0 || keys.length + closed.length === 0) {
    return { result: { success: false, message: cannotOpen(unknown, offered) } };
  }
  const opens: SectionsToOpen = { keys, closed, reason };
  const message = `Open now: ${keys.join(", ") || "nothing more"}.`;
  // What the framework's own tool did is done; another's changes are undone.
  if (toolName === "open_sections") return { result: { success: true, message, value: null, hideValue: true }, opens };
  return {
    result: { success: false, message: `${message} ${toolName} was not run: call it again if it is needed.` },
    opens,
  };
}

/** Returns the summarised sections without those that an earlier call of the same turn opened. */
function stillClosed({ summarised }: RenderedPrompt, opened: Opened): RenderedPrompt["summarised"] {
  const open = new Set((opened ?? []).filter(({ visibility }) => visibility === "full").map(({ path }) => path));
  return summarised.filter(({ path }) => !open.has(path));
}

export function announceOpening(run: Run, { keys, closed, reason }: SectionsToOpen): readonly unknown[] {
  const more = closed.length === 0 ? {} : { closed };
  return run.publish({ type: "sections.opened", promptName: run.promptName, keys, ...more, reason });
}

import {
  type Prompt,
  type PromptOverride,
  type RenderedPrompt,
  type Visibility,
  type RenderedSection,
} from "@proviso/core";
import { openedSections } from "@proviso/core/internal";
import type { Fitting } from "./context/contract.ts";
import type { SessionCore } from "./session/session-core.ts";
import type { Showing } from "./emitting.ts";

/** What a prompt is rendered with, beside its params. */
export interface RenderInputs {
  readonly overrides: PromptOverride | undefined;
  readonly nativeOutput: boolean;
  /** Where sections that take their text from a slice find it. */
  readonly core: SessionCore;
  /** Offers the tool that reads what the history does not show; undefined: nothing is left out of the history. */
  readonly context: Fitting | undefined;
}

export type Opened = readonly { readonly path: string; readonly visibility: Visibility }[] | undefined;

/** What is open of the prompt in this session; the same reference until it changes. */
export function openedOf(core: SessionCore, promptName: string): Opened {
  return core.session.get(openedSections).find(({ prompt }) => prompt === promptName)?.sections;
}

/** Renders the prompt as an evaluation shows it. */
export function renderWith(prompt: Prompt, inputs: RenderInputs, opened: Opened): RenderedPrompt {
  const { overrides, nativeOutput } = inputs;
  const rendered = prompt.render({
    visibility: opened && Object.fromEntries(opened.map((section) => [section.path, section.visibility])),
    get: inputs.core.session.get,
    overrides,
    outputInstructions: nativeOutput ? undefined : true,
  });
  return inputs.context === undefined ? rendered : inputs.context.withTools(rendered);
}

/** The parts of the text as events show it: offsets in a text without secrets are others. */
export function sectionsOf({
  rendered,
  redaction,
}: Pick<Showing, "redaction"> & { readonly rendered: RenderedPrompt }): readonly RenderedSection[] {
  const { text } = rendered;
  const shown = redaction.value(text);
  if (shown === text) return rendered.sections();
  const sections = rendered.sections(redaction.value);
  if ((sections.at(-1)?.end ?? 0) === shown.length) return sections;
  // A secret that lies across sections leaves no place where one of them ends.
  return [];
}

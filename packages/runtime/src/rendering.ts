import { DefinitionError, type Prompt, type PromptOverride, type RenderedPrompt, type Visibility } from "@proviso/core";
import { openedSections, messageOf } from "@proviso/core/internal";
import type { Fitting } from "./context/contract.ts";
import type { SessionCore } from "./session/session-core.ts";
import { renderedWithFiles } from "./content/files-of.ts";
import { failure, isFailure, type Failure } from "./failures.ts";
import type { Run } from "./run.ts";
import { checkUses } from "./tools/policies.ts";

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

/** @throws {DefinitionError} for a prompt that renders to nothing. */
export function renderWith(prompt: Prompt, inputs: RenderInputs, opened: Opened): RenderedPrompt {
  const { overrides, nativeOutput } = inputs;
  const rendered = prompt.render({
    visibility: opened && Object.fromEntries(opened.map((section) => [section.path, section.visibility])),
    get: inputs.core.session.get,
    overrides,
    outputInstructions: nativeOutput ? undefined : true,
  });
  if (rendered.text === "") throw new DefinitionError(`The prompt "${prompt.template.name}" renders to nothing.`);
  return inputs.context === undefined ? rendered : inputs.context.withTools(rendered);
}

/**
 * Renders again when sections have opened since: the next request carries it, the conversation so far is kept. undefined
 * where nothing has to be waited for.
 */
export function refresh(run: Run): Promise<Failure | undefined> | undefined {
  // Sections do not open in an unusable session.
  if (!run.core.isUsable()) return undefined;
  const opened = openedOf(run.core, run.promptName);
  return opened === run.opened ? undefined : renderAgain(run, opened);
}

async function renderAgain(run: Run, opened: Opened): Promise<Failure | undefined> {
  try {
    const fresh = renderWith(run.prompt, run.renderInputs, opened);
    const extended = await run.limits.race(run.resources.extend(fresh.resources), "render");
    if (isFailure(extended)) return extended;
    const rendered = await run.limits.race(renderedWithFiles(run, fresh), "render");
    if (isFailure(rendered)) return rendered;
    checkUses({ rendered, policies: run.policies, resources: run.resources });
    run.opened = opened;
    run.rendered = rendered;
    run.tools = new Map(rendered.tools.map((tool) => [tool.name, tool]));
    run.conversation.rerender(rendered);
    run.knownCost = undefined;
    return undefined;
  } catch (cause) {
    return failure({ stop: "render", phase: "render", cause, message: messageOf(cause) });
  }
}

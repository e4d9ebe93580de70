import { messageOf } from "@proviso/core/internal";
import { renderedWithFiles } from "../content/files-of.ts";
import { failure, isFailure, type Failure } from "../failures.ts";
import { openedOf, renderWith, type Opened } from "../rendering.ts";
import type { Run } from "../run.ts";
import { checkUses } from "../tools/uses.ts";

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

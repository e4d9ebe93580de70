import type { ModelResponse } from "@proviso/core";
import { isThenable } from "@proviso/core/internal";
import { missingParts } from "./completion.ts";
import { failure, isFailure, type Failure } from "./failures.ts";
import { parseOutput, repairRequest } from "./output/parse.ts";
import type { RunJournal } from "./recording/run-journal.ts";
import { refusedSetting } from "./request/settings.ts";
import type { Answer } from "./response.ts";
import type { Run, Setup } from "./run.ts";

/** Asks until there is a final answer. */
export type Drive = (run: Run) => Promise<ModelResponse | Failure>;

/** Asks for the answer, and again from the beginning where that fails and another adapter is left. */
export type BeginAgain = (run: Run, once: () => Promise<Answer | Failure>) => Promise<Answer | Failure>;

/** What an adapter brings to each of its evaluations, with the way in which it asks. */
export interface DrivenSetup extends Setup {
  readonly drive: Drive;
  /** undefined: an evaluation that failed has failed. */
  readonly beginAgain: BeginAgain | undefined;
  /** Keeps its evaluations that are given no run; undefined: nothing does. */
  readonly journal: RunJournal | undefined;
}

/** The final answer, parsed and complete, or why there is none. */
export async function answerOf(setup: DrivenSetup, run: Run): Promise<Answer | Failure> {
  if (!setup.takesTools && run.tools.size > 0) {
    const message = `${setup.provider.name} takes no tools, but the prompt "${run.promptName}" has some.`;
    return failure({ stop: "provider", phase: "request", reason: "bad_request", message });
  }
  const refused = refusedSetting(setup.provider, run.settings);
  if (refused !== undefined) return refused;
  let repairs = 0;
  let completions = 0;
  for (;;) {
    const response = await setup.drive(run);
    if (isFailure(response)) return response;
    const parsing = parseOutput(run.rendered.output, response);
    const parsed = isThenable(parsing) ? await run.limits.race(parsing, "response") : parsing;
    if (isFailure(parsed)) {
      if (parsed.stop !== "output" || repairs++ >= run.maxRepairs) return parsed;
      run.conversation.say(repairRequest(parsed));
      continue;
    }
    const { completion } = run.rendered;
    const missing = completion && (await missingParts(run, completion, parsed.output, completions++));
    if (isFailure(missing)) return missing;
    if (missing === undefined) return { ...parsed, response };
    run.conversation.say(missing);
  }
}

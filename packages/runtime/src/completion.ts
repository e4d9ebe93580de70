import type { CompletionChecker } from "@proviso/core";
import { messageOf } from "@proviso/core/internal";
import { isFailure, type Failure } from "./failures.ts";
import { isSpent } from "./loop-limits.ts";
import type { Run } from "./run.ts";

/** How often a checker may ask for more. */
const mostCompletions = 10;

/** What is missing, for the model to read; undefined: complete, or nothing more can be asked for. */
export async function missingParts(
  run: Run,
  checker: CompletionChecker,
  output: unknown,
  asked: number,
): Promise<string | Failure | undefined> {
  // What was answered is worth more than an error about what could not be asked.
  if (asked >= mostCompletions || isSpent(run)) return undefined;
  const { tape } = run;
  const checking = (): Promise<string | undefined> => check(run, checker, output);
  const missing = await run.limits.race(tape === undefined ? checking() : tape.checked(run, checking), "response");
  if (isFailure(missing) || missing === undefined) return missing;
  return isSpent(run) ? undefined : missing;
}

async function check(run: Run, checker: CompletionChecker, output: unknown): Promise<string | undefined> {
  const { session } = run.core;
  try {
    const missing: unknown = await checker.check({ session, resources: run.resources.resources, output });
    return typeof missing === "string" && missing !== "" ? missing : undefined;
  } catch (error) {
    run.log("error", { checker: checker.name, error: messageOf(error) }, "completion.failed");
    return undefined;
  }
}

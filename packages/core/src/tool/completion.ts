import { DefinitionError } from "../errors.ts";
import { checkLists } from "../lists.ts";
import { describeValue, isRecord } from "../values.ts";
import type { Resources } from "../resources/binding.ts";
import type { ResourceKey } from "../resources/key.ts";
import type { SessionState } from "../state/session.ts";

/** undefined: complete; a text: what is missing, shown to the model. */
export interface CompletionChecker<Output = unknown> {
  /** Names the checker in the log. */
  readonly name: string;
  /**
   * The resources that it looks at: an evaluation in which nothing binds one fails before its first request. Left out:
   * nothing is looked at beforehand, and a checker that throws lets the answer pass.
   */
  readonly uses?: readonly ResourceKey<unknown>[] | undefined;
  /** Returns undefined where the output is complete, else a text for the model about what is missing. */
  check(context: {
    readonly session: SessionState;
    readonly resources: Resources;
    readonly output: Output;
  }): string | undefined | Promise<string | undefined>;
}

/**
 * Refuses what is no completion checker; `owner` is whose it is: `prompt "app/x"`. What is undefined counts as left out.
 * @throws {DefinitionError} for what has no `check`: it would let every answer pass.
 */
export function checkCompletion(owner: string, completion: unknown): void {
  if (completion === undefined) return;
  if (!isRecord(completion) || typeof completion["check"] !== "function") {
    const given = isRecord(completion) ? "an object without check" : describeValue(completion);
    throw new DefinitionError(
      `The completion of ${owner} must be one checker such as { name, check } or requireFiles("a.md"), not ${given}.`,
    );
  }
  checkLists(`completion checker "${String(completion["name"])}"`, completion, "uses");
}

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

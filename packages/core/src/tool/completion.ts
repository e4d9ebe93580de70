import type { Resources } from "../resources/binding.ts";
import type { SessionState } from "../state/session.ts";

/** undefined: complete; a text: what is missing, shown to the model. */
export interface CompletionChecker<Output = unknown> {
  readonly name: string;
  check(context: {
    readonly session: SessionState;
    readonly resources: Resources;
    readonly output: Output;
  }): string | undefined | Promise<string | undefined>;
}

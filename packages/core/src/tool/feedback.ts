import { DefinitionError } from "../errors.ts";
import { checkOptionNames } from "../option-names.ts";
import type { ToolContext } from "./tool.ts";

/** A source of texts that the model reads beside the results of tools. */
export interface FeedbackProvider {
  /** The name of the provider in events and errors. */
  readonly name: string;
  /** So many calls of tools, or milliseconds; of both, whichever comes first. It is looked at after a call. */
  readonly every: { readonly calls: number; readonly ms?: number } | { readonly ms: number };
  /** Returns the text for the model; undefined: nothing this time. */
  provide(context: ToolContext): string | undefined;
}

/** @throws {DefinitionError} for a cadence that never comes, or that is none. */
export function checkedFeedback(provider: FeedbackProvider): FeedbackProvider {
  checkOptionNames(`The feedback "${provider.name}"`, provider, { name: true, every: true, provide: true });
  checkOptionNames(`The cadence of feedback "${provider.name}"`, provider.every, { calls: true, ms: true });
  const { calls, ms }: { readonly calls?: unknown; readonly ms?: unknown } = provider.every ?? {};
  const isFit = (value: unknown): boolean => value === undefined || (typeof value === "number" && value > 0);
  if (isFit(calls) && isFit(ms) && (calls !== undefined || ms !== undefined)) return provider;
  throw new DefinitionError(
    `The feedback "${provider.name}" needs a number of calls or of milliseconds over 0: every.`,
  );
}

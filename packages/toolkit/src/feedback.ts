import { DefinitionError, type FeedbackProvider } from "@proviso/core";
import { describeValue } from "@proviso/core/internal";
import { checkOptionNames } from "@proviso/core/provider";

type Every = FeedbackProvider["every"];

/** How much time is left; nothing without a deadline. Default: with every fifth call. */
export function deadlineFeedback(options: { readonly every?: Every | undefined } = {}): FeedbackProvider {
  checkOptionNames("deadlineFeedback", options, { every: true });
  return {
    name: "deadline",
    every: options.every ?? { calls: 5 },
    provide({ deadline }) {
      if (deadline === undefined) return undefined;
      const seconds = Math.max(0, Math.floor(deadline.remainingMs() / 1_000));
      return `${seconds} s are left. ${seconds < 30 ? "Come to an end now." : "Leave time for the answer."}`;
    },
  };
}

/** What is left of the budget; nothing without one. Default: with every fifth call. */
export function budgetFeedback(options: { readonly every?: Every | undefined } = {}): FeedbackProvider {
  checkOptionNames("budgetFeedback", options, { every: true });
  return {
    name: "budget",
    every: options.every ?? { calls: 5 },
    provide({ budget }) {
      if (budget === undefined) return undefined;
      const { totalTokens, inputTokens, outputTokens, costUsd } = budget.remaining();
      const left = [
        ...tokens(totalTokens, "tokens"),
        ...tokens(inputTokens, "input tokens"),
        ...tokens(outputTokens, "output tokens"),
        ...(Number.isFinite(costUsd) ? [`${Math.max(0, costUsd).toFixed(2)} US dollars`] : []),
      ];
      return left.length === 0 ? undefined : `Left of the budget: ${left.join(", ")}.`;
    },
  };
}

function tokens(count: number, what: string): readonly string[] {
  return Number.isFinite(count) ? [`${Math.max(0, Math.floor(count))} ${what}`] : [];
}

/**
 * Gives a fixed text, again and again.
 * @throws {DefinitionError} for what is no text, and without `every`.
 */
export function staticFeedback(
  text: string,
  options: { readonly every: Every; readonly name?: string | undefined },
): FeedbackProvider {
  if (typeof text !== "string") throw new DefinitionError(`staticFeedback needs a text, not ${describeValue(text)}.`);
  checkOptionNames("staticFeedback", options, { every: true, name: true });
  if ((options as Partial<typeof options> | undefined)?.every === undefined) {
    throw new DefinitionError(
      `staticFeedback(${describeValue(text)}, { every }) needs every: { calls: 5 } or { ms: 60_000 }, for example.`,
    );
  }
  return { name: options.name ?? "reminder", every: options.every, provide: () => text };
}

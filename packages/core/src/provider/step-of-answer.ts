import type { RouteStep } from "./model.ts";

/** How tries end that have an answer, the most usable first. */
const outcomesOfAnswers: readonly RouteStep["outcome"][] = [
  "answered",
  "truncated",
  "content_filter",
  "refusal",
  "invalid_response",
];

/** The try that the answer of a request is from; undefined: none of them has an answer. */
export function stepOfAnswer(route: readonly RouteStep[] | undefined): RouteStep | undefined {
  const outcome = outcomesOfAnswers.find((each) => route?.some((step) => step.outcome === each));
  return outcome && route?.findLast((step) => step.outcome === outcome);
}

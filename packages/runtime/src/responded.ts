import type { ModelResponse, ProviderResponded, ProviderToolUsed } from "@proviso/core";
import type { Run } from "./run.ts";

type Measured = Pick<ProviderResponded, "usage" | "durationMs" | "queuedMs" | "files">;

/** Announces an answer: the calls that the provider ran, then the answer with what it says of itself. */
export function announceAnswer(run: Run, response: ModelResponse, measured: Measured): void {
  const { turn } = run;
  const { finishReason, message, providerCalls } = response;
  const { reasoning } = message;
  run.model = response.model ?? run.model;
  if (reasoning !== undefined) {
    run.reasoning = run.reasoning === undefined ? reasoning : `${run.reasoning}\n\n${reasoning}`;
  }
  for (const call of providerCalls ?? []) {
    const used: Omit<ProviderToolUsed, "sessionId" | "evaluationId" | "parent" | "seq" | "at"> = {
      type: "provider.tool",
      turn,
      ...call,
    };
    run.publish(used);
  }
  run.publish({ type: "provider.responded", turn, ...measured, finishReason, ...answeredBy(response) });
}

/** What an answer says beside its text; undefined where it says nothing. */
function answeredBy({
  message: { reasoning },
  model,
  serviceTier,
  logprobs,
  sources,
  route,
}: ModelResponse): Partial<ProviderResponded> | undefined {
  const isPlain = reasoning === undefined && sources === undefined && serviceTier === undefined;
  if (isPlain && logprobs === undefined && route === undefined) {
    return model === undefined ? undefined : { model };
  }
  return {
    ...(model === undefined ? {} : { model }),
    ...(serviceTier === undefined ? {} : { serviceTier }),
    ...(reasoning === undefined ? {} : { reasoning }),
    ...(sources === undefined ? {} : { sources }),
    ...(logprobs === undefined ? {} : { logprobs }),
    ...(route === undefined ? {} : { route }),
  };
}

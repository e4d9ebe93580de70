import type { ModelResponse, ProviderResponded, ProviderToolUsed } from "@proviso/core";
import type { Run } from "./run.ts";

type Measured = Pick<ProviderResponded, "usage" | "durationMs" | "queuedMs" | "files">;
type Beside = Omit<
  ProviderResponded,
  "type" | "sessionId" | "evaluationId" | "parent" | "seq" | "at" | "turn" | "usage" | "finishReason" | "durationMs"
>;

/** Announces an answer: the calls that the provider ran, then the answer with what it says of itself. */
export function announceAnswer(run: Run, response: ModelResponse, measured: Measured): void {
  const { turn } = run;
  const { finishReason, message, providerCalls } = response;
  const { usage, durationMs } = measured;
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
  // One spread, and in front: V8 makes an object with one behind other fields many times slower.
  const beside = besideText(response, measured);
  run.publish({ ...beside, type: "provider.responded", turn, usage, finishReason, durationMs });
}

const nothing: Beside = Object.freeze({});

/** Returns what an answer has beside its text and its costs: only what there is. */
function besideText(response: ModelResponse, { queuedMs = 0, files }: Measured): Beside {
  const { message, model, serviceTier, logprobs, sources, route } = response;
  const { reasoning } = message;
  const isPlain = (reasoning ?? sources ?? serviceTier ?? logprobs ?? route ?? files) === undefined && queuedMs === 0;
  if (isPlain) return model === undefined ? nothing : { model };
  return {
    ...(queuedMs === 0 ? {} : { queuedMs }),
    ...(model === undefined ? {} : { model }),
    ...(serviceTier === undefined ? {} : { serviceTier }),
    ...(reasoning === undefined ? {} : { reasoning }),
    ...(sources === undefined ? {} : { sources }),
    ...(files === undefined ? {} : { files }),
    ...(logprobs === undefined ? {} : { logprobs }),
    ...(route === undefined ? {} : { route }),
  };
}

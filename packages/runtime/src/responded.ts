import type { AssistantMessage, ModelResponse, ProviderResponded, ProviderToolUsed } from "@proviso/core";
import type { Run } from "./run.ts";

type Measured = Pick<ProviderResponded, "usage" | "durationMs" | "queuedMs" | "files">;
type Beside = Omit<
  ProviderResponded,
  | ("type" | "sessionId" | "evaluationId" | "parent" | "seq" | "at")
  | ("turn" | "usage" | "finishReason" | "durationMs" | "model" | "text" | "toolCalls")
>;

/**
 * Announces an answer: the calls that the provider ran, then the answer with what it says of itself. `message` is the
 * answer as it goes into the history.
 */
export function announceAnswer(run: Run, response: ModelResponse, message: AssistantMessage, measured: Measured): void {
  const { turn } = run;
  const { finishReason, providerCalls } = response;
  const { reasoning } = response.message;
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
  run.announce("provider.responded", () => {
    const { usage, durationMs } = measured;
    const { model } = run;
    const { text } = message;
    const toolCalls = message.toolCalls.map(({ id, name, arguments: given }) => ({ id, name, arguments: given }));
    // One spread, and in front: V8 makes an object with one behind other fields many times slower.
    const beside = besideText(response, measured);
    if (beside === nothing) {
      // Fields that come later would stand in a second object.
      return {
        type: "provider.responded",
        turn,
        model,
        text,
        toolCalls,
        usage,
        finishReason,
        durationMs,
        evaluationId: "",
        at: 0,
        sessionId: "",
        seq: 0,
      };
    }
    return { ...beside, type: "provider.responded", turn, model, text, toolCalls, usage, finishReason, durationMs };
  });
}

const nothing: Beside = Object.freeze({});

/** Returns what an answer has beside its text and its costs: only what there is. */
function besideText(response: ModelResponse, { queuedMs = 0, files }: Measured): Beside {
  const { message, serviceTier, logprobs, sources, route } = response;
  const { reasoning } = message;
  const isPlain = (reasoning ?? sources ?? serviceTier ?? logprobs ?? route ?? files) === undefined && queuedMs === 0;
  if (isPlain) return nothing;
  return {
    ...(queuedMs === 0 ? {} : { queuedMs }),
    ...(serviceTier === undefined ? {} : { serviceTier }),
    ...(reasoning === undefined ? {} : { reasoning }),
    ...(sources === undefined ? {} : { sources }),
    ...(files === undefined ? {} : { files }),
    ...(logprobs === undefined ? {} : { logprobs }),
    ...(route === undefined ? {} : { route }),
  };
}

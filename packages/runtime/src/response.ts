import type { ModelResponse, PromptResponse } from "@proviso/core";
import type { ParsedOutput } from "./output/parse.ts";
import type { Run, Setup } from "./run.ts";

/** A final answer, and what was read from it. */
export type Answer = ParsedOutput & { readonly response: ModelResponse };

/** What `evaluate` returns. */
export function responseOf(run: Run, setup: Setup, { text, output, response }: Answer): PromptResponse<unknown> {
  const messages = run.conversation.messages();
  run.context?.remember(messages);
  // One spread, and in front: V8 makes an object with one behind other fields many times slower.
  return Object.freeze({
    ...besideText(run, response),
    promptName: run.promptName,
    evaluationId: run.evaluationId,
    provider: setup.provider.name,
    model: run.model,
    text,
    output,
    toolResults: Object.freeze([...run.toolResults]),
    usage: run.usage,
    turns: run.turn,
    messages,
    finishReason: response.finishReason,
    providerPayload: response.payload,
  });
}

type BesideText = Pick<PromptResponse<unknown>, "reasoning" | "sources" | "logprobs" | "serviceTier">;

/** Returns what the answer has beside its text: only what there is. */
function besideText({ reasoning }: Run, { sources, logprobs, serviceTier }: ModelResponse): BesideText {
  if (reasoning === undefined && sources === undefined && logprobs === undefined && serviceTier === undefined) {
    return nothing;
  }
  return {
    ...(reasoning === undefined ? {} : { reasoning }),
    ...(sources === undefined ? {} : { sources }),
    ...(logprobs === undefined ? {} : { logprobs }),
    ...(serviceTier === undefined ? {} : { serviceTier }),
  };
}

const nothing: BesideText = Object.freeze({});

import type { ModelResponse, PromptResponse } from "@proviso/core";
import type { ParsedOutput } from "./output/parse.ts";
import type { Run, Setup } from "./run.ts";

/** A final answer, and what was read from it. */
export type Answer = ParsedOutput & { readonly response: ModelResponse };

/** What `evaluate` returns. */
export function responseOf(run: Run, setup: Setup, { text, output, response }: Answer): PromptResponse<unknown> {
  const { sources, logprobs, serviceTier, route } = response;
  const { reasoning } = run;
  const answered = route?.findLast(({ outcome }) => outcome === "answered");
  const messages = run.conversation.messages();
  run.context?.remember(messages);
  return Object.freeze({
    promptName: run.promptName,
    evaluationId: run.evaluationId,
    provider: answered?.provider ?? setup.provider.name,
    model: run.model,
    text,
    output,
    toolResults: Object.freeze([...run.toolResults]),
    usage: run.usage,
    turns: run.turn,
    messages,
    finishReason: response.finishReason,
    ...(reasoning === undefined ? undefined : { reasoning }),
    ...(sources === undefined ? undefined : { sources }),
    ...(logprobs === undefined ? undefined : { logprobs }),
    ...(serviceTier === undefined ? undefined : { serviceTier }),
    providerPayload: response.payload,
  });
}

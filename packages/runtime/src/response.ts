import type { ModelResponse, PromptResponse } from "@proviso/core";
import type { ParsedOutput } from "./output/parse.ts";
import type { Run, Setup } from "./run.ts";

/** A final answer, and what was read from it. */
export type Answer = ParsedOutput & { readonly response: ModelResponse };

/** What `evaluate` returns. */
export function responseOf(run: Run, setup: Setup, { text, output, response }: Answer): PromptResponse<unknown> {
  const recorded = run.tape !== undefined && run.nesting === undefined ? { run: run.tape.facts() } : undefined;
  const answered = response.route?.findLast(({ outcome }) => outcome === "answered");
  const messages = run.conversation.messages();
  run.context?.remember(messages);
  // One spread, and in front: V8 makes an object with one behind other fields many times slower.
  return Object.freeze({
    ...(recorded === undefined ? besideText(run, response) : { ...besideText(run, response), ...recorded }),
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
    providerPayload: run.files === undefined ? response.payload : run.files.withoutBytes(response.payload),
  });
}

type BesideText = Pick<PromptResponse<unknown>, "reasoning" | "sources" | "files" | "logprobs" | "serviceTier">;

/** Returns what the answer has beside its text: only what there is. */
function besideText({ reasoning, files: own }: Run, { sources, logprobs, serviceTier }: ModelResponse): BesideText {
  const files = own?.made ?? [];
  if ((reasoning ?? sources ?? logprobs ?? serviceTier ?? files[0]) === undefined) return nothing;
  return {
    ...(reasoning === undefined ? {} : { reasoning }),
    ...(sources === undefined ? {} : { sources }),
    ...(files.length === 0 ? {} : { files: Object.freeze([...files]) }),
    ...(logprobs === undefined ? {} : { logprobs }),
    ...(serviceTier === undefined ? {} : { serviceTier }),
  };
}

const nothing: BesideText = Object.freeze({});

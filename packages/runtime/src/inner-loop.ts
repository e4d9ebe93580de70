import type { ModelProvider, ModelRequest, ModelResponse, RenderedPrompt } from "@proviso/core";
import type { ToolSpec } from "@proviso/core/provider";
import { sentSchemaOf, wrappedSchema } from "@proviso/core/internal";
import { elapsedMs } from "./elapsed.ts";
import { failure, isFailure, providerFailure, type Failure } from "./failures.ts";
import { withGenerated } from "./content/files-of.ts";
import { refresh } from "./disclosure/refresh.ts";
import type { Run } from "./run.ts";
import { refusedProviderTool } from "./request/provider-tools.ts";
import { announceAnswer } from "./responded.ts";
import { throttled, type AnsweredOrCut } from "./request/repeated.ts";
import { withUniqueIds } from "./tools/unique-call-ids.ts";
import { executeToolCalls } from "./tools/executor.ts";
import { correctionOf, inputTokensOf } from "./usage.ts";
import { wellFormedMessage } from "./well-formed.ts";

/** Asks, runs the tools that were asked for, asks again, until the model answers or something ends it. */
export async function runInnerLoop(provider: ModelProvider, run: Run): Promise<ModelResponse | Failure> {
  let rendered: RenderedPrompt | undefined;
  let tools: readonly ToolSpec[] = [];
  while (run.turn < run.maxTurns) {
    const refreshing = refresh(run);
    const unrendered = refreshing && (await refreshing);
    if (unrendered !== undefined) return unrendered;
    if (run.rendered !== rendered) {
      tools = toolSpecs((rendered = run.rendered));
      const refused = refusedProviderTool(provider, rendered.providerTools);
      if (refused !== undefined) return refused;
    }
    run.turn += 1;
    const { context } = run;
    const made = context === undefined ? requestOf(run, tools) : await context.fit(requestOf(run, tools));
    if (isFailure(made)) return made;
    const request = run.files === undefined ? made : await run.files.prepare(made, provider);
    if (isFailure(request)) return request;
    const askedAt = run.world.clock.now();
    const answered = await throttled(run, provider, request);
    if (isFailure(answered)) return answered;
    const { response, usage, stop: passed, cut } = answered;
    const queuedMs = answered.queuedMs + (response.queuedMs ?? 0);

    const answer = response.generated === undefined ? response.message : await withGenerated(run, response);
    if (isFailure(answer)) return answer;
    const message = wellFormedMessage(withUniqueIds(answer, run.world.newId));
    learnFrom(run, request, answered);
    const durationMs = elapsedMs(run.world.clock, askedAt);
    const files = message.files?.map(({ file }) => file);
    announceAnswer(run, response, message, { usage, durationMs, queuedMs, files });

    const unusable = cut ?? answerFault(response);
    if (unusable !== undefined) return unusable;
    if (message.toolCalls.length === 0) {
      run.conversation.append(message, []);
      return passed ?? run.limits.stopped("response") ?? response;
    }
    const { stop } = await executeToolCalls(run, message, passed);
    if (stop !== undefined) return stop;
    if (run.toolChoice !== "none") run.toolChoice &&= "auto";
  }
  return failure({ stop: "turns", phase: "request", message: `No answer within ${run.maxTurns} turns.` });
}

/** The tools as a provider takes them: name, description and schema of the arguments. */
export function toolSpecs({ tools }: RenderedPrompt): readonly ToolSpec[] {
  return tools.map(({ name, description, input }) => ({
    name,
    description: description.toWellFormed(),
    inputSchema: sentSchemaOf(input),
  }));
}

function requestOf(run: Run, tools: readonly ToolSpec[]): ModelRequest {
  const { output } = run.rendered;
  return {
    messages: run.conversation.request(),
    tools,
    toolChoice: tools.length === 0 ? undefined : run.toolChoice,
    output:
      run.nativeOutput && output !== undefined
        ? { name: run.prompt.template.key, schema: wrappedSchema(output) }
        : undefined,
    settings: run.settings,
    providerTools: run.rendered.providerTools,
    signal: run.limits.signal,
  };
}

/** What the provider counted, unless some of it is an estimate, makes the next request's estimate better. */
function learnFrom(run: Run, request: ModelRequest, { response, usage, messages }: AnsweredOrCut): void {
  run.knownCost = undefined;
  if (usage.estimated) return;
  const { conversation } = run;
  if (run.limits.budget !== undefined) {
    run.inputCorrection = correctionOf(usage.inputTokens, inputTokensOf(request, conversation));
  }
  // What a model thought is sent again only where the provider wants it back.
  const kept =
    response.message.providerItems === undefined ? usage.totalTokens - usage.reasoningTokens : usage.totalTokens;
  run.knownCost = { messages: messages + 1, tokens: Math.max(usage.inputTokens, kept) };
}

/** An answer that is no answer; its payload goes with the error. */
export function answerFault(answer: ModelResponse): Failure | undefined {
  const { message, finishReason, refusal, parsed, payload, generated } = answer;
  const isFile = generated !== undefined || message.files !== undefined;
  if (refusal !== undefined) return providerFailure("refusal", `The model refused: ${refusal}`, { payload });
  if (finishReason === "content-filter") {
    return providerFailure("content_filter", "The provider's content filter withheld the answer.", { payload });
  }
  if (finishReason === "length") {
    return providerFailure("truncated", "The answer was cut short by its token limit.", { payload });
  }
  const empty = message.text.trim() === "" && message.toolCalls.length === 0 && parsed === undefined && !isFile;
  return empty ? providerFailure("invalid_response", "The model's answer is empty.", { payload }) : undefined;
}

import type {
  ModelProvider,
  ModelRequest,
  ModelResponse,
  RenderedPrompt,
  AssistantMessage,
  ProviderResponded,
  ProviderToolUsed,
  ProviderTool,
  ToolCall,
} from "@proviso/core";
import type { ToolSpec, ModelCapabilities } from "@proviso/core/provider";
import { sentSchemaOf, wrappedSchema, messageOf } from "@proviso/core/internal";
import { besideText, nothingBeside } from "./beside-text.ts";
import { elapsedMs } from "./environment.ts";
import { failure, isFailure, providerFailure, turnsFailure, type Failure } from "./failures.ts";
import { withGenerated, renderedWithFiles } from "./content/files-of.ts";
import type { Run } from "./run.ts";
import { readSources } from "./request/answer-fields.ts";
import { askUntilAnswered, type AnsweredOrCut } from "./request/repeated.ts";
import { withUniqueIds } from "./well-formed.ts";
import { frozenMessage } from "./history.ts";
import { executeToolCalls } from "./tools/executor.ts";
import { correctionOf, inputTokensOf } from "./tokens.ts";
import { checkUses } from "./tools/policies.ts";
import { isOutOfTurns } from "./loop-limits.ts";
import { openedOf, renderWith, type Opened } from "./rendering.ts";

/** Asks, runs the tools that were asked for, asks again, until the model answers or something ends it. */
export async function runInnerLoop(provider: ModelProvider, run: Run): Promise<ModelResponse | Failure> {
  let rendered: RenderedPrompt | undefined;
  let tools: readonly ToolSpec[] = [];
  let paused: ModelResponse | undefined;
  while (!isOutOfTurns(run)) {
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
    const answered = await askUntilAnswered(run, provider, request, paused?.message.text);
    if (isFailure(answered)) return answered;
    const { response, usage, stop: passed, cut } = answered;
    const queuedMs = answered.queuedMs + (response.queuedMs ?? 0);

    const answer = response.generated === undefined ? response.message : await withGenerated(run, response);
    if (isFailure(answer)) return answer;
    const message = frozenMessage(withUniqueIds(answer, run.world.newId));
    learnFrom(run, request, answered);
    const durationMs = elapsedMs(run.world.clock, askedAt);
    const files = message.files?.map(({ file }) => file);
    announceAnswer(run, response, message, { usage, durationMs, queuedMs, files });

    const whole = joined(paused, response);
    const unusable = cut ?? answerFault(whole);
    if (unusable !== undefined) return unusable;
    if (message.toolCalls.length === 0) {
      run.history.append(message, []);
      const stop = passed ?? run.limits.stopped("response");
      if (stop !== undefined || whole.finishReason !== "paused") return stop ?? whole;
      paused = whole;
      continue;
    }
    paused = undefined;
    const { stop } = await executeToolCalls(run, message, passed);
    if (stop !== undefined) return stop;
    if (run.toolChoice !== "none") run.toolChoice &&= "auto";
  }
  return turnsFailure(run.maxTurns);
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
    messages: run.history.request(),
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
function learnFrom(run: Run, request: ModelRequest, { response, usage, own, messages }: AnsweredOrCut): void {
  run.knownCost = undefined;
  if (usage.estimated) return;
  const { history } = run;
  if (run.limits.budget !== undefined) {
    run.inputCorrection = correctionOf(own.inputTokens, inputTokensOf(request, history));
  }
  // What a model thought is sent again only where the provider wants it back.
  const kept = response.message.providerItems === undefined ? own.totalTokens - own.reasoningTokens : own.totalTokens;
  run.knownCost = { messages: messages + 1, tokens: Math.max(own.inputTokens, kept) };
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
  const isPaused = finishReason === "paused" && message.providerItems !== undefined;
  const saysNothing = message.text.trim() === "" && message.toolCalls.length === 0 && parsed === undefined;
  const empty = saysNothing && !isFile && !isPaused;
  return empty ? providerFailure("invalid_response", "The model's answer is empty.", { payload }) : undefined;
}

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
    const toolCalls = shownCalls(message.toolCalls);
    // One spread, and in front: V8 makes an object with one behind other fields many times slower.
    const beside = besideCosts(response, measured);
    if (beside === nothingBeside) {
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
  run.tape?.announced(run);
}

/** The calls as an event has them. Those of a message that is frozen and that have nothing else are shared with it. */
function shownCalls(calls: AssistantMessage["toolCalls"]): ProviderResponded["toolCalls"] {
  if (Object.isFrozen(calls) && calls.every(isBareCall)) return calls;
  return calls.map(({ id, name, arguments: given }) => ({ id, name, arguments: given }));
}

/** Whether a call has exactly these fields, in this order. */
function isBareCall(call: ToolCall): boolean {
  let place = 0;
  for (const name in call) if (name !== callFields[place++]) return false;
  return place === callFields.length && Object.isFrozen(call);
}

const callFields = ["id", "name", "arguments"] as const;

/** Returns what an answer has beside its text and its costs: only what there is. */
function besideCosts(response: ModelResponse, { queuedMs = 0, files }: Measured): Beside {
  const { message, serviceTier, logprobs, sources, route } = response;
  const beside = besideText({ serviceTier, reasoning: message.reasoning, sources, files, logprobs });
  if (queuedMs === 0 && route === undefined) return beside;
  return {
    ...(queuedMs === 0 ? {} : { queuedMs }),
    ...beside,
    ...(route === undefined ? {} : { route }),
  };
}

/** What may offer tools that the provider runs: a model, or an agent. */
interface OffersTools {
  readonly name: string;
  readonly capabilities?: Pick<ModelCapabilities, "providerTools"> | undefined;
}

/** A provider tool that cannot be offered is refused before anything is sent. */
export function refusedProviderTool(
  { name, capabilities = {} }: OffersTools,
  tools: readonly ProviderTool[],
): Failure | undefined {
  if (tools.length === 0) return undefined;
  const { providerTools: offered = [] } = capabilities;
  const refused = tools.find(({ id }) => !offered.some((pattern) => fits(pattern, id)));
  if (refused === undefined) return undefined;
  const has = offered.length === 0 ? "It runs no tools itself." : `It runs ${offered.join(", ")}.`;
  const message = `${name} cannot offer the provider tool "${refused.name}" (${refused.id}). ${has}`;
  return failure({ stop: "provider", phase: "request", reason: "bad_request", message });
}

function fits(pattern: string, id: string): boolean {
  return pattern.endsWith("*") ? id.startsWith(pattern.slice(0, -1)) : id === pattern;
}

/**
 * Renders again when sections have opened since: the next request carries it, the history so far is kept. undefined
 * where nothing has to be waited for.
 */
export function refresh(run: Run): Promise<Failure | undefined> | undefined {
  // Sections do not open in an unusable session.
  if (!run.core.isUsable()) return undefined;
  const opened = openedOf(run.core, run.promptName);
  return opened === run.opened ? undefined : renderAgain(run, opened);
}

async function renderAgain(run: Run, opened: Opened): Promise<Failure | undefined> {
  try {
    const fresh = renderWith(run.prompt, run.renderInputs, opened);
    const extended = await run.limits.race(run.resources.extend(fresh.resources), "render");
    if (isFailure(extended)) return extended;
    const rendered = await run.limits.race(renderedWithFiles(run, fresh), "render");
    if (isFailure(rendered)) return rendered;
    checkUses({ rendered, policies: run.policies, resources: run.resources });
    run.opened = opened;
    run.rendered = rendered;
    run.tools = new Map(rendered.tools.map((tool) => [tool.name, tool]));
    run.history.rerender(rendered);
    run.knownCost = undefined;
    return undefined;
  } catch (cause) {
    return failure({ stop: "render", phase: "render", cause, message: messageOf(cause) });
  }
}

/** The answer with what came before its provider paused it: one text, and what all of it rests on. */
function joined(paused: ModelResponse | undefined, answer: ModelResponse): ModelResponse {
  if (paused === undefined) return answer;
  const { length } = paused.message.text;
  const text = paused.message.text + answer.message.text;
  const later = (answer.sources ?? []).map(({ at, ...source }) =>
    at === undefined ? source : { ...source, at: { start: at.start + length, end: at.end + length } },
  );
  const sources = readSources([...(paused.sources ?? []), ...later], text);
  return { ...answer, message: { ...answer.message, text }, sources };
}

import {
  ListenerError,
  NotSupportedError,
  noUsage,
  toJsonValue,
  type EvaluateOptions,
  type EvaluationDetails,
  type ModelProvider,
  type ModelResponse,
  type Prompt,
  type PromptResponse,
  type ProviderAdapter,
  type ThrottlePolicy,
  type ToolChoice,
} from "@proviso/core";
import { resolveEnvironment, type Environment } from "./environment.ts";
import { errorOf, isFailure, messageOf, type Failure } from "./failures.ts";
import { runInnerLoop } from "./inner-loop.ts";
import { parseOutput, type ParsedOutput } from "./output/parse.ts";
import type { Run, Setup } from "./run.ts";
import { startRun } from "./start-run.ts";
import { throttlePolicy } from "./throttle/policy.ts";

/** The last part of every adapter's options. */
export interface AdapterOptions extends Environment {
  readonly throttle?: Partial<ThrottlePolicy> | undefined;
  /** The default; an evaluation's own wins. */
  readonly toolChoice?: ToolChoice | undefined;
}

/**
 * Every model adapter is this one line.
 * @throws {DefinitionError} for a throttle policy that cannot be.
 * @throws {NotSupportedError} for an option that is not built yet.
 */
export function modelAdapter(provider: ModelProvider, options: AdapterOptions = {}): ProviderAdapter {
  if ((options.secrets?.length ?? 0) > 0) throw new NotSupportedError("The option secrets");
  const adapter: ProviderAdapter = Object.freeze({
    name: provider.name,
    evaluate: <Output>(prompt: Prompt<Output>, given: EvaluateOptions = {}) => evaluate(setup, provider, prompt, given),
    stream() {
      throw new NotSupportedError("Streaming");
    },
  });
  const setup: Setup = {
    adapter,
    provider,
    nativeOutput: provider.capabilities.nativeOutput,
    takesTools: provider.capabilities.tools,
    world: resolveEnvironment(options),
    throttle: throttlePolicy(options.throttle),
    toolChoice: options.toolChoice,
  };
  return adapter;
}

async function evaluate<Output>(
  setup: Setup,
  provider: ModelProvider,
  prompt: Prompt<Output>,
  options: EvaluateOptions,
): Promise<PromptResponse<Output>> {
  const started = await startRun(setup, prompt, options);
  if (isFailure(started)) {
    const promptName = prompt?.template?.name ?? "(no prompt)";
    throw errorOf(started, { promptName, usage: noUsage, messages: [], toolResults: [] });
  }
  await using run = started;
  announce(run, setup);
  const answer = await answerOf(setup, provider, run);
  if (isFailure(answer)) throw failed(run, answer);
  // What parseOutput returned was validated with the prompt's own schema.
  return executed(run, setup, answer) as PromptResponse<Output>;
}

type Answer = ParsedOutput & { readonly response: ModelResponse };

async function answerOf(setup: Setup, provider: ModelProvider, run: Run): Promise<Answer | Failure> {
  if (!setup.takesTools && run.tools.size > 0) {
    const message = `${setup.provider.name} takes no tools, but the prompt "${run.promptName}" has some.`;
    return { stop: "provider", phase: "request", reason: "bad_request", message };
  }
  run.log("debug", {}, "prompt.call.start");
  const response = await runInnerLoop(provider, run);
  if (isFailure(response)) return response;
  run.log("debug", { turns: run.turn, usage: run.usage }, "prompt.call.complete");
  const parsed = await run.limits.race(parseOutput(run.rendered.output, response), "response");
  return isFailure(parsed) ? parsed : { ...parsed, response };
}

function announce(run: Run, { adapter, provider }: Setup): void {
  const { text, descriptor, tools } = run.rendered;
  run.emit({
    type: "prompt.rendered",
    promptName: run.promptName,
    adapter: adapter.name,
    model: provider.model,
    text,
    tools: tools.map(({ name }) => name),
    params: (toJsonValue(run.prompt.params)?.value ?? {}) as Readonly<Record<string, unknown>>,
    descriptor,
    overrides: undefined,
  });
}

function executed(run: Run, setup: Setup, { text, output, response }: Answer): PromptResponse<unknown> {
  const { promptName, usage, turn: turns } = run;
  const { errors } = run.emit({
    type: "prompt.executed",
    promptName,
    output: toJsonValue(output)?.value ?? null,
    text,
    usage,
    turns,
    durationMs: run.world.clock.now() - run.startedAt,
  });
  const evaluated: PromptResponse<unknown> = Object.freeze({
    promptName,
    evaluationId: run.evaluationId,
    provider: setup.provider.name,
    model: run.model,
    text,
    output,
    toolResults: run.toolResults,
    usage,
    turns,
    messages: run.conversation.messages(),
    finishReason: response.finishReason,
    providerPayload: response.payload,
  });
  if (errors.length === 0) return evaluated;
  const why = errors.map(messageOf).join("; ");
  throw new ListenerError(`A listener or reducer failed on prompt.executed: ${why}`, {
    ...spent(run),
    phase: "response",
    providerPayload: response.payload,
    errors,
    response: evaluated,
  });
}

function failed(run: Run, failure: Failure): Error {
  const error = errorOf(failure, spent(run));
  run.log("error", { code: error.code, phase: error.phase, error: error.message }, "prompt.error");
  run.emit({
    type: "prompt.failed",
    promptName: run.promptName,
    code: error.code,
    phase: error.phase,
    message: error.message,
    usage: run.usage,
    turns: run.turn,
    durationMs: run.world.clock.now() - run.startedAt,
  });
  return error;
}

function spent(run: Run): Pick<EvaluationDetails, "promptName" | "usage" | "messages" | "toolResults"> {
  const { promptName, usage, conversation, toolResults } = run;
  return { promptName, usage, messages: conversation.messages(), toolResults: [...toolResults] };
}

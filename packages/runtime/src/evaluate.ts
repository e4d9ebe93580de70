import {
  DefinitionError,
  describeValue,
  isRecord,
  ListenerError,
  toJsonValue,
  type EvaluateOptions,
  type EvaluationFailure,
  type EvaluationPhase,
  type ModelProvider,
  type ModelResponse,
  type Prompt,
  type PromptResponse,
  type ProviderAdapter,
  type ThrottlePolicy,
  type ToolChoice,
} from "@proviso/core";
import { rememberInternals } from "./adapter-internals.ts";
import { driveAgent, type AgentDriver } from "./agent.ts";
import { whatIsMissing } from "./completion.ts";
import { resolveEnvironment, type Environment } from "./environment.ts";
import { checkToolChoice } from "./evaluate-options.ts";
import { emitFailed, failed, notStarted, restoreError, spent, unforeseen } from "./failing.ts";
import { failure, internalFailure, isFailure, messageOf, type Failure } from "./failures.ts";
import { runInnerLoop } from "./inner-loop.ts";
import { elapsedMs } from "./elapsed.ts";
import { parseOutput, repairRequest, type ParsedOutput } from "./output/parse.ts";
import type { Run, Setup } from "./run.ts";
import { startRun } from "./start-run.ts";
import { startStream } from "./streaming/stream.ts";
import type { Surroundings } from "./surroundings.ts";
import { throttlePolicy } from "./request/policy.ts";

/** The last part of every adapter's options. */
export interface AdapterOptions extends Environment {
  readonly throttle?: Partial<ThrottlePolicy> | undefined;
  /** The default; an evaluation's own wins. */
  readonly toolChoice?: ToolChoice | undefined;
}

/**
 * For whoever takes options now and makes the adapter later.
 * @throws {DefinitionError} for a throttle policy or a tool choice that cannot be, or an empty secret.
 */
export function checkAdapterOptions(options: AdapterOptions): void {
  resolveEnvironment(options);
  throttlePolicy(options.throttle);
  checkToolChoice(options.toolChoice);
}

/**
 * Every model adapter is this one line.
 * @throws {DefinitionError} for what is no model, a throttle policy or a tool choice that cannot be, or an empty secret.
 */
export function modelAdapter(provider: ModelProvider, options: AdapterOptions = {}): ProviderAdapter {
  checkDriver(provider, "modelAdapter needs a ModelProvider", modelProviderFields);
  const { tools, nativeOutput } = provider.capabilities;
  return makeAdapter({ provider, takesTools: tools, nativeOutput }, (run) => runInnerLoop(provider, run), options);
}

/**
 * For what owns its loop: it answers in its own way and calls our tools through the one executor, so that
 * transactions, policies, limits and events are the same.
 * @throws {DefinitionError} for what is no driver, a throttle policy or a tool choice that cannot be, or an empty secret.
 */
export function agentAdapter(driver: AgentDriver, options: AdapterOptions = {}): ProviderAdapter {
  checkDriver(driver, "agentAdapter needs an AgentDriver", agentDriverFields);
  const setup = { provider: driver, takesTools: true, nativeOutput: false };
  return makeAdapter(setup, (run) => driveAgent(driver, run), options);
}

type Fields = Readonly<Record<string, "string" | "function" | "object">>;
const modelProviderFields: Fields = { name: "string", model: "string", capabilities: "object", generate: "function" };
const agentDriverFields: Fields = { name: "string", model: "string", drive: "function" };

/** Without it, a field that is missing would show only with the first request. */
function checkDriver(given: unknown, needed: string, fields: Fields): void {
  const values = (given ?? {}) as Readonly<Record<string, unknown>>;
  const fits = ([name, type]: readonly [string, string]): boolean =>
    type === "object" ? isRecord(values[name]) : typeof values[name] === type;
  if (Object.entries(fields).every(fits)) return;
  throw new DefinitionError(`${needed}: { ${Object.keys(fields).join(", ")} }, not ${describeValue(given)}.`);
}

/** Asks until there is a final answer. */
type Drive = (run: Run) => Promise<ModelResponse | Failure>;
type DrivenSetup = Setup & { readonly drive: Drive };

function makeAdapter(
  of: Pick<Setup, "provider" | "takesTools" | "nativeOutput">,
  drive: Drive,
  options: AdapterOptions,
): ProviderAdapter {
  checkToolChoice(options.toolChoice);
  const adapter: ProviderAdapter = Object.freeze({
    name: of.provider.name,
    evaluate: <Output>(prompt: Prompt<Output>, given: EvaluateOptions = {}) => evaluate(setup, prompt, given, {}),
    stream: <Output>(prompt: Prompt<Output>, given: EvaluateOptions = {}) =>
      startStream<Output>(given, (own, watch) => evaluate(setup, prompt, own, { watch })),
  });
  const setup: DrivenSetup = {
    ...of,
    adapter,
    drive,
    world: resolveEnvironment(options),
    throttle: throttlePolicy(options.throttle),
    toolChoice: options.toolChoice,
  };
  const { model, maxOutputTokens } = of.provider;
  rememberInternals(adapter, {
    evaluate: (prompt, given, nesting) => evaluate(setup, prompt, given, { nesting }),
    facts: { model, nativeOutput: of.nativeOutput, maxOutputTokens, clock: setup.world.clock },
  });
  return adapter;
}

async function evaluate<Output>(
  setup: DrivenSetup,
  prompt: Prompt<Output>,
  options: EvaluateOptions,
  around: Surroundings,
): Promise<PromptResponse<Output>> {
  const started = await startRun(setup, prompt, options, around);
  if (isFailure(started)) throw notStarted(setup, prompt, started);
  await using run = started;
  const outcome = await outcomeOf(setup, run);
  if ("error" in outcome) throw outcome.error;
  // What parseOutput returned was validated with the prompt's own schema.
  return outcome.response as PromptResponse<Output>;
}

type Outcome = { readonly response: PromptResponse<unknown> } | { readonly error: EvaluationFailure };

/** The last catch: whatever throws where nobody expected it is a failure of its own kind. Never rejects. */
async function outcomeOf(setup: DrivenSetup, run: Run): Promise<Outcome> {
  let phase: EvaluationPhase = "render";
  try {
    announce(run, setup);
    phase = "request";
    const answer = await answerOf(setup, run);
    if (isFailure(answer)) return { error: failed(run, answer) };
    phase = "response";
    return executed(run, setup, answer);
  } catch (cause) {
    return { error: unforeseen(run, internalFailure(cause, phase)) };
  }
}

type Answer = ParsedOutput & { readonly response: ModelResponse };

async function answerOf(setup: DrivenSetup, run: Run): Promise<Answer | Failure> {
  if (!setup.takesTools && run.tools.size > 0) {
    const message = `${setup.provider.name} takes no tools, but the prompt "${run.promptName}" has some.`;
    return failure({ stop: "provider", phase: "request", reason: "bad_request", message });
  }
  let repairs = 0;
  let completions = 0;
  for (;;) {
    run.log("debug", {}, "prompt.call.start");
    const response = await setup.drive(run);
    if (isFailure(response)) return response;
    run.log("debug", { turns: run.turn, usage: run.usage }, "prompt.call.complete");
    const parsed = await run.limits.race(parseOutput(run.rendered.output, response), "response");
    if (isFailure(parsed)) {
      if (parsed.stop !== "output" || repairs++ >= run.maxRepairs) return parsed;
      run.conversation.say(repairRequest(parsed));
      continue;
    }
    const missing = await whatIsMissing(run, parsed.output, completions++);
    if (isFailure(missing)) return missing;
    if (missing === undefined) return { ...parsed, response };
    run.conversation.say(missing);
  }
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
    overrides: run.rendered.overrides,
  });
}

function executed(run: Run, setup: Setup, answer: Answer): Outcome {
  const evaluated = responseOf(run, setup, answer);
  // An answer that stands on changes which could not be undone or committed is no success.
  if (run.faults.length > 0) return { error: emitFailed(run, restoreError(run, { response: evaluated })) };
  const { promptName, usage, turn: turns } = run;
  const { text, output, response } = answer;
  const shown = toJsonValue(output)?.value ?? null;
  const durationMs = elapsedMs(run.world.clock, run.startedAt);
  run.ended = true;
  const { errors } = run.emit({ type: "prompt.executed", promptName, output: shown, text, usage, turns, durationMs });
  if (errors.length === 0) return { response: evaluated };
  const { value } = run.redaction;
  const why = value(errors.map(messageOf).join("; "));
  const error = new ListenerError(`A listener or reducer failed on prompt.executed: ${why}`, {
    ...run.redaction.details({ ...spent(run), phase: "response", providerPayload: response.payload }),
    errors: value(errors),
    response: evaluated,
  });
  // Nothing paid for is lost, but who prints the error does not print the answer as it came.
  return { error: Object.defineProperty(error, "response", { enumerable: false }) };
}

function responseOf(run: Run, setup: Setup, { text, output, response }: Answer): PromptResponse<unknown> {
  return Object.freeze({
    promptName: run.promptName,
    evaluationId: run.evaluationId,
    provider: setup.provider.name,
    model: run.model,
    text,
    output,
    toolResults: Object.freeze([...run.toolResults]),
    usage: run.usage,
    turns: run.turn,
    messages: run.conversation.messages(),
    finishReason: response.finishReason,
    providerPayload: response.payload,
  });
}

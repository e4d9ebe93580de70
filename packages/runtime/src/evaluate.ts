import {
  DefinitionError,
  ListenerError,
  type EvaluateOptions,
  type ModelProvider,
  type Pace,
  type Prompt,
  type PromptResponse,
  type ProviderAdapter,
} from "@proviso/core";
import { checkOptionNames, isRecord } from "@proviso/core/provider";
import { describeValue, messageOf, toJsonValue, type EvaluationPhase } from "@proviso/core/internal";
import { rememberInternals } from "./nested/adapter-internals.ts";
import { adapterOptionNames, checkJournal, type AdapterOptions } from "./adapter-options.ts";
import type { AgentDriver } from "./agent.ts";
import { answerOf, type Drive, type DrivenSetup } from "./answering.ts";
import { rememberHistory } from "./continued.ts";
import { resolveEnvironment } from "./environment.ts";
import { checkToolChoice } from "./evaluate-options.ts";
import {
  emitFailed,
  errorFields,
  failedEvaluation,
  faultsOf,
  notStarted,
  recordFault,
  restoreError,
  spent,
  unforeseenFailure,
  withHiddenResponse,
} from "./failing.ts";
import { internalFailure, isFailure } from "./failures.ts";
import { runInnerLoop } from "./inner-loop.ts";
import { askedOf, type Chain } from "./request/chain.ts";
import { elapsedMs } from "./elapsed.ts";
import { checkPricing, pricesOf } from "./prices.ts";
import type { EvaluationOutcome } from "./recording/contract.ts";
import { openerIn, withRun, type OpenTape } from "./recording/run-value.ts";
import { outputLimits } from "./request/output-limits.ts";
import { announceRendering } from "./observing/rendered.ts";
import type * as ObserveEvaluation from "./observing/observe-evaluation.ts";
import { activeObservers, type Observers } from "./observing/observers.ts";
import { responseOf, type Answer } from "./response.ts";
import type { Nesting, Run, Setup } from "./run.ts";
import { promptOf, startRun } from "./start-run.ts";
import { startStream } from "./streaming/stream.ts";
import { hidingBoth, type Surroundings } from "./nested/inherit.ts";
import { throttlePolicy } from "./request/policy.ts";

/**
 * Every model adapter is this one line.
 * @example
 * ```ts
 * import type { ModelProvider } from "@proviso/core";
 * import { modelAdapter } from "@proviso/runtime";
 *
 * const echo: ModelProvider = {
 *   name: "echo",
 *   model: "echo-1",
 *   capabilities: { tools: false, nativeOutput: false },
 *   async generate({ messages }) {
 *     const text = messages.at(-1)?.text ?? "";
 *     return { message: { role: "assistant", text, toolCalls: [] }, finishReason: "stop" };
 *   },
 * };
 * const { output } = await modelAdapter(echo).evaluate("Hello.");
 * console.log(output); // Hello.
 * ```
 * @throws {DefinitionError} for what is no model, a throttle policy or a tool choice that cannot be, or an empty secret.
 */
export function modelAdapter(provider: ModelProvider, options: AdapterOptions = {}): ProviderAdapter {
  checkOptionNames("modelAdapter", options, adapterOptionNames);
  checkDriver(provider, "modelAdapter needs a ModelProvider", modelProviderFields);
  return makeAdapter(modelSetup(provider), (run) => runInnerLoop(provider, run), options);
}

function modelSetup(provider: ModelProvider): Made & { readonly provider: ModelProvider } {
  const { tools, nativeOutput, reportsCost = false } = provider.capabilities;
  return { provider, takesTools: tools, nativeOutput, reportsCost, isModel: true };
}

/**
 * Makes an adapter of an agent, which runs its own loop and calls our tools through the runtime's executor.
 * Transactions, policies, limits and events work as they do with a model.
 * @example
 * ```ts
 * import { agentAdapter } from "@proviso/runtime";
 *
 * const agent = agentAdapter({
 *   name: "shouting",
 *   model: "shouting-1",
 *   async drive({ rendered }) {
 *     const text = rendered.user.toUpperCase();
 *     return { message: { role: "assistant", text, toolCalls: [] }, finishReason: "stop" };
 *   },
 * });
 * const { output } = await agent.evaluate("Hello.");
 * console.log(output); // HELLO.
 * ```
 * @throws {DefinitionError} for what is no driver, a throttle policy or a tool choice that cannot be, or an empty
 * secret.
 */
export function agentAdapter(driver: AgentDriver, options: AdapterOptions = {}): ProviderAdapter {
  checkOptionNames("agentAdapter", options, adapterOptionNames);
  checkDriver(driver, "agentAdapter needs an AgentDriver", agentDriverFields);
  const { reportsCost = false } = driver;
  const setup = { provider: driver, takesTools: true, nativeOutput: false, reportsCost, isModel: false };
  // What drives an agent is loaded with the first evaluation that asks one.
  return makeAdapter(setup, async (run) => (await import("./agent.ts")).driveAgent(driver, run), options);
}

type Fields = Readonly<Record<string, "string" | "function" | "object">>;
const modelProviderFields: Fields = { name: "string", model: "string", capabilities: "object", generate: "function" };
const agentDriverFields: Fields = { name: "string", model: "string", drive: "function" };

/** Checks a driver here, because a missing field would otherwise show only with the first request. */
function checkDriver(given: unknown, needed: string, fields: Fields): void {
  const values = (given ?? {}) as Readonly<Record<string, unknown>>;
  const fits = ([name, type]: readonly [string, string]): boolean =>
    type === "object" ? isRecord(values[name]) : typeof values[name] === type;
  if (Object.entries(fields).every(fits)) return;
  throw new DefinitionError(`${needed}: { ${Object.keys(fields).join(", ")} }, not ${describeValue(given)}.`);
}

type Made = Pick<Setup, "takesTools" | "nativeOutput" | "reportsCost" | "isModel"> & {
  readonly provider: ModelProvider | (AgentDriver & Setup["provider"]);
};

function makeAdapter(
  of: Made,
  drive: Drive,
  options: AdapterOptions,
  { pace, chain }: { readonly pace?: Pace | undefined; readonly chain?: Chain | undefined } = {},
): ProviderAdapter {
  checkToolChoice(options.toolChoice);
  checkPricing(options.pricing);
  checkJournal(options.journal);
  const { provider } = of;
  const { name, model, maxOutputTokens, contextWindow } = provider;
  const prices = chain?.prices ?? pricesOf({ pricing: options.pricing, model, provider: name });
  const adapter: ProviderAdapter = Object.freeze({
    name,
    evaluate: <Output>(prompt: Prompt<Output> | string, given: EvaluateOptions = {}) =>
      evaluate(setup, prompt, given, {}),
    stream: <Output>(prompt: Prompt<Output> | string, given: EvaluateOptions = {}) =>
      startStream<Output>(given, (own, watch) => evaluate(setup, prompt, own, { watch })),
  });
  const setup: DrivenSetup = {
    ...of,
    adapter,
    drive,
    world: resolveEnvironment(options),
    throttle: throttlePolicy(options.throttle),
    toolChoice: options.toolChoice,
    prices,
    pace,
    isChain: chain !== undefined,
    beginAgain: chain?.beginAgain,
    journal: options.journal,
    outputLimits: outputLimits(),
  };
  rememberInternals(adapter, {
    evaluate: (prompt, given, nesting) => evaluate(hidingBoth(setup, nesting), prompt, given, { nesting }),
    atPace: (own) => makeAdapter(of, drive, options, { pace: own, chain }),
    asked: askedOf(adapter, { ...setup, provider }, options, chain),
    leads: (made) =>
      makeAdapter(
        { ...modelSetup(made.provider), isModel: made.drive === undefined },
        made.drive ?? ((run) => runInnerLoop(made.providerFor(run), run)),
        { ...options, pricing: undefined, ...made.environment, secrets: made.secrets },
        { chain: made },
      ),
    facts: {
      name,
      model,
      isModel: of.isModel,
      nativeOutput: of.nativeOutput,
      maxOutputTokens,
      contextWindow,
      files: provider.capabilities?.files,
      clock: setup.world.clock,
      prices,
      reportsCost: of.reportsCost,
    },
  });
  return adapter;
}

function evaluate<Output>(
  setup: DrivenSetup,
  given: Prompt<Output> | string,
  options: EvaluateOptions,
  around: Surroundings,
): Promise<PromptResponse<Output>> {
  const prompt = promptOf(given);
  const observers = activeObservers(setup.world.observers);
  const own = around.nesting?.run.tape === undefined ? setup : recordedSetup(setup, around.nesting);
  return observers === undefined
    ? evaluateHere(own, prompt, options, around)
    : evaluateObserved(observers, own, prompt, options, around);
}

async function evaluateObserved<Output>(
  observers: Observers,
  ...given: Parameters<typeof evaluateHere<Output>>
): Promise<PromptResponse<Output>> {
  const [setup, prompt, options, around] = given;
  observing ??= await import("./observing/observe-evaluation.ts");
  return observing.observeEvaluation(observers, setup, prompt, around, (inside) =>
    evaluateHere(setup, prompt, options, inside),
  );
}

/** Loaded with the first evaluation that has observers; the later ones begin at once. */
let observing: typeof ObserveEvaluation | undefined;

async function evaluateHere<Output>(
  setup: DrivenSetup,
  prompt: Prompt<Output>,
  given: EvaluateOptions,
  around: Surroundings,
): Promise<PromptResponse<Output>> {
  const { nesting, tape } = around;
  const isOwn = nesting === undefined && tape === undefined;
  const options = isOwn ? withRun(given, setup.journal) : given;
  const open = isOwn ? openerIn(options) : undefined;
  if (open !== undefined) return evaluateRecorded(open, setup, prompt, options, around);
  const started = await startRun(setup, prompt, options, around);
  if (isFailure(started)) {
    const error = notStarted(setup, prompt, options, started);
    throw tape === undefined ? error : await tape.notBegun(error);
  }
  // `await using` would cost more than all of its events.
  const outcome = await outcomeOf(setup, started);
  const closing = started.close();
  if (closing !== undefined) await closing;
  const ended = tape === undefined ? outcome : await tape.end(started, outcome);
  if ("error" in ended) throw ended.error;
  // What parseOutput returned was validated with the prompt's own schema.
  return ended.response as PromptResponse<Output>;
}

/** Evaluates with the record of a run: all is answered from what stands in it, and what happens then is appended. */
async function evaluateRecorded<Output>(
  open: OpenTape,
  ...[setup, prompt, options, around]: Parameters<typeof evaluateHere<Output>>
): Promise<PromptResponse<Output>> {
  const tape = await open(setup, prompt, options, around.evaluationId);
  tape.runAgain((own) => evaluateHere(own.setup(setup), prompt, own.options(options), { tape: own }));
  return evaluateHere(tape.setup(setup), prompt, tape.options(options), { ...around, tape });
}

/** An evaluation inside a call has a world of its own, for its call is answered as a whole; a summary has the record's. */
function recordedSetup(setup: DrivenSetup, { run, callId }: Nesting): DrivenSetup {
  return callId !== undefined || run.isInside ? setup : (run.tape?.setup(setup) ?? setup);
}

/** Catches every unexpected error: it is a failure of its own kind. Never rejects. */
async function outcomeOf(setup: DrivenSetup, run: Run): Promise<EvaluationOutcome> {
  let phase: EvaluationPhase = "render";
  try {
    announceRendering(run, setup);
    phase = "request";
    const again = setup.beginAgain;
    const answer = await (again === undefined ? answerOf(setup, run) : again(run, () => answerOf(setup, run)));
    if (isFailure(answer)) return recordFault(run) ?? { error: failedEvaluation(run, answer) };
    phase = "response";
    return executed(run, setup, answer);
  } catch (cause) {
    const fault = recordFault(run);
    if (fault !== undefined) return fault;
    return { error: unforeseenFailure(run, internalFailure(cause, phase)) };
  }
}

function executed(run: Run, setup: Setup, answer: Answer): EvaluationOutcome {
  const evaluated = responseOf(run, setup, answer);
  // An answer that stands on changes which could not be undone or committed is no success.
  const faults = faultsOf(run);
  if (faults.length > 0) return { error: emitFailed(run, restoreError(run, faults, { response: evaluated })) };
  const { promptName, usage, turn: turns } = run;
  const { text, output } = answer;
  const shown = toJsonValue(output)?.value ?? null;
  const durationMs = elapsedMs(run.world.clock, run.startedAt);
  const errors = run.publish({ type: "prompt.executed", promptName, output: shown, text, usage, turns, durationMs });
  if (errors.length === 0) return { response: evaluated };
  const { value } = run.redaction;
  const why = value(errors.map(messageOf).join("; "));
  const error = new ListenerError(`A listener or reducer failed on prompt.executed: ${why}`, {
    ...run.redaction.details({ ...spent(run), phase: "response", providerPayload: evaluated.providerPayload }),
    errors: value(errors),
    response: evaluated,
  });
  rememberHistory(error, run.prompt, run.conversation);
  run.log("error", errorFields(error), "prompt.error");
  return { error: withHiddenResponse(error) };
}

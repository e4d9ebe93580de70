import {
  DefinitionError,
  type EvaluateOptions,
  type ModelProvider,
  type Pace,
  type Prompt,
  type ProviderAdapter,
} from "@proviso/core";
import { checkOptionNames, isRecord } from "@proviso/core/provider";
import { describeValue } from "@proviso/core/internal";
import { rememberInternals, type AdapterFacts } from "./nested/adapter-internals.ts";
import { adapterOptionNames, checkJournal, type AdapterOptions } from "./adapter-options.ts";
import type { AgentDriver } from "./agent.ts";
import { evaluate } from "./evaluate.ts";
import type { Drive, DrivenSetup, Setup } from "./run.ts";
import { resolveEnvironment } from "./environment.ts";
import { checkToolChoice } from "./evaluate-options.ts";
import { runInnerLoop } from "./inner-loop.ts";
import { chainMemberOf, type Chain } from "./request/chain.ts";
import { checkPricing, pricesOf } from "./prices.ts";
import { outputLimits } from "./answer-lengths.ts";
import { startStream } from "./streaming/stream.ts";
import { hidingBoth } from "./nested/inherit.ts";
import { throttlePolicy } from "./request/policy.ts";

/**
 * Makes an adapter of a model: an object whose `generate` sends one request and returns its answer. The runtime does the
 * rest: the loop, tools, limits, retries, output. The adapters of Proviso's other packages are made with it.
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
  const { name, model } = provider;
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
    redact: setup.world.secrets?.redact,
    atPace: (own) => makeAdapter(of, drive, options, { pace: own, chain }),
    asked: chainMemberOf(adapter, { ...setup, provider }, options, chain),
    leads: (made) =>
      makeAdapter(
        { ...modelSetup(made.provider), isModel: made.drive === undefined },
        made.drive ?? ((run) => runInnerLoop(made.providerFor(run), run)),
        { ...options, pricing: undefined, ...made.environment, secrets: made.secrets },
        { chain: made },
      ),
    facts: factsOf(setup, of.provider),
  });
  return adapter;
}

function factsOf(
  { isModel, nativeOutput, reportsCost, toolChoice, prices, world }: DrivenSetup,
  { name, model, settingsHash, maxOutputTokens, capabilities }: Made["provider"],
): AdapterFacts {
  return {
    name,
    model,
    settingsHash,
    toolChoice,
    isModel,
    nativeOutput,
    maxOutputTokens,
    files: capabilities?.files,
    clock: world.clock,
    prices,
    reportsCost,
  };
}

import {
  DefinitionError,
  type EvaluateOptions,
  type Prompt,
  type PromptOverride,
  type RenderedPrompt,
  type ToolChoice,
  type Usage,
} from "@proviso/core";
import { addUsage, countUsage, isThenable, noUsage, openedSections, messageOf } from "@proviso/core/internal";
import { conversationOf } from "./continued.ts";
import type { World } from "./environment.ts";
import { emitter, showingOf } from "./emitting.ts";
import { checkEvaluateOptions, checkPrompt } from "./evaluate-options.ts";
import { beginFailure, isFailure, optionFault, readOption, type Failure } from "./failures.ts";
import { graceful, graceMs } from "./grace.ts";
import { openLimits, type Limits } from "./limits.ts";
import type { Nesting } from "./nested/nesting.ts";
import { openedOf, renderWith, type Opened, type RenderInputs } from "./rendering.ts";
import type { Run, Setup } from "./run.ts";
import { paceOf } from "./request/paced.ts";
import { coreOf, type SessionCore } from "./session/session-core.ts";
import { createSession } from "./session/session.ts";
import { depthOf, enclosingOf, inheritedLimits, openRunResources, type Surroundings } from "./nested/inherit.ts";
import { checkUses } from "./tools/uses.ts";
import { noEnclosing } from "./transactions/enclosing.ts";

const defaultMaxTurns = 64;
/** The tag of prompt overrides that an evaluation uses by default. */
const defaultTag = "latest";

/** Everything an evaluation needs, or why it cannot begin; nothing is left open then. */
export async function startRun(
  setup: Setup,
  prompt: Prompt,
  options: EvaluateOptions,
  around: Surroundings,
): Promise<Run | Failure> {
  let limits: Limits | undefined;
  try {
    checkEvaluateOptions(options);
    readOption(undefined, () => checkPrompt(prompt));
    limits = readOption("budget", () => openLimits(options, setup.world.clock, inheritedLimits(around.nesting)));
    const stop = limits.check("render");
    if (stop !== undefined) {
      limits.close();
      return stop;
    }
    if (limits.limitsCost) await checkPrice(setup, limits);
    const place = { ...around, ...readOption("maxDepth", () => depthOf(options, around.nesting)) };
    const built = await buildRun(setup, prompt, options, limits, place);
    if (isFailure(built)) limits.close();
    return built;
  } catch (cause) {
    const stop = limits?.stopped("render");
    limits?.close();
    return stop ?? beginFailure(cause);
  }
}

async function buildRun(
  setup: Setup,
  prompt: Prompt,
  options: EvaluateOptions,
  limits: Limits,
  { nesting, watch, depth, maxDepth }: Surroundings & Pick<Run, "depth" | "maxDepth">,
): Promise<Run | Failure> {
  const { world } = setup;
  const startedAt = world.clock.now();
  const evaluationId = world.newId();
  const promptName = prompt.template.name;
  const showing = showingOf(world, prompt, evaluationId);
  const core = joinSession(options, prompt, world, nesting);
  const overrides = options.overrides && (await resolveOverrides(options.overrides, prompt, limits));
  const renderInputs = { overrides, nativeOutput: setup.nativeOutput, core };
  const opened = openedOf(core, promptName);
  const rendered = renderFor(prompt, renderInputs, opened, showing.log);
  const tools = new Map(rendered.tools.map((tool) => [tool.name, tool]));
  const toolChoice = readOption("toolChoice", () => checkedToolChoice(options.toolChoice ?? setup.toolChoice, tools));
  const conversation = conversationOf(options, prompt, rendered);
  const around = enclosingOf(core, options, nesting, rendered.tools.length > 0);
  if (isFailure(around)) return around;
  const opening = openRunResources(rendered.resources, options.resources, { limits, world, nesting });
  const resources = isThenable(opening) ? await opening : opening;

  const run = newRun(setup, options, {
    evaluationId,
    promptName,
    prompt,
    rendered,
    renderInputs,
    opened,
    world,
    limits,
    core,
    resources,
    conversation,
    tools,
    startedAt,
    nesting,
    depth,
    maxDepth,
    enclosing: around,
    watch,
    toolChoice,
    redaction: showing.redaction,
    redact: showing.redact,
    log: showing.log,
  });
  try {
    checkUses(run);
    return run;
  } catch (error) {
    // Nothing is left open.
    await run.close();
    throw error;
  }
}

/** What a run makes itself; all else is decided before. */
type Own =
  | keyof Pick<Setup, "adapter" | "throttle" | "nativeOutput" | "prices" | "outputLimits">
  | keyof Pick<EvaluateOptions & Run, "policies" | "maxTurns" | "maxRepairs" | "expected" | "pacing">
  | "pace"
  | keyof Pick<Run, "ended" | "model" | "turn" | "usage" | "knownCost" | "inputCorrection" | "toolResults" | "faults">
  | keyof Pick<Run, "emit" | "publish" | "spend" | "withinGrace" | "close">;

function newRun(
  { adapter, throttle, provider, nativeOutput, prices, outputLimits, pace }: Setup,
  options: EvaluateOptions,
  of: Omit<Run, Own>,
): Run {
  const { policies = noPolicies, maxTurns = defaultMaxTurns, maxRepairs = 0, expect } = options;
  const pacing = options.pacing ?? of.nesting?.run.pacing;
  const behind = new Set<Promise<unknown>>();
  const { emit, publish } = emitter(of, () => void (run.ended = true));
  // One spread, and in front: V8 makes an object with one behind other fields many times slower.
  const run: Run = {
    ...of,
    adapter,
    throttle,
    pacing,
    pace: paceOf(pacing, { pace, provider }),
    nativeOutput,
    prices,
    outputLimits,
    policies,
    maxTurns,
    maxRepairs,
    expected: expect,
    model: provider.model,
    turn: 0,
    ended: false,
    usage: noUsage,
    knownCost: undefined,
    inputCorrection: undefined,
    toolResults: [],
    faults: [],
    emit,
    publish,
    spend: (reported, estimate) => spend(run, reported, estimate),
    withinGrace: graceful(of.world, of.limits, graceMs(of.depth), behind),
    close: () => closeRun(run, behind),
  };
  return run;
}

const noPolicies: Run["policies"] = Object.freeze([]);

function spend(run: Run, ...given: Parameters<Run["spend"]>): Usage {
  const usage = withCost(run, countUsage(...given));
  run.usage = addUsage(run.usage, usage);
  return usage;
}

/** What the provider says of its cost counts; where it says nothing, the price of the tokens. */
function withCost({ prices, world: { clock } }: Run, usage: Usage): Usage {
  const current = prices.current();
  if (usage.costUsd !== undefined || current?.known !== true) return usage;
  const costUsd = current.priceOf(usage, clock.now());
  return Number.isFinite(costUsd) ? { ...usage, costUsd } : usage;
}

/**
 * A limit in dollars needs a price, or it would limit nothing.
 * @throws an option's fault where no price is known.
 */
async function checkPrice({ prices, provider, reportsCost }: Setup, limits: Limits): Promise<void> {
  const pricing = prices.current() ?? (await limits.race(prices.load(), "render"));
  if (isFailure(pricing) || pricing.known || reportsCost) return;
  const message =
    `The budget has maxCostUsd, but the price of "${provider.model}" is not known: give the adapter ` +
    `{ pricing: { input: 2.5, output: 15 } }, its own in US dollars for a million tokens. ${pricing.reason}`;
  throw optionFault("budget", new DefinitionError(message));
}

/**
 * What goes on behind the evaluation's end, a rollback for example, needs the resources until it is done. undefined:
 * nothing had to be waited for. Never throws, and never rejects.
 */
function closeRun(run: Run, behind: ReadonlySet<Promise<unknown>>): Promise<void> | undefined {
  const { nesting, resources, limits } = run;
  let closing: Promise<void> | undefined;
  // What its calls have begun may outlive it by far, and keeps it.
  run.enclosing = noEnclosing;
  // Resources may have to be restored with the call around, which closes them when it has ended.
  const failed = (error: unknown): void => run.log("error", { error: messageOf(error) }, "resource.close.failed");
  try {
    if (nesting !== undefined && !nesting.transaction.ended) nesting.transaction.closings.push(() => resources.close());
    else closing = behind.size === 0 ? resources.close() : Promise.all(behind).then(() => resources.close());
    if (closing !== undefined) return run.withinGrace(closing, failed).catch(failed).then(limits.close);
  } catch (error) {
    failed(error);
  }
  limits.close();
  return undefined;
}

/** @throws {DefinitionError} for an override that cannot be read, or a limit that is met meanwhile. */
async function resolveOverrides(
  { store, tag }: NonNullable<EvaluateOptions["overrides"]>,
  { template }: Prompt,
  limits: Limits,
): Promise<PromptOverride | undefined> {
  const resolving = store.resolve(template.descriptor, tag ?? defaultTag);
  const override = await limits.race(resolving, "render");
  if (isFailure(override)) throw new DefinitionError(override.message);
  return override;
}

function renderFor(prompt: Prompt, inputs: RenderInputs, opened: Opened, log: Run["log"]): RenderedPrompt {
  log("debug", {}, "prompt.render.start");
  const rendered = renderWith(prompt, inputs, opened);
  const { stale = [], tag } = rendered.overrides ?? {};
  if (stale.length > 0) log("warn", { tag, stale }, "prompt.overrides.stale");
  // An override may summarise what the prompt itself never does.
  if (rendered.summarised.length > 0) inputs.core.join([openedSections]);
  log("debug", { characters: rendered.text.length, tools: rendered.tools.length }, "prompt.render.complete");
  return rendered;
}

function joinSession(
  options: EvaluateOptions,
  prompt: Prompt,
  world: World,
  nesting: Nesting | undefined,
): SessionCore {
  const own = (): SessionCore => coreOf(options.session ?? createSession({ id: world.newId() }));
  const core = nesting?.run.core ?? readOption("session", own);
  core.join([...prompt.template.slices, ...(options.policies ?? []).flatMap((policy) => policy.slices ?? [])]);
  return core;
}

function checkedToolChoice(
  choice: ToolChoice | undefined,
  tools: ReadonlyMap<string, unknown>,
): ToolChoice | undefined {
  if (typeof choice === "object" && !tools.has(choice.tool)) {
    throw new DefinitionError(`toolChoice names "${choice.tool}", which is no tool of this prompt.`);
  }
  return choice;
}

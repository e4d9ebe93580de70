import {
  DefinitionError,
  type EvaluateOptions,
  type Prompt,
  type PromptOverride,
  type RenderedPrompt,
  type ToolChoice,
} from "@proviso/core";
import { isThenable, openedSections, textPrompt } from "@proviso/core/internal";
import { holdsFiles, openFiles } from "./content/files-of.ts";
import type { RunFitting } from "./context/fitting.ts";
import { historyOf } from "./history.ts";
import type { World } from "./environment.ts";
import { showingOf } from "./emitting.ts";
import { checkEvaluateOptions, checkPrompt, settingsOf } from "./evaluate-options.ts";
import { beginFailure, failure, isFailure, optionFault, readOption, type Failure } from "./failures.ts";
import { openLimits, type Limits } from "./limits.ts";
import { openedOf, renderWith, type Opened, type RenderInputs } from "./rendering.ts";
import { newRun, type Nesting, type Run, type Setup } from "./run.ts";
import type { Tape } from "./recording/contract.ts";
import { paceOf } from "./request/paced.ts";
import { coreOf, type SessionCore } from "./session/session-core.ts";
import { createSession } from "./session/session.ts";
import {
  depthOf,
  enclosingOf,
  inheritedLimits,
  openRunResources,
  policiesOf,
  type Surroundings,
} from "./nested/inherit.ts";
import { checkUses } from "./tools/policies.ts";

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
    if (around.nesting !== undefined && "run" in options && options.run !== undefined) throw noRunInside();
    readOption(undefined, () => checkPrompt(prompt));
    limits = readOption("budget", () => limitsOf(setup, options, around));
    const stop = limits.check("render");
    if (stop !== undefined) {
      limits.close();
      return stop;
    }
    if (limits.limitsCost) await checkPrice(setup, limits);
    const place = { ...around, ...readOption("maxDepth", () => depthOf(options, around.nesting)) };
    const settings = readOption("settings", () => settingsOf(options.settings, prompt.template.name));
    const context = options.context && (await fittingFor(setup, options, options.context, limits));
    if (isFailure(context)) {
      limits.close();
      return context;
    }
    const built = await buildRun(setup, prompt, options, limits, { ...place, settings, context });
    if (isFailure(built)) limits.close();
    else {
      context?.attach(built);
      built.observing = around.observe?.(built);
    }
    return built;
  } catch (cause) {
    const stop = limits?.stopped("render");
    limits?.close();
    return stop ?? beginFailure(cause);
  }
}

function noRunInside(): unknown {
  const message = "An evaluation inside a call is part of the run around it: leave out the option run.";
  return optionFault("run", new DefinitionError(message));
}

/** The limits of a recorded evaluation are met again where the record says it; time passes outside the record. */
function limitsOf({ world }: Setup, options: EvaluateOptions, { nesting, tape, enclosing }: Surroundings): Limits {
  const ends = enclosing?.among.map(({ signal }) => signal);
  if (nesting !== undefined) {
    const { tape: around } = nesting.run;
    const limits = openLimits(options, around?.clock ?? world.clock, inheritedLimits(nesting));
    return isInsideCall(nesting) ? limits : (around?.limits(limits) ?? limits);
  }
  if (tape === undefined) return openLimits(options, world.clock, undefined, ends);
  const { deadline, budget, signal: given } = options;
  const signal = given === undefined ? tape.signal : AbortSignal.any([given, tape.signal]);
  return tape.limits(openLimits({ deadline, budget, signal }, tape.clock, undefined, ends));
}

interface Place extends Surroundings, Pick<Run, "depth" | "maxDepth" | "settings"> {
  readonly context: RunFitting | undefined;
}

async function buildRun(
  setup: Setup,
  prompt: Prompt,
  options: EvaluateOptions,
  limits: Limits,
  { nesting, watch, depth, maxDepth, settings, context, tape: own, evaluationId: given, enclosing }: Place,
): Promise<Run | Failure> {
  const tape = own ?? nesting?.run.tape;
  const { world } = setup;
  const startedAt = world.clock.now();
  const evaluationId = own?.evaluationId ?? given ?? world.newId();
  const promptName = prompt.template.name;
  const core = joinSession(options, prompt, world, { nesting, tape: own });
  const showing = showingOf(world, prompt, evaluationId, core.session.id);
  const overrides = options.overrides && (await resolveOverrides(options.overrides, prompt, limits, own));
  const renderInputs = { overrides, nativeOutput: setup.nativeOutput, core, context };
  const opened = openedOf(core, promptName);
  const rendered = renderFor(prompt, renderInputs, opened, showing.log);
  const tools = new Map(rendered.tools.map((tool) => [tool.name, tool]));
  const toolChoice = readOption("toolChoice", () => checkedToolChoice(options.toolChoice ?? setup.toolChoice, tools));
  const history = historyOf(options, prompt, rendered);
  const around = enclosingOf(core, options, { nesting, enclosing }, rendered.tools.length > 0);
  if (isFailure(around)) return around;
  const pacing = options.pacing ?? nesting?.run.pacing;
  // The application's lane may throw: nothing is open yet.
  const pace = paceOf(pacing, setup);
  const opening = openRunResources(rendered.resources, options.resources, { limits, world, nesting, tape });
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
    history,
    context,
    tools,
    policies: policiesOf(options, nesting),
    startedAt,
    settings,
    nesting,
    depth,
    maxDepth,
    enclosing: around,
    watch,
    tape,
    isInside: tape !== undefined && isInsideCall(nesting),
    toolChoice,
    pacing,
    pace,
    redaction: showing.redaction,
    redact: showing.redact,
    log: showing.log,
  });
  return readyRun(run);
}

/** The run, when its record has begun and its files are read; nothing is left open where that fails. */
function readyRun(run: Run): Run | Promise<Run | Failure> {
  const { tape } = run;
  try {
    if (tape?.isReplay !== true) checkUses(run);
    if (tape !== undefined && !run.isInside) tape.begin(run);
    // An evaluation without files is not made to wait for a promise.
    return holdsFiles(run) ? withFiles(run) : run;
  } catch (error) {
    return Promise.resolve(run.close()).then(() => {
      throw error;
    });
  }
}

/** What is inside a call is answered with it, and not by itself. A summary is inside no call. */
function isInsideCall(nesting: Nesting | undefined): boolean {
  return nesting !== undefined && (nesting.callId !== undefined || nesting.run.isInside);
}

/** Reads the files; nothing is left open where that fails. */
async function withFiles(run: Run): Promise<Run | Failure> {
  try {
    const stop = await run.limits.race(openFiles(run), "render");
    if (stop === undefined) return run;
    await run.close();
    return stop;
  } catch (error) {
    await run.close();
    throw error;
  }
}

/** Opens what keeps the history inside the window: loaded where an evaluation asks for it. An agent is refused. */
async function fittingFor(
  setup: Setup,
  options: EvaluateOptions,
  policy: NonNullable<EvaluateOptions["context"]>,
  limits: Limits,
): Promise<RunFitting | Failure> {
  if (!setup.isModel) {
    const message = `${setup.provider.name} keeps its history itself: the option context cannot be kept.`;
    return failure({ stop: "provider", phase: "request", reason: "bad_request", message });
  }
  const { openFitting } = await import("./context/fitting.ts");
  return limits.race(openFitting(setup, options, policy), "render");
}

/**
 * A limit in dollars needs a price, or it would limit nothing.
 * @throws an option's fault where no price is known.
 */
async function checkPrice({ prices, provider, reportsCost }: Setup, limits: Limits): Promise<void> {
  const pricing = prices.current() ?? (await limits.race(prices.load(), "render"));
  if (isFailure(pricing) || pricing.known || reportsCost || pricing.isReported === true) return;
  const message =
    `The budget has maxCostUsd, but the price of "${pricing.model ?? provider.model}" is not known: give the adapter ` +
    `{ pricing: { input: 2.5, output: 15 } }, its own in US dollars for a million tokens. ${pricing.reason}`;
  throw optionFault("budget", new DefinitionError(message));
}

/** @throws {DefinitionError} for an override that cannot be read, or a limit that is met meanwhile. */
async function resolveOverrides(
  { store, tag }: NonNullable<EvaluateOptions["overrides"]>,
  { template }: Prompt,
  limits: Limits,
  tape: Tape<Run> | undefined,
): Promise<PromptOverride | undefined> {
  const resolve = (): Promise<PromptOverride | undefined> => store.resolve(template.descriptor, tag ?? defaultTag);
  const resolving = tape === undefined ? resolve() : tape.override(resolve);
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
  { nesting, tape }: Pick<Surroundings, "nesting" | "tape">,
): SessionCore {
  const own = (): SessionCore => coreOf(options.session ?? createSession({ id: world.newId() }));
  const core = nesting?.run.core ?? tape?.openSession(options, prompt) ?? readOption("session", own);
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

/** The answer to a text is text: that is its Output. A blank one is left for the evaluation to refuse. */
export function promptOf<Output>(given: Prompt<Output> | string): Prompt<Output> {
  const prompt: unknown = typeof given === "string" && given.trim() !== "" ? textPrompt(given) : given;
  return prompt as Prompt<Output>;
}

import {
  addUsage,
  DefinitionError,
  noUsage,
  openedSections,
  parseMessages,
  type EvaluateOptions,
  type FrameworkEvent,
  type Prompt,
  type PromptOverride,
  type RenderedPrompt,
  type ReportedUsage,
  type ToolChoice,
  type Usage,
} from "@proviso/core";
import { startConversation } from "./conversation.ts";
import type { World } from "./environment.ts";
import { checkEvaluateOptions } from "./evaluate-options.ts";
import { failure, isFailure, messageOf, type Failure } from "./failures.ts";
import { openLimits, type Limits } from "./limits.ts";
import { graceful, graceMs } from "./grace.ts";
import { logSafely } from "./logging.ts";
import type { Nesting } from "./nesting.ts";
import { openedOf, renderWith, type Opened, type RenderInputs } from "./rendering.ts";
import type { Run, Setup } from "./run.ts";
import { redactionOf } from "./secrets/structure.ts";
import type { Origin } from "./session/beside.ts";
import { coreOf, createSession, type SessionCore } from "./session/session.ts";
import { checkUses, depthOf, inheritedLimits, openRunResources, type Surroundings } from "./surroundings.ts";
import { enclosing, noEnclosing, type Enclosing } from "./transactions/enclosing.ts";
import { nameOfWriterAround } from "./transactions/lock.ts";
import { endlessWait } from "./transactions/transaction.ts";
import { usageOf } from "./usage.ts";

const defaultMaxTurns = 64;
/** Of overrides. */
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
    if (typeof prompt?.render !== "function")
      throw new DefinitionError("evaluate takes a bound prompt: template.bind(params).");
    limits = openLimits(options, setup.world.clock, inheritedLimits(around.nesting));
    const stop = limits.stopped("render") ?? limits.check("render");
    if (stop !== undefined) {
      limits.close();
      return stop;
    }
    const place = { ...around, ...depthOf(options, around.nesting) };
    const built = await buildRun(setup, prompt, options, limits, place);
    if (isFailure(built)) limits.close();
    return built;
  } catch (cause) {
    const stop = limits?.stopped("render");
    limits?.close();
    return stop ?? failure({ stop: "render", phase: "render", cause, message: messageOf(cause) });
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
  const { log } = showing;
  const core = joinSession(options, prompt, world, nesting);
  const overrides = await resolveOverrides(options, prompt, limits);
  const renderInputs = { overrides, nativeOutput: setup.nativeOutput, core };
  const opened = openedOf(core, promptName);
  const rendered = renderFor(prompt, renderInputs, opened, log);
  const tools = new Map(rendered.tools.map((tool) => [tool.name, tool]));
  const toolChoice = checkedToolChoice(options.toolChoice ?? setup.toolChoice, tools);
  const conversation = startConversation(rendered, parseMessages(options.messages ?? []));
  const around = nesting === undefined ? enclosing(options.session) : noEnclosing;
  const endless = rendered.tools.length > 0 ? refusedWaitForCaller(core, around) : undefined;
  if (endless !== undefined) return endless;
  const resources = await openRunResources(rendered.resources, options.resources, limits, nesting);

  const behind = new Set<Promise<unknown>>();
  const run: Run = {
    evaluationId,
    promptName,
    prompt,
    rendered,
    renderInputs,
    opened,
    adapter: setup.adapter,
    world,
    limits,
    throttle: setup.throttle,
    core,
    resources,
    conversation,
    tools,
    nativeOutput: setup.nativeOutput,
    ...withDefaults(options),
    startedAt,
    nesting,
    depth,
    maxDepth,
    enclosing: around,
    watch,
    toolChoice,
    model: setup.provider.model,
    ...nothingYet(),
    emit: emitter(core, world, { evaluationId, nesting, enclosing: around, watch, ...showing }),
    spend: (reported, answered) => spend(run, reported, answered),
    ...showing,
    withinGrace: graceful(world, limits, graceMs(depth), behind),
    [Symbol.asyncDispose]: () => closeRun(run, behind),
  };
  return checked(run);
}

/** @throws {DefinitionError} for a key that a tool uses and nothing binds; nothing is left open then. */
async function checked(run: Run): Promise<Run> {
  try {
    checkUses(run);
    return run;
  } catch (error) {
    await run[Symbol.asyncDispose]();
    throw error;
  }
}

/** Its first call would wait for the call in whose code it was begun: it is refused before anything is spent. */
function refusedWaitForCaller(core: SessionCore, { startedIn }: Enclosing): Failure | undefined {
  const heldBy = startedIn && nameOfWriterAround(startedIn, core.lock);
  return heldBy === undefined ? undefined : { ...endlessWait("the session", heldBy, true), phase: "render" };
}

function nothingYet(): Pick<Run, "turn" | "usage" | "knownCost" | "toolResults" | "faults" | "ended"> {
  return { turn: 0, ended: false, usage: noUsage, knownCost: undefined, toolResults: [], faults: [] };
}

function withDefaults({
  policies = [],
  maxTurns = defaultMaxTurns,
  maxRepairs = 0,
  expect,
}: EvaluateOptions): Pick<Run, "policies" | "maxTurns" | "maxRepairs" | "expectedOutputTokens"> {
  return { policies, maxTurns, maxRepairs, expectedOutputTokens: expect?.outputTokensPerTurn.p90 };
}

function spend(run: Run, reported: ReportedUsage | undefined, answered: number): Usage {
  const usage = usageOf(reported, { sent: run.conversation.characters(), answered });
  run.usage = addUsage(run.usage, usage);
  return usage;
}

/** Numbers an event, reduces it, tells the listeners and whoever watches. */
function emitter(
  core: SessionCore,
  { clock }: World,
  of: Pick<Run, "evaluationId" | "nesting" | "enclosing" | "watch" | "log" | "redaction">,
): Run["emit"] {
  const { nesting, watch, redaction } = of;
  const transaction = of.enclosing.parent;
  // An evaluation in the body of a transaction is part of it; what its calls do is still theirs, and undone with them.
  const body = transaction && { evaluationId: transaction.id, callId: "" };
  const originOf = (event: FrameworkEvent): Origin | undefined =>
    body && { evaluationId: event.evaluationId, callId: "callId" in event ? event.callId : undefined, parent: body };
  const parent = nesting && Object.freeze({ evaluationId: nesting.run.evaluationId, callId: nesting.callId });
  const { evaluationId } = of;
  return (bare) => {
    const filled = Object.assign(redaction.event(bare), { evaluationId, at: clock.now() });
    const event = core.number(parent === undefined ? filled : { ...filled, parent });
    const failedReducers = core.reduce(event, originOf(event));
    const failedListeners = core.notify(event);
    watch?.(event);
    if (failedReducers.length + failedListeners.length === 0) return { event, errors: failedListeners };
    const errors = [...failedReducers, ...failedListeners];
    for (const error of errors)
      of.log("error", { type: event.type, error: messageOf(error) }, "session.listener.failed");
    return { event, errors };
  };
}

/** What is shown of an evaluation goes through these. Where there is no logger, nothing is redacted for it. */
function showingOf(
  { logger, secrets }: World,
  { template }: Prompt,
  evaluationId: string,
): Pick<Run, "redaction" | "redact" | "log"> {
  const redaction = redactionOf(secrets, template.descriptor.tools);
  const of = { promptName: template.name, evaluationId };
  const log: Run["log"] =
    logger === undefined
      ? () => {}
      : (level, fields, message) => logSafely(logger, level, redaction.log({ ...of, ...fields }), message);
  return { redaction, redact: redaction.appEvent, log };
}

/** Never rejects. */
async function closeRun(run: Run, behind: ReadonlySet<Promise<unknown>>): Promise<void> {
  try {
    await closeResources(run, behind);
  } catch (error) {
    run.log("error", { error: messageOf(error) }, "resource.close.failed");
  } finally {
    run.limits.close();
  }
}

/** What goes on behind the evaluation's end, a rollback for example, needs the resources until it is done. */
async function closeResources(run: Run, behind: ReadonlySet<Promise<unknown>>): Promise<void> {
  const { nesting } = run;
  // They may have to be restored with the call around: it closes them when it has ended.
  if (nesting !== undefined && !nesting.transaction.ended) {
    nesting.transaction.closings.push(run.resources.close);
    return;
  }
  const closing = behind.size === 0 ? run.resources.close() : Promise.all(behind).then(() => run.resources.close());
  if (closing !== undefined) {
    await run.withinGrace(closing, (error) => run.log("error", { error: messageOf(error) }, "resource.close.failed"));
  }
}

/** @throws {DefinitionError} for an override that cannot be read, or a limit that is met meanwhile. */
async function resolveOverrides(
  { overrides }: EvaluateOptions,
  { template }: Prompt,
  limits: Limits,
): Promise<PromptOverride | undefined> {
  if (overrides === undefined) return undefined;
  const resolving = overrides.store.resolve(template.descriptor, overrides.tag ?? defaultTag);
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
  const core = nesting?.run.core ?? coreOf(options.session ?? createSession({ id: world.newId() }));
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

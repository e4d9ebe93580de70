import {
  addUsage,
  DefinitionError,
  noUsage,
  NotSupportedError,
  parseMessages,
  type EvaluateOptions,
  type Prompt,
  type RenderedPrompt,
  type Resources,
  type ToolChoice,
} from "@proviso/core";
import { startConversation } from "./conversation.ts";
import type { World } from "./environment.ts";
import { messageOf, type Failure } from "./failures.ts";
import { openLimits, type Limits } from "./limits.ts";
import { contextOf, openContext, type ResourceContext } from "./resources/context.ts";
import type { Run, Setup } from "./run.ts";
import { coreOf, createSession, type SessionCore } from "./session/session.ts";
import { usageOf } from "./usage.ts";

/** Milliseconds that closing and restoring may take after a limit has ended the evaluation. */
const graceMs = 50;
const defaultMaxTurns = 64;

/** Everything an evaluation needs, or why it cannot begin; nothing is left open then. */
export async function startRun(setup: Setup, prompt: Prompt, options: EvaluateOptions): Promise<Run | Failure> {
  let limits: Limits | undefined;
  try {
    checkOptions(options);
    if (typeof prompt?.render !== "function")
      throw new DefinitionError("evaluate takes a bound prompt: template.bind(params).");
    limits = openLimits(options, setup.world.clock);
    const stop = limits.stopped("render") ?? limits.check("render");
    if (stop !== undefined) {
      limits.close();
      return stop;
    }
    return await buildRun(setup, prompt, options, limits);
  } catch (cause) {
    const stop = limits?.stopped("render");
    limits?.close();
    return stop ?? { stop: "render", phase: "render", cause, message: messageOf(cause) };
  }
}

async function buildRun(setup: Setup, prompt: Prompt, options: EvaluateOptions, limits: Limits): Promise<Run> {
  const { world } = setup;
  const startedAt = world.clock.now();
  const evaluationId = world.newId();
  const promptName = prompt.template.name;
  const log = safeLog(world, { promptName, evaluationId });
  const rendered = renderFor(setup, prompt, log);

  const tools = new Map(rendered.tools.map((tool) => [tool.name, tool]));
  const toolChoice = checkedToolChoice(options.toolChoice ?? setup.toolChoice, tools);
  const conversation = startConversation(rendered, parseMessages(options.messages ?? []));
  const core = joinSession(options, prompt, world);
  const resources = await openRunResources(rendered.resources, options.resources, limits);
  const withinGrace = graceful(world, limits);

  const run: Run = {
    evaluationId,
    promptName,
    prompt,
    rendered,
    adapter: setup.adapter,
    world,
    limits,
    throttle: setup.throttle,
    core,
    resources: resources.context,
    conversation,
    tools,
    policies: options.policies ?? [],
    nativeOutput: setup.nativeOutput,
    maxTurns: options.maxTurns ?? defaultMaxTurns,
    startedAt,
    toolChoice,
    turn: 0,
    model: setup.provider.model,
    usage: noUsage,
    toolResults: [],
    emit(bare) {
      const event = core.number({ ...bare, evaluationId, at: world.clock.now() });
      const errors = [...core.reduce(event), ...core.notify(event)];
      for (const error of errors)
        log("error", { type: event.type, error: messageOf(error) }, "session.listener.failed");
      return { event, errors };
    },
    spend(reported, sent, answer) {
      const usage = usageOf(reported, sent, answer);
      run.usage = addUsage(run.usage, usage);
      limits.budget?.reserve({ inputTokens: 0, outputTokens: 0 })?.settle(usage);
      return usage;
    },
    log,
    withinGrace,
    [Symbol.asyncDispose]: () => closeRun(run, resources.owned),
  };
  return run;
}

/** A logger that throws is no reason to fail. */
function safeLog({ logger }: World, of: { readonly promptName: string; readonly evaluationId: string }): Run["log"] {
  return (level, fields, message) => {
    try {
      logger[level]({ ...of, ...fields }, message);
    } catch {
      // There is nowhere left to say so.
    }
  };
}

async function closeRun(run: Run, ownsResources: boolean): Promise<void> {
  const failed = (error: unknown): void => run.log("error", { error: messageOf(error) }, "resource.close.failed");
  if (ownsResources) await run.withinGrace(run.resources.close(), failed);
  run.limits.close();
}

function renderFor(setup: Setup, prompt: Prompt, log: Run["log"]): RenderedPrompt {
  log("debug", {}, "prompt.render.start");
  const rendered = prompt.render(setup.nativeOutput ? {} : { outputInstructions: true });
  if (rendered.text === "") throw new DefinitionError(`The prompt "${prompt.template.name}" renders to nothing.`);
  log("debug", { characters: rendered.text.length, tools: rendered.tools.length }, "prompt.render.complete");
  return rendered;
}

function joinSession(options: EvaluateOptions, prompt: Prompt, world: World): SessionCore {
  const core = coreOf(options.session ?? createSession({ id: world.newId() }));
  core.join([...prompt.template.slices, ...(options.policies ?? []).flatMap((policy) => policy.slices ?? [])]);
  return core;
}

async function openRunResources(
  own: Parameters<typeof openContext>[0],
  given: EvaluateOptions["resources"],
  limits: Limits,
): Promise<{ readonly context: ResourceContext; readonly owned: boolean }> {
  const shared = given !== undefined && !Array.isArray(given) ? contextOf(given as Resources) : undefined;
  const bindings = Array.isArray(given) ? [...own, ...given] : own;
  const opening = openContext(bindings, shared);
  const context = await limits.race(opening, "render");
  if (!("stop" in context)) return { context, owned: true };
  // Opened after all: nobody will use it.
  opening.then((late) => late.close()).catch(() => {});
  throw new DefinitionError(context.message);
}

function graceful(world: World, limits: Limits): Run["withinGrace"] {
  return async (work, onError) => {
    const settled = work.catch(onError);
    if (!limits.signal.aborted) {
      const done = await limits.race(
        settled.then(() => "done" as const),
        "tool",
      );
      if (done === "done") return;
    }
    const waiting = new AbortController();
    await Promise.race([settled, world.clock.sleep(graceMs, waiting.signal).catch(() => {})]);
    waiting.abort();
  };
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

function checkOptions(options: EvaluateOptions): void {
  if (options.overrides !== undefined) throw new NotSupportedError("The option overrides");
  if ((options.maxRepairs ?? 0) !== 0) throw new NotSupportedError("The option maxRepairs");
  for (const name of ["maxTurns", "maxDepth"] as const) {
    const value = options[name];
    if (value !== undefined && !(Number.isInteger(value) && value > 0)) {
      throw new DefinitionError(`The option ${name} must be a positive whole number, not ${String(value)}.`);
    }
  }
}

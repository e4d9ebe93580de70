import {
  DefinitionError,
  type Binding,
  type EvaluateOptions,
  type Resources,
  type StreamEvent,
  type ToolPolicy,
} from "@proviso/core";
import { isRecord } from "@proviso/core/provider";
import { describeValue, isThenable } from "@proviso/core/internal";
import { isFailure, readOption, type Failure } from "../failures.ts";
import type { InheritedLimits } from "../limits.ts";
import { contextOf, isOpened, openContext, type ContextSources } from "../resources/context.ts";
import type { ResourceContext } from "../resources/asking.ts";
import { showingOf } from "../emitting.ts";
import type { Nesting, Run, Setup } from "../run.ts";
import type { Tape } from "../recording/contract.ts";
import { joinSecrets } from "../secrets.ts";
import type { Observing } from "../observing/contract.ts";
import type { SessionCore } from "../session/session-core.ts";
import { assertMayBegin, enclosing, enclosingOfNested, type Enclosing } from "../transactions/session-view.ts";
import { endlessWait } from "../transactions/endless-wait.ts";
import { writerAround } from "../transactions/lock.ts";

export const defaultMaxDepth = 3;

/** What is around an evaluation: the tool call that began it, and the stream that watches it. */
export interface Surroundings {
  readonly nesting?: Nesting | undefined;
  /** The transaction in whose code it begins; left out: none, or that of the call around it. */
  readonly enclosing?: Enclosing | undefined;
  readonly watch?: ((event: StreamEvent) => void) | undefined;
  /** The id that was made before it began; left out: it makes one when it begins. */
  readonly evaluationId?: string | undefined;
  /** The record of the evaluation, which is being opened; left out: it opens one itself, where it is recorded. */
  readonly opening?: Promise<Tape<Run>> | undefined;
  /** Makes what calls the observers; left out: there are none. */
  readonly observe?: ((run: Run) => Observing) | undefined;
  /** The record of the run that it is, or is part of; undefined: nothing is recorded. */
  readonly tape?: Tape<Run> | undefined;
}

/**
 * An evaluation inside hides the secrets of those around it as well as its own. Those around it hide its own from now on:
 * what it returns is part of what they show.
 */
export function hidingBoth<S extends Pick<Setup, "world">>(setup: S, nesting: Nesting | undefined): S {
  const { secrets: own } = setup.world;
  const secrets = joinSecrets(own, nesting?.run.world.secrets);
  for (let run = nesting?.run; run !== undefined; run = run.nesting?.run) {
    const both = joinSecrets(run.world.secrets, own);
    if (both === run.world.secrets) continue;
    run.world = { ...run.world, secrets: both };
    Object.assign(run, showingOf(run.world, run.prompt, run.evaluationId, run.core.session.id));
  }
  return secrets === own ? setup : { ...setup, world: { ...setup.world, secrets } };
}

export function inheritedLimits({ run: { limits }, signal }: Nesting): InheritedLimits {
  return { limits, signal };
}

/** The policies of an evaluation: its own, then those of the evaluations around it, which hold inside their calls too. */
export function policiesOf({ policies = none }: EvaluateOptions, nesting: Nesting | undefined): readonly ToolPolicy[] {
  const around = nesting?.run.policies ?? none;
  if (around.length === 0) return policies;
  return [...policies, ...around.filter((policy) => !policies.includes(policy))];
}

const none: readonly never[] = Object.freeze([]);

/** @throws {DefinitionError} for an evaluation that is nested too deep. */
export function depthOf({ maxDepth }: EvaluateOptions, nesting: Nesting | undefined): Pick<Run, "depth" | "maxDepth"> {
  if (nesting === undefined) return { depth: 0, maxDepth: maxDepth ?? defaultMaxDepth };
  const around = nesting.run;
  const depth = around.depth + 1;
  // A summary is no evaluation of the program's.
  if (nesting.callId === undefined) return { depth, maxDepth: around.maxDepth };
  if (depth > around.maxDepth) {
    throw new DefinitionError(`Evaluations inside evaluations may go ${around.maxDepth} deep (maxDepth), not deeper.`);
  }
  return { depth, maxDepth: Math.min(around.maxDepth, depth + (maxDepth ?? Infinity)) };
}

/**
 * The transaction in whose code it begins. Where its first call would wait for the call in whose code it was begun, it is
 * refused before anything is spent.
 * @throws {RevokedError} in the code of a body that is over.
 */
export function enclosingOf(
  core: SessionCore,
  { session, resources }: EvaluateOptions,
  { nesting, enclosing: begunIn }: Pick<Surroundings, "nesting" | "enclosing">,
  hasTools: boolean,
): Enclosing | Failure {
  if (nesting !== undefined) {
    const { transaction, run } = nesting;
    return transaction === undefined ? run.enclosing : enclosingOfNested(transaction);
  }
  const around = begunIn ?? enclosing(session);
  if (around.over !== undefined)
    assertMayBegin(
      around,
      core,
      listOf(resources).flatMap((item) => (isOpened(item) ? [contextOf(item as Resources)] : [])),
    );
  const writer = hasTools ? writerAround(around, core.lock) : undefined;
  if (writer === undefined) return around;
  return { ...endlessWait("the session", writer.heldBy, writer.holder), phase: "render" };
}

/** The resources of an evaluation: its prompt's, those given with it, and those around it. */
export function openRunResources(
  own: readonly Binding[],
  given: EvaluateOptions["resources"],
  { limits, world, nesting, tape }: Pick<Run, "limits" | "world" | "nesting" | "tape">,
): ResourceContext | Promise<ResourceContext> {
  // A replay runs nothing that could ask for a resource.
  const isReplay = tape?.isReplay === true;
  const opening = openContext(
    isReplay ? { own: [] } : readOption("resources", () => sourcesOf(own, given, nesting?.run.resources)),
    world.clock,
  );
  return isThenable(opening) ? openedInTime(opening, limits) : opening;
}

async function openedInTime(opening: Promise<ResourceContext>, limits: Run["limits"]): Promise<ResourceContext> {
  const context = await limits.race(opening, "render");
  if (!isFailure(context)) return context;
  // What opened too late is closed again: the evaluation has ended.
  opening.then((late) => late.close()).catch(() => {});
  throw new DefinitionError(context.message);
}

/** The later of two bindings for one key counts. What is given here hides what the enclosing evaluation has. */
function sourcesOf(
  own: readonly Binding[],
  given: EvaluateOptions["resources"],
  around: ResourceContext | undefined,
): ContextSources {
  if (given === undefined && around === undefined) return { own };
  const list = listOf(given);
  const bindings: Binding[] = [];
  const places = new Map<Binding["key"], number>();
  const opened: { readonly context: ResourceContext; readonly place: number }[] = [];
  for (const [place, item] of list.entries()) {
    if (!isBinding(item)) {
      if (Array.isArray(given) && !isOpened(item)) throw neitherAt(place, item);
      opened.unshift({ context: contextOf(item), place });
      continue;
    }
    bindings.push(item);
    places.set(item.key, place);
  }
  const outers = [...opened.map(({ context }) => context), ...(around === undefined ? [] : [around])];
  if (outers.length === 0) return { own, given: bindings };
  return {
    own,
    given: bindings,
    outers,
    outerOf(key) {
      const bound = places.get(key) ?? -1;
      const later = opened.find(({ context, place }) => place > bound && context.binds(key));
      return later?.context ?? (bound === -1 && around?.binds(key) === true ? around : undefined);
    },
  };
}

function listOf(given: EvaluateOptions["resources"]): readonly (Binding | Resources)[] {
  return (Array.isArray(given) ? given : given === undefined ? [] : [given]) as readonly (Binding | Resources)[];
}

function neitherAt(place: number, item: unknown): DefinitionError {
  const given = describeValue(item);
  return new DefinitionError(
    `resources[${place}] is neither a binding, provide(key, value) for example, nor open resources of openResources, but ${given}.`,
  );
}

function isBinding(item: Binding | Resources): item is Binding {
  return isRecord(item) && "create" in item;
}

import { DefinitionError, type Binding, type EvaluateOptions, type Resources, type StreamEvent } from "@proviso/core";
import { isFailure } from "./failures.ts";
import type { Gate } from "./gate.ts";
import type { Limits, LimitOptions } from "./limits.ts";
import type { Nesting } from "./nesting.ts";
import { contextOf, openContext, type ResourceContext } from "./resources/context.ts";
import type { Run } from "./run.ts";
import type { SessionCore } from "./session/session.ts";
import { include } from "./tools/transaction.ts";

const defaultMaxDepth = 3;

/** Where an evaluation stands: inside a tool call, or watched by somebody. */
export interface Surroundings {
  readonly nesting?: Nesting | undefined;
  readonly watch?: ((event: StreamEvent) => void) | undefined;
}

export function inheritedLimits(nesting: Nesting | undefined): LimitOptions | undefined {
  if (nesting === undefined) return undefined;
  const { deadline, budget } = nesting.run.limits;
  return { signal: nesting.signal, deadline, budget };
}

/** @throws {DefinitionError} for an evaluation that is nested too deep. */
export function depthOf({ maxDepth }: EvaluateOptions, nesting: Nesting | undefined): Pick<Run, "depth" | "maxDepth"> {
  if (nesting === undefined) return { depth: 0, maxDepth: maxDepth ?? defaultMaxDepth };
  const around = nesting.run;
  const depth = around.depth + 1;
  if (depth > around.maxDepth) {
    throw new DefinitionError(`Evaluations inside evaluations may go ${around.maxDepth} deep (maxDepth), not deeper.`);
  }
  return { depth, maxDepth: Math.min(around.maxDepth, depth + (maxDepth ?? Infinity)) };
}

/** What the call around has gone through already is not gone through again. */
export function gatesOf(
  core: SessionCore,
  shared: ResourceContext | undefined,
  nesting: Nesting | undefined,
): readonly Gate[] {
  const first = nesting?.gate ?? core.gate;
  if (shared === undefined || isHeld(shared.gate, nesting)) return [first];
  return [first, shared.gate];
}

function isHeld(gate: Gate, nesting: Nesting | undefined): boolean {
  return nesting !== undefined && (nesting.run.gates.includes(gate) || isHeld(gate, nesting.run.nesting));
}

export interface RunResources {
  readonly context: ResourceContext;
  /** Opened outside: other evaluations may use it at the same time. */
  readonly shared: ResourceContext | undefined;
}

/** The resources of an evaluation: its prompt's, those given with it, and those around it. */
export async function openRunResources(
  own: readonly Binding[],
  given: EvaluateOptions["resources"],
  limits: Limits,
  nesting: Nesting | undefined,
): Promise<RunResources> {
  const shared = given !== undefined && !Array.isArray(given) ? contextOf(given as Resources) : undefined;
  const bindings: readonly Binding[] = Array.isArray(given) ? given : [];
  const around = shared ?? (nesting && hiding(nesting.run.resources, bindings));
  const opening = openContext(own, { given: bindings, outer: around });
  const context = opening instanceof Promise ? await limits.race(opening, "render") : opening;
  if (isFailure(context)) {
    // Opened after all: nobody will use it.
    Promise.resolve(opening)
      .then((late) => late.close())
      .catch(() => {});
    throw new DefinitionError(context.message);
  }
  if (nesting !== undefined) {
    const included = await limits.race(include(nesting.transaction, context), "render");
    if (isFailure(included)) {
      context.close()?.catch(() => {});
      throw new DefinitionError(included.message);
    }
  }
  return { context, shared };
}

/** The resources around, but for what is bound anew. */
function hiding(around: ResourceContext, bindings: readonly Binding[]): ResourceContext {
  const hidden = new Set(bindings.map(({ key }) => key));
  return { ...around, binds: (key) => !hidden.has(key) && around.binds(key) };
}

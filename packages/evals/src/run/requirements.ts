// What a run needs before anything is spent.
import { DefinitionError } from "@proviso/core";
import { internalsOf } from "@proviso/runtime/internal";
import type { AnyDefinition, ReadyVariant } from "../define/define-eval.ts";
import { judgeAdapters } from "./secrets.ts";

/** Refuses a comparison with nothing. @throws {DefinitionError} */
export function requireBaseline(definition: AnyDefinition, variants: readonly ReadyVariant[], isSaved: boolean): void {
  const gate = Object.entries(definition.gates ?? {}).find(([, { noWorseBy }]) => noWorseBy !== undefined);
  if (gate === undefined || isSaved || variants.length > 1) return;
  throw new DefinitionError(
    `The gate noWorseBy on "${gate[0]}" of the eval "${definition.name}" needs a second variant, or a saved run in compareWith (--compare of the command).`,
  );
}

/** Refuses a limit in dollars where a model has no price. @throws {DefinitionError} */
export async function requirePrices(
  definition: AnyDefinition,
  variants: readonly ReadyVariant[],
  limit: number | undefined,
): Promise<void> {
  if (limit === undefined) return;
  for (const adapter of [...variants.map((variant) => variant.adapter), ...judgeAdapters(definition)]) {
    const facts = internalsOf(adapter)?.facts;
    if (facts === undefined || facts.reportsCost) continue;
    if ((facts.prices.current() ?? (await facts.prices.load())).known) continue;
    const todo = "give the adapter pricing, or limit tokens";
    throw new DefinitionError(
      `The eval "${definition.name}" has a budget in dollars, and no price is known for ${facts.model}: ${todo}.`,
    );
  }
}

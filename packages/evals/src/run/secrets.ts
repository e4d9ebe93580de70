// What is kept of an attempt is without the secrets of the adapters that took part in it (EVL-54).
import type { ProviderAdapter } from "@proviso/core";
import { internalsOf } from "@proviso/runtime/internal";
import { variantsOf, type AnyDefinition } from "../define/define-eval.ts";
import { judgePartsOf } from "../judges/judge.ts";
import { pairJudgeOf } from "../judges/pairwise.ts";

/** Returns what a value is without secrets; the value itself where it has none. */
type Redact = <T>(value: T) => T;

const known = new WeakMap<AnyDefinition, Redact>();

/** Hides the secrets of all adapters of an eval: those of its variants and of its judges. */
export function redactionOf(definition: AnyDefinition): Redact {
  let redact = known.get(definition);
  if (redact === undefined) known.set(definition, (redact = joined(adaptersOf(definition))));
  return redact;
}

/** The adapters of the judges of an eval. */
export function judgeAdapters({ scorers, pairScorers = {} }: AnyDefinition): readonly ProviderAdapter[] {
  return [
    ...Object.values(scorers).flatMap((scorer) => judgePartsOf(scorer)?.adapter ?? []),
    ...Object.values(pairScorers).flatMap((scorer) => pairJudgeOf(scorer)?.adapter ?? []),
  ];
}

function adaptersOf(definition: AnyDefinition): readonly ProviderAdapter[] {
  return [...variantsOf(definition).map(({ adapter }) => adapter), ...judgeAdapters(definition)];
}

function joined(adapters: readonly ProviderAdapter[]): Redact {
  const all = new Set(adapters.flatMap((adapter) => internalsOf(adapter)?.redact ?? []));
  if (all.size === 0) return (value) => value;
  return (value) => [...all].reduce((shown, redact) => redact(shown), value);
}

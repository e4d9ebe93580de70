import { contentHash } from "@proviso/core/internal";
import type { NamedRow } from "../data/rows.ts";
import { askedModel } from "../define/asked-model.ts";
import { scorerHash, type AnyDefinition, type ReadyVariant } from "../define/define-eval.ts";
import type { Fingerprint } from "../results.ts";

/** Hashes what two results have to share to be about the same thing. */
export function fingerprintOf(
  definition: AnyDefinition,
  rows: readonly NamedRow<object>[],
  variants: readonly ReadyVariant[],
): Fingerprint {
  const content = rows.toSorted((a, b) => (a.id < b.id ? -1 : a.id > b.id ? 1 : 0)).map(({ id, hash }) => [id, hash]);
  const scorers = Object.entries(definition.scorers).map(([name, given]) => [name, scorerHash(given)] as const);
  return {
    data: contentHash(content),
    scorers: Object.fromEntries(scorers),
    variants: Object.fromEntries(variants.map((variant) => [variant.name, variantHashOf(variant)])),
  };
}

function variantHashOf({ adapter, settings, subject }: ReadyVariant): string {
  const { version = "1", options = {}, overrides } = settings;
  const { policies = [], ...plain } = options;
  return contentHash({
    asked: askedModel(adapter),
    version,
    options: { ...plain, policies: policies.map(({ name }) => name) },
    overrides: overrides === undefined ? null : (overrides.tag ?? "latest"),
    ...("task" in subject ? { task: String(subject.task) } : {}),
  });
}

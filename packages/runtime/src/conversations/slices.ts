import { DefinitionError, type EvaluateOptions, type Prompt, type Slice } from "@proviso/core";
import { openedSections } from "@proviso/core/internal";

/** The slices that a turn is known to bring. What is no prompt and no policy is the evaluation's to refuse. */
export function slicesOfTurn<Output>(
  prompt: Prompt<Output> | string,
  { policies }: Pick<EvaluateOptions, "policies">,
): readonly Slice[] {
  const own = typeof prompt === "string" ? [] : ((prompt as Partial<Prompt> | undefined)?.template?.slices ?? []);
  const lists: readonly { readonly slices?: readonly Slice[] | undefined }[] = Array.isArray(policies) ? policies : [];
  return [...own, ...lists.flatMap((policy) => (Array.isArray(policy?.slices) ? policy.slices : []))];
}

/**
 * What was saved is restored with the slices that `withConversation` was given, so no others may be in the session.
 * @throws {DefinitionError} that names the slices which were not given.
 */
export function checkGiven(id: string, used: readonly Slice[], given: readonly Slice[]): void {
  const known = new Set([openedSections, ...given].map(({ name }) => name));
  const missing = [...new Set(used.map(({ name }) => name))].filter((name) => !known.has(name));
  if (missing.length === 0) return;
  const names = missing.map((name) => JSON.stringify(name)).join(", ");
  throw new DefinitionError(
    `The conversation ${JSON.stringify(id)} could not be opened again: withConversation was not given the slices ${names}. ` +
      "Add those of each prompt, also inside calls, and of the policies in evaluate's options: { slices: [...prompt.slices, ...policy.slices] }.",
  );
}

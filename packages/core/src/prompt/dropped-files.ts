import type { CompiledTemplate } from "./compiled-template.ts";
import { filesInTexts } from "./file-params.ts";
import { checkOverrideTexts, type PromptOverride } from "./overrides.ts";

/**
 * Checks an override by the files that the params hold: the schema may not say that a param is a file.
 * @throws {DefinitionError} for a text that drops the placeholder of a file.
 */
export function refuseDroppedFiles(
  override: PromptOverride,
  { descriptor, all }: CompiledTemplate,
  params: Readonly<Record<string, unknown>>,
): void {
  const files = filesInTexts(params, all);
  if (files !== undefined) checkOverrideTexts(override, { ...descriptor, files });
}

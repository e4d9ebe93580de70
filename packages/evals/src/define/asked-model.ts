import type { ProviderAdapter } from "@proviso/core";
import { internalsOf } from "@proviso/runtime/internal";

/** What is asked by an adapter: answers of another one are other answers. */
export function askedModel(adapter: ProviderAdapter): readonly unknown[] {
  const { model = "", settingsHash = "", toolChoice = "auto" } = internalsOf(adapter)?.facts ?? {};
  return [adapter.name, model, settingsHash, toolChoice];
}

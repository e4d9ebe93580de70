import { DefinitionError, type ProviderAdapter } from "@proviso/core";
import { describeValue } from "@proviso/core/internal";
import { internalsOf } from "../nested/adapter-internals.ts";

/**
 * Says that the usage of an adapter's answers has a cost in dollars: `costUsd`, at the prices of
 * `@pydantic/genai-prices`, with cached reads and writes at their own. What the service reports, and the adapter's option
 * `pricing`, come first; a model without a known price stays without. Every adapter that modelAdapter or agentAdapter made
 * does so by itself, so this is the adapter that was given.
 * @throws {DefinitionError} for any other adapter: nothing could fill in its cost.
 */
export function priced(adapter: ProviderAdapter): ProviderAdapter {
  if (internalsOf(adapter) !== undefined) return adapter;
  throw new DefinitionError(
    `priced needs an adapter that modelAdapter or agentAdapter made: not ${describeValue(adapter)}.`,
  );
}

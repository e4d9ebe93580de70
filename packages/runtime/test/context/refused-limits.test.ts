import type { ProviderAdapter } from "@proviso/core";
import { fallback } from "@proviso/runtime/routing";
import { describe, expect, test } from "vitest";
import { chat, modelOf, tokensOf, tooLong } from "./support.ts";

const capabilities = { tools: true, nativeOutput: false, outputLimit: { least: 1 } } as const;
const context = { window: 100_000 };
const [none, some] = [undefined, expect.any(Number) as unknown];
const badLimit = { ...tooLong(), reason: "bad_request", message: "max_tokens is too large" } as const;

describe.each<readonly [string, (adapter: ProviderAdapter) => ProviderAdapter]>([
  ["a model", (adapter) => adapter],
  ["a model of a chain", (adapter) => fallback([adapter], { breaker: false })],
])("LIM-10 CTX-8 a limit that %s refused", (_, around) => {
  test.each([badLimit, tooLong()])(
    "does not come back with the shorter history, and is not remembered: $reason",
    async (refused) => {
      const model = modelOf(
        (request) => {
          if (tokensOf(request) <= 2_500) return { text: "Yes.", usage: { inputTokens: 10, outputTokens: 10 } };
          return request.maxOutputTokens === undefined ? tooLong() : refused;
        },
        { capabilities, maxOutputTokens: undefined },
      );
      const adapter = around(model.adapter);
      await adapter.evaluate("And now?", { context, messages: chat(12), budget: { maxTotalTokens: 50_000 } });
      // It may have been the length of the history that was refused, and not the limit.
      await adapter.evaluate("And now?", { budget: { maxTotalTokens: 60_000 } });
      expect(model.requests.map(({ maxOutputTokens }) => maxOutputTokens)).toEqual([some, none, none, some]);
    },
  );
});

import type { HistoryCompacted, ProviderAdapter } from "@proviso/core";
import { createSession } from "@proviso/runtime";
import { fallback } from "@proviso/runtime/routing";
import { describe, expect, test } from "vitest";
import { promptWith } from "../support.ts";
import { calls, chat, modelOf, reader, tokensOf, tooLong } from "./support.ts";

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

test("CTX-2 CTX-8 what was reported of a history counts no more once it is shortened", async () => {
  const session = createSession();
  const compacted: HistoryCompacted[] = [];
  session.on("history.compacted", (event) => void compacted.push(event));
  let isRefused = false;
  const { adapter } = modelOf((_, turn) => {
    if (compacted.length === 1 && !isRefused) {
      isRefused = true;
      return tooLong();
    }
    return turn <= 30 && !isRefused ? calls(turn) : { text: "Done." };
  });
  await adapter.evaluate(promptWith(reader(1_500)), { context: { window: 8_000 }, session });
  const [first, second] = compacted;
  expect(compacted.map(({ why }) => why)).toEqual(["threshold", "refused"]);
  // The request that was refused is the one that the first shortening has made, by characters alone, times 1.1.
  expect(second?.before).toBeLessThanOrEqual(Math.ceil((first?.after ?? 0) * 1.1));
  expect(second?.after).toBeLessThan(first?.after ?? 0);
});

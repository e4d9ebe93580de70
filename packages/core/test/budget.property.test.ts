import { fc } from "./support/property.ts";
import { expect, test } from "vitest";
import { trackBudget } from "@proviso/core";
import { noUsage } from "@proviso/core/internal";

const request = fc.record({ inputTokens: fc.nat(40), outputTokens: fc.nat(40), settles: fc.nat(3) });

test("LIM-4 spent and reserved never pass the limit through reserve, in whatever order requests settle", () => {
  fc.assert(
    fc.property(fc.array(request, { maxLength: 40 }), (requests) => {
      const tracker = trackBudget({ maxTotalTokens: 100 });
      const open: { readonly worst: number; settle(): void }[] = [];
      for (const { inputTokens, outputTokens, settles } of requests) {
        const held = tracker.reserve({ inputTokens, outputTokens });
        if (held !== undefined) {
          const totalTokens = inputTokens + outputTokens;
          const settle = (): void => held.settle({ ...noUsage, inputTokens, outputTokens, totalTokens });
          open.push({ worst: totalTokens, settle });
        }
        const reserved = open.reduce((sum, { worst }) => sum + worst, 0);
        expect(tracker.consumed.totalTokens + reserved).toBeLessThanOrEqual(100);
        expect(tracker.remaining().totalTokens).toBe(100 - tracker.consumed.totalTokens - reserved);
        for (const { settle } of open.splice(0, settles)) settle();
        expect(tracker.exceeded()).toBeUndefined();
      }
    }),
  );
});

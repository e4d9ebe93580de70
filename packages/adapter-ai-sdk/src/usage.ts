import type { ReportedUsage } from "@proviso/core";
import { isRecord } from "@proviso/core/provider";
import { costInUsage, reportedCost } from "@proviso/adapter-kit";
import type { Answer } from "./parts.ts";

/** Counts as they came, odd ones too: what cannot be counted is left to the runtime's estimate. */
export function usageFrom({ usage, response }: Pick<Answer, "usage" | "response">): ReportedUsage {
  const inHeaders = reportedCost({ get: (name) => response?.headers?.[name] ?? null });
  const given: unknown = usage;
  if (!isRecord(given)) return { costUsd: inHeaders };
  const { inputTokens: input, outputTokens: output, raw } = given;
  const costUsd = inHeaders ?? costInUsage(raw);
  // V2 has plain numbers.
  if (!isRecord(input) || !isRecord(output)) return { ...(given as ReportedUsage), costUsd };
  return {
    inputTokens: counted(input["total"], raw, /^(input|prompt)/i),
    outputTokens: counted(output["total"], raw, /^(output|completion|candidates)/i),
    totalTokens: totalIn(raw),
    cachedInputTokens: input["cacheRead"] as number | undefined,
    reasoningTokens: output["reasoning"] as number | undefined,
    costUsd,
  };
}

/**
 * Returns a count, or undefined where the service left it out: providers count that as zero, and only the service's raw
 * usage shows whether it reported a zero.
 */
function counted(total: unknown, raw: unknown, named: RegExp): number | undefined {
  const isReported = !isRecord(raw) || Object.entries(raw).some(([key, value]) => named.test(key) && value !== null);
  return total === 0 && !isReported ? undefined : (total as number | undefined);
}

function totalIn(raw: unknown): number | undefined {
  return isRecord(raw) ? (raw["total_tokens"] as number | undefined) : undefined;
}

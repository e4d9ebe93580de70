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
    cacheWriteTokens: (input["cacheWrite"] as number | undefined) ?? writtenIn(raw),
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

/** Compatible servers name the tokens that were written in one of two ways, which the ecosystem leaves in the raw usage. */
function writtenIn(raw: unknown): number | undefined {
  if (!isRecord(raw)) return undefined;
  const details = raw["prompt_tokens_details"];
  const written = isRecord(details) ? details["cache_write_tokens"] : undefined;
  return (written ?? raw["cache_creation_input_tokens"]) as number | undefined;
}

function totalIn(raw: unknown): number | undefined {
  return isRecord(raw) ? (raw["total_tokens"] as number | undefined) : undefined;
}

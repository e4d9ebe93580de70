import type { ModelResponse } from "@proviso/core";
import { isRecord } from "@proviso/core/provider";
import { logprobsFrom, objectAt, textAt, type Json } from "@proviso/adapter-kit";
import type { Answer } from "./parts.ts";

/** The tier and the log probabilities of an answer, as its provider's metadata or its body name them. */
export function servedBy({
  providerMetadata,
  response,
  serviceTier: tier,
}: Answer): Pick<ModelResponse, "serviceTier" | "logprobs"> {
  const metadata = isRecord(providerMetadata) ? Object.values(providerMetadata).filter(isRecord) : [];
  const tiers = metadata.map(
    (named) => textAt(named, "serviceTier") || textAt(objectAt(named, "usage"), "service_tier"),
  );
  const serviceTier = [...tiers, tier ?? "", textAt(response?.body, "service_tier")].find((name) => name !== "");
  const logprobs = metadata.map(({ logprobs: given }) => logprobsFrom(tokensIn(given))).find(Boolean);
  return {
    ...(serviceTier === undefined ? {} : { serviceTier }),
    ...(logprobs === undefined ? {} : { logprobs }),
  };
}

/** A list of tokens, or a list of such lists: one for each part of an answer. */
function tokensIn(given: unknown): readonly Json[] {
  return Array.isArray(given) ? given.flat().filter(isRecord) : [];
}

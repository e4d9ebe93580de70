import type { ModelResponse, TokenLogprob } from "@proviso/core";
import { isRecord } from "@proviso/core/provider";
import { listAt, objectAt, textAt, type Json } from "@proviso/adapter-kit";
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
  const logprobs = metadata.map(({ logprobs: given }) => tokensIn(given)).find((tokens) => tokens.length > 0);
  return {
    ...(serviceTier === undefined ? {} : { serviceTier }),
    ...(logprobs === undefined ? {} : { logprobs }),
  };
}

/** A list of tokens, or a list of such lists: one for each part of an answer. */
function tokensIn(given: unknown): readonly TokenLogprob[] {
  if (!Array.isArray(given)) return [];
  return given
    .flat()
    .filter(isRecord)
    .map((token) => ({ ...tokenOf(token), top: listAt(token, "top_logprobs").map(tokenOf) }));
}

function tokenOf(given: Json): Pick<TokenLogprob, "token" | "logprob"> {
  return { token: textAt(given, "token"), logprob: Number(given["logprob"]) };
}

import { environmentVariable, headerSecrets, isSecret } from "@proviso/adapter-kit";
import type { AiSdkOptions } from "./options.ts";

/** The variables with the key of the hosted gateway, which answers for a model that is given by its id. */
const gatewayKeys = ["AI_GATEWAY_API_KEY", "VERCEL_OIDC_TOKEN"];

/** What is really sent, as far as it is known here: a model that is given ready has its key for itself. */
export function secretsOf({
  secrets = [],
  headers,
  model,
}: Pick<AiSdkOptions, "secrets" | "headers"> & { readonly model: unknown }): readonly string[] {
  const keys = typeof model === "string" ? gatewayKeys.map(environmentVariable).filter(isSecret) : [];
  return [...secrets, ...keys, ...headerSecrets(headers)];
}
